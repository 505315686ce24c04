/* What streams were made to wait for: events recorded and waited for, and what takes no time of a device but holds a
 * stream up, in order of their calls. */
#ifndef WALLSHIM_ANALYSIS_STREAM_ORDER_H
#define WALLSHIM_ANALYSIS_STREAM_ORDER_H

#include "analysis/registry.h"

/* A call that put an event into a stream, or made a stream wait for one; of no event: an operation. */
struct ws_order_entry {
    uint32_t stream; /* identifier in the trace */
    uint32_t op;     /* host function, memory value … */
    uint64_t event;
    int64_t time; /* of the call's begin */
};

struct ws_stream_order {
    struct ws_vector records; /* struct ws_order_entry, by event, then time */
    struct ws_vector waits;   /* by stream, then time */
    struct ws_vector holds;   /* by stream, then time */
};

/* Of a process; no section of its own. The result is a struct ws_stream_order. */
extern const struct ws_analysis ws_analysis_stream_order;

/* The last one before a time, or NULL. */
const struct ws_order_entry *ws_order_record_before(const struct ws_stream_order *order, uint64_t event,
                                                    int64_t time);
const struct ws_order_entry *ws_order_wait_before(const struct ws_stream_order *order, uint32_t stream, int64_t time);
const struct ws_order_entry *ws_order_hold_before(const struct ws_stream_order *order, uint32_t stream, int64_t time);

#endif
