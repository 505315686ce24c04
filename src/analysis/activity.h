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
    int64_t begin, end;
    uint32_t before; /* the operation that ended last before it */
    uint32_t after;  /* the one that ended it */
    size_t place;    /* of that in ws_track.order */
};

/* 64 places of a track's order. */
struct ws_gap_bits {
    uint64_t ends;  /* the operation ended a gap */
    uint64_t tells; /* no operation before it ended later: it is what ended last before the next gap */
};

/* The gaps of a device, in order of time. There are millions of them: each is made when it is asked for. */
struct ws_gaps {
    struct ws_gap_bits *bits; /* by place in ws_track.order / 64 */
    size_t count;
    const struct ws_ops *ops;
    const struct ws_track *track;
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
    struct ws_gaps gaps;    /* what was not recorded is none */
    struct ws_vector holes; /* struct ws_hole, in order of time */
    uint64_t quality[4];    /* begins and ends by enum ws_quality */
};

extern const struct ws_analysis ws_analysis_activity;

/* Did the operation at a place end a gap? */
static inline bool ws_gap_ends_at(const struct ws_gaps *gaps, size_t place)
{
    return gaps->bits[place / 64].ends >> place % 64 & 1;
}

/* The gap that the operation at a place ended. */
static inline struct ws_gap ws_gap_at(const struct ws_gaps *gaps, size_t place)
{
    const uint32_t *order = gaps->track->order;
    size_t word = place / 64;
    uint64_t tell = gaps->bits[word].tells & ((1ULL << place % 64) - 1);
    while (!tell)
        tell = gaps->bits[--word].tells;
    uint32_t before = order[word * 64 + 63 - (size_t)__builtin_clzll(tell)], after = order[place];
    return (struct ws_gap){ ws_op_end(gaps->ops, before), ws_op_begin(gaps->ops, after), before, after, place };
}

/* The next gap; false when there is none. All 0 is where to begin, or no more than a place to go on behind. */
static inline bool ws_gap_next(const struct ws_gaps *gaps, struct ws_gap *gap)
{
    size_t place = gap->place + 1, count = gaps->track->count;
    if (place >= count)
        return false;
    size_t word = place / 64;
    uint64_t ends = gaps->bits[word].ends & ~0ULL << place % 64;
    while (!ends && ++word * 64 < count)
        ends = gaps->bits[word].ends;
    if (!ends)
        return false;
    *gap = ws_gap_at(gaps, word * 64 + (size_t)__builtin_ctzll(ends));
    return true;
}

/* Passes by so many gaps, or all that are left. */
void ws_gap_skip(const struct ws_gaps *gaps, struct ws_gap *gap, size_t count);

static inline int64_t ws_gap_length(const struct ws_gap *gap)
{
    return gap->end - gap->begin;
}

/* The part of the span that the trace speaks of: what shares are of. */
static inline int64_t ws_activity_known(const struct ws_track_activity *activity)
{
    return activity->span - activity->unrecorded;
}

/* Leaves out the gaps in which nothing was recorded. Returns 0 or -ENOMEM. */
int ws_activity_leave_out_unrecorded(const struct ws_process *process, struct ws_track_activity *activity);

/* Which union the operations of a name belong to. */
enum ws_group ws_report_group(const struct ws_report *report, size_t name);

/* The same by index into ws_process.shapes, or NULL when memory is out. For free(). */
uint8_t *ws_report_shape_groups(const struct ws_report *report, const struct ws_process *process);

#endif
