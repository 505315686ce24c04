/* The order between streams: records of events, waits for events, and operations that block a stream without using
 * the device (host functions, waits for memory values). Within an event, or within a stream, the entries are in order
 * of their calls.
 */
#ifndef WALLSHIM_ANALYSIS_ACTIVITY_STREAM_ORDER_H
#define WALLSHIM_ANALYSIS_ACTIVITY_STREAM_ORDER_H

#include "report/analysis.h"

/* A call that recorded an event in a stream, made a stream wait for an event, or blocked a stream. `event` is 0 for a
 * call that blocked a stream. */
struct ws_order_entry {
    uint32_t stream; /* id in the trace */
    uint32_t op;     /* in `holds`: index of the operation that blocks the stream; else WS_NOWHERE */
    uint64_t event;
    int64_t time; /* begin of the call; ns, host clock */
};

struct ws_stream_order {
    struct ws_vector records; /* struct ws_order_entry: events recorded; sorted by event, then time */
    struct ws_vector waits;   /* struct ws_order_entry: waits for events; sorted by stream, then time */
    struct ws_vector holds;   /* struct ws_order_entry: operations that block a stream; sorted by stream, then time */
};

/* Scope: process. This analysis has no section in the report. The result is a struct ws_stream_order. */
extern const struct ws_analysis ws_analysis_stream_order;

/* Each returns the last entry of an event or of a stream before `time`, or NULL. */
const struct ws_order_entry *ws_order_record_before(const struct ws_stream_order *order, uint64_t event,
                                                    int64_t time);
const struct ws_order_entry *ws_order_wait_before(const struct ws_stream_order *order, uint32_t stream, int64_t time);
const struct ws_order_entry *ws_order_hold_before(const struct ws_stream_order *order, uint32_t stream, int64_t time);

#endif
