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
    uint64_t ends; /* the operation ended a gap */
    uint64_t told; /* of all operations before it none ended later than the one at the place before */
};

/* The gaps of a device, in order of time. There are millions of them: each is made when it is asked for. */
struct ws_gaps {
    struct ws_gap_bits *bits; /* by place / 64 */
    size_t count;
    const struct ws_ops *ops;
    const uint32_t *order; /* the track's */
    size_t places;         /* in it */
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

/* The gap that the operation at a place ended: what ended last before it is the operation before the last place that
 * was told. */
static inline struct ws_gap ws_gap_at(const struct ws_gaps *gaps, size_t place)
{
    size_t told = place;
    while (!(gaps->bits[told / 64].told >> told % 64 & 1))
        told--;
    uint32_t before = gaps->order[told - 1], after = gaps->order[place];
    return (struct ws_gap){ ws_op_end(gaps->ops, before), ws_op_begin(gaps->ops, after), before, after, place };
}

/* Goes over gaps in order. */
struct ws_gap_walk {
    const struct ws_gaps *gaps;
    size_t first;  /* place of the 64 it is at */
    uint64_t left; /* of their gaps */
};

/* Over those that operations from a place on ended; 0: all. */
static inline struct ws_gap_walk ws_gap_walk(const struct ws_gaps *gaps, size_t place)
{
    uint64_t left = place < gaps->places ? gaps->bits[place / 64].ends & ~0ULL << place % 64 : 0;
    return (struct ws_gap_walk){ gaps, place / 64 * 64, left };
}

/* The next gap; false when there is none. */
static inline bool ws_gap_next(struct ws_gap_walk *walk, struct ws_gap *gap)
{
    while (!walk->left) {
        walk->first += 64;
        if (walk->first >= walk->gaps->places)
            return false;
        walk->left = walk->gaps->bits[walk->first / 64].ends;
    }
    *gap = ws_gap_at(walk->gaps, walk->first + (size_t)__builtin_ctzll(walk->left));
    walk->left &= walk->left - 1;
    return true;
}

/* Passes by so many gaps, or all that are left. */
void ws_gap_skip(struct ws_gap_walk *walk, size_t count);

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
