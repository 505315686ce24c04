/* What a device did with its time: the lengths of unions of intervals, exact in ns.
 *
 * A device is busy while any operation runs. compute is the union of kernels and graphs that are no
 * communication, comm that of kernels that are (ws_is_comm), memory that of copies and memsets.
 */
#ifndef WALLSHIM_ANALYSIS_ACTIVITY_H
#define WALLSHIM_ANALYSIS_ACTIVITY_H

#include "analysis/registry.h"
#include "analysis/split.h"
#include "base/vector.h"

/* A time in which nothing ran: from the end of one operation to the begin of another. */
struct ws_gap {
    uint32_t before; /* the operation that ended last before it: index into ws_process.ops */
    uint32_t after;  /* place in ws_track.order of the one that ended it */
};

/* A time of which the trace does not speak: between bursts, or outside the range asked for. */
struct ws_hole {
    int64_t begin, end; /* host clock */
};

struct ws_track_activity {
    int64_t begin, end; /* first start, last end; host clock */
    int64_t span, busy, idle;
    int64_t unrecorded; /* of the span: between bursts, or outside the range asked for; not idle, not known */
    int64_t busy_least, busy_most; /* busy if every time is as wrong as its error allows */
    int64_t group[WS_GROUP_COUNT];
    int64_t comm_overlap;   /* comm inside compute */
    int64_t exposed_comm;   /* comm outside compute */
    int64_t exposed_memory; /* memory outside compute and outside comm */
    struct ws_vector gaps;  /* struct ws_gap, in order of time; what was not recorded is none */
    struct ws_vector holes; /* struct ws_hole, in order of time */
    uint64_t quality[4];    /* begins and ends by enum ws_quality */
};

extern const struct ws_analysis ws_analysis_activity;

static inline int64_t ws_gap_begin(const struct ws_ops *ops, const struct ws_gap *gap)
{
    return ws_op_end(ops, gap->before);
}

static inline int64_t ws_gap_end(const struct ws_ops *ops, const struct ws_track *track, const struct ws_gap *gap)
{
    return ws_op_begin(ops, track->order[gap->after]);
}

static inline int64_t ws_gap_length(const struct ws_ops *ops, const struct ws_track *track, const struct ws_gap *gap)
{
    return ws_gap_end(ops, track, gap) - ws_gap_begin(ops, gap);
}

/* The part of the span that the trace speaks of: what shares are of. */
static inline int64_t ws_activity_known(const struct ws_track_activity *activity)
{
    return activity->span - activity->unrecorded;
}

/* Leaves out the gaps in which nothing was recorded. Returns 0 or -ENOMEM. */
int ws_activity_leave_out_unrecorded(const struct ws_process *process, const struct ws_track *track,
                                     struct ws_track_activity *activity);

/* Which union the operations of a name belong to. */
enum ws_group ws_report_group(const struct ws_report *report, size_t name);

/* The same by index into ws_process.shapes, or NULL when memory is out. For free(). */
uint8_t *ws_report_shape_groups(const struct ws_report *report, const struct ws_process *process);

#endif
