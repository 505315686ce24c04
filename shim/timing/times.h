/* Device times: reads events, and bounds the start and end of the operation between two events. Only the
 * drain thread uses these functions. */
#ifndef WALLSHIM_SHIM_TIMING_TIMES_H
#define WALLSHIM_SHIM_TIMING_TIMES_H

#include <stdbool.h>
#include <stdint.h>

#include "record/ring_records.h"
#include "shim/objects/streams.h"

struct duration;

/* An operation whose events are not read yet. */
struct pending {
    struct pending *next;
    struct ws_op op; /* the operation's row; its device times are not set yet */
    uint32_t begin_event, end_event;
    uint32_t copies_before;
    uint32_t late; /* ns from host_end until the end event was in the stream; UINT32_MAX: not known */
    /* ns from the host_end of the operation for which the end event was recorded until this operation's host_end; 0:
     * it was recorded for this operation */
    uint32_t moved;
    uint8_t inner;     /* enum ws_ring_op_inner */
    uint8_t direction; /* enum copy_direction; COPY_DIRECTIONS: no copy between host and device */
    uint8_t kind;      /* enum ws_op_kind */
    uint8_t detail;    /* enum ws_ring_op_detail */
    bool staged;       /* a copy from or to pageable memory whose call takes about as long as the copy */
    /* For computed times (reconstruct.h): */
    struct duration *duration; /* duration of the operation's kernel */
    /* The operation began when the previous operation ended, not when its own launch arrived at the device. */
    bool queued;
    float begin_var, end_var; /* variances of the computed start and end, ns² */
    float held_up; /* ns²; additional variance of the operation's times, because a launching call took long */
    /* When an event corrects the end of the operation's run (operations without a pause, runs.h), the operation's
     * start and end move by these shares of the correction. */
    float begin_share, end_share;
};

enum times_state { TIMES_NOT_YET, TIMES_DONE, TIMES_FAILED };

/* Reads an event that was recorded after an operation. launched: host time by which this operation had been launched;
 * INT64_MIN: not known. */
enum times_state times_read(struct shim_context *context, uint32_t event, int64_t launched);

/* How many copies of other streams wanted the same copy engine while this copy waited or ran? These are the copies
 * that were pending when this copy was launched, or were launched after it. Returns 0 if the operation is no copy. */
uint32_t times_copies_beside(const struct shim_stream *stream, const struct pending *pending);

/* Fills the device times of an operation whose events have been read. end_event: the operation's own end event, or a
 * later event of the stream if the operation has none. */
void times_resolve(struct shim_stream *stream, struct pending *pending, uint32_t end_event);

#endif
