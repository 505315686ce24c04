/* The calls that order the work of a process's streams: calls that record an event, calls that make a stream wait for
 * an event, and operations that block a stream without using the device (host functions, waits for memory values).
 * Entries of the same event, or of the same stream, are in order of the times of their calls. */
#ifndef WALLSHIM_ANALYSIS_ACTIVITY_STREAM_ORDER_H
#define WALLSHIM_ANALYSIS_ACTIVITY_STREAM_ORDER_H

#include "report/analysis.h"

/* A call that recorded an event in a stream, made a stream wait for an event, or blocked a stream. `event` is 0 for a
 * call that blocked a stream. */
struct ws_order_entry {
    uint32_t stream; /* the stream's id in the trace */
    uint32_t op;     /* in `holds`: index of the operation that blocks the stream; else WS_NOWHERE */
    uint64_t event;
    int64_t time; /* start of the call; ns, host clock */
};

struct ws_stream_order {
    struct ws_vector records; /* struct ws_order_entry: calls that recorded an event; sorted by event, then time */
    struct ws_vector waits;   /* struct ws_order_entry: calls that made a stream wait; sorted by stream, then time */
    struct ws_vector holds;   /* struct ws_order_entry: operations that block a stream; sorted by stream, then time */
};

/* This analysis runs once per process, and its result is a struct ws_stream_order. It has no section of its own in
 * the report. */
extern const struct ws_analysis ws_analysis_stream_order;

/* ws_order_record_before returns the last record of the event (cuEventRecord) before `time`. ws_order_wait_before
 * returns the stream's last wait for an event before `time`. ws_order_hold_before returns the stream's last blocking
 * operation before `time`. Each of these functions returns NULL if the trace has no such call. */
const struct ws_order_entry *ws_order_record_before(const struct ws_stream_order *order, uint64_t event,
                                                    int64_t time);
const struct ws_order_entry *ws_order_wait_before(const struct ws_stream_order *order, uint32_t stream, int64_t time);
const struct ws_order_entry *ws_order_hold_before(const struct ws_stream_order *order, uint32_t stream, int64_t time);

#endif
