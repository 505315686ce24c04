/* How a device spent its time. Each figure is the length of a union of intervals, in whole ns.
 *
 * A device is busy while any operation runs. The operations of a device fall into three groups: `comm` is
 * communication kernels (WS_CLASS_COMM), `memory` is copies and memsets, `compute` is all other kernels and graphs.
 */
#ifndef WALLSHIM_ANALYSIS_ACTIVITY_ACTIVITY_H
#define WALLSHIM_ANALYSIS_ACTIVITY_ACTIVITY_H

#include "analysis/activity/split.h"
#include "base/vector.h"
#include "report/analysis.h"

/* An idle period of the device, from the end of one operation to the start of another. */
struct ws_gap {
    int64_t begin, end;
    uint32_t before; /* the operation with the latest end before the gap */
    uint32_t after;  /* the operation that ended the gap */
    size_t place;    /* index of the operation `after` in ws_track.order */
};

/* Two bits for each of 64 operations that follow each other in order of their start times (ws_track.order). */
struct ws_gap_bits {
    uint64_t ends; /* 1: the device was idle until the operation began */
    uint64_t told; /* 1: the operation directly before this operation ended last of all earlier operations */
};

/* The gaps of a device, in order of time. A device can have millions of gaps, so they are stored as bits, and
 * struct ws_gap is built on demand. */
struct ws_gaps {
    struct ws_gap_bits *bits; /* entry i is for the operations with index 64 * i to 64 * i + 63 in `order` */
    size_t count;
    const struct ws_ops *ops;
    const uint32_t *order; /* ws_track.order: the device's operations in order of their start times */
    size_t places;         /* length of `order` */
};

/* A period that the trace does not cover, although the device may have been busy. Recording was off, or the device
 * ran work that was launched before or after the recorded time (unrecorded.c). */
struct ws_hole {
    int64_t begin, end; /* start and end of the period; ns, host clock */
};

struct ws_track_activity {
    int64_t begin, end; /* start of the device's first operation, and latest end of an operation; ns, host clock */
    int64_t span, busy, idle;
    int64_t unrecorded;            /* time in `holes`: part of the span, but neither busy nor idle */
    int64_t busy_least, busy_most; /* bounds of `busy`, given the errors of start and end times */
    int64_t group[WS_GROUP_COUNT];
    int64_t comm_overlap;   /* ns in which communication and compute ran */
    int64_t exposed_comm;   /* ns in which communication ran, but no compute */
    int64_t exposed_memory; /* ns in which copies or memsets ran, but neither compute nor communication */
    struct ws_gaps gaps;    /* idle periods, except those in `holes` */
    struct ws_vector holes; /* elements: struct ws_hole, in order of time */
    uint64_t quality[4];    /* number of start and end times of each enum ws_quality (measured, computed …) */
};

extern const struct ws_analysis ws_analysis_activity;

/* Did a gap end when the operation at index `place` of `gaps->order` began? */
static inline bool ws_gap_ends_at(const struct ws_gaps *gaps, size_t place)
{
    return gaps->bits[place / 64].ends >> place % 64 & 1;
}

/* Returns the gap that ended when the operation at index `place` began. Searches backwards from `place` for the
 * nearest operation whose `told` bit is set. The operation directly before this nearest operation ended last of all
 * operations before the gap. */
static inline struct ws_gap ws_gap_at(const struct ws_gaps *gaps, size_t place)
{
    size_t told = place;
    while (!(gaps->bits[told / 64].told >> told % 64 & 1))
        told--;
    uint32_t before = gaps->order[told - 1], after = gaps->order[place];
    return (struct ws_gap){ ws_op_end(gaps->ops, before), ws_op_begin(gaps->ops, after), before, after, place };
}

/* State of a walk over a device's gaps (idle periods) in order of time. */
struct ws_gap_walk {
    const struct ws_gaps *gaps;
    size_t first;  /* index of the first operation in the current group of 64 */
    uint64_t left; /* bit i: operation first + i ended a gap that ws_gap_next has not returned yet */
};

/* Starts a walk over the gaps that ended when the operations at index `place` and later began. If `place` is 0, the
 * walk covers all gaps. */
static inline struct ws_gap_walk ws_gap_walk(const struct ws_gaps *gaps, size_t place)
{
    uint64_t left = place < gaps->places ? gaps->bits[place / 64].ends & ~0ULL << place % 64 : 0;
    return (struct ws_gap_walk){ gaps, place / 64 * 64, left };
}

/* Writes the next gap. Returns false when there are no more gaps. */
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

/* Skips the next `count` gaps, or all remaining gaps if there are fewer. */
void ws_gap_skip(struct ws_gap_walk *walk, size_t count);

static inline int64_t ws_gap_length(const struct ws_gap *gap)
{
    return gap->end - gap->begin;
}

/* The recorded part of the span (the time from the device's first operation to its last), in ns. Reports give busy
 * and idle time as percentages of this part. */
static inline int64_t ws_activity_known(const struct ws_track_activity *activity)
{
    return activity->span - activity->unrecorded;
}

/* Time 0 of a device's times in reports: the start of the device's first operation. If the report covers only a
 * window (a part of the recording, model/window.h), time 0 is the start of the device's first operation in the whole
 * recording. */
static inline int64_t ws_activity_origin(const struct ws_track *track, const struct ws_track_activity *activity)
{
    return track->window ? track->window->first : activity->begin;
}

/* Moves the gaps (idle periods) in which recording was off from `gaps` to `holes`. Also moves the gaps in which the
 * device ran work that was launched before or after the recorded time. Returns 0 or -ENOMEM. */
struct ws_process_recorded;
int ws_activity_leave_out_unrecorded(const struct ws_process *process, const struct ws_track *track,
                                     const struct ws_process_recorded *recorded, struct ws_track_activity *activity);

/* Finds the stream with the most operations of WS_GROUP_COMPUTE. Writes the stream's index in ws_process.streams, or
 * WS_NOWHERE if no stream has any. `groups`: the array that ws_report_shape_groups returned. Returns 0 or -ENOMEM. */
int ws_track_main_stream(const struct ws_process *process, const struct ws_track *track, const uint8_t *groups,
                         uint32_t *stream);

/* ns. On an idle stream, an operation usually begins sooner than this after its launch call. The value is our
 * choice. */
enum { WS_HELD_LEAST = 1000000 };

/* Did the operation begin more than WS_HELD_LEAST after its launch call returned and after `reach`, the end of all
 * earlier recorded operations? If so, and if the operation is the first of its stream, we conclude that the stream
 * was busy with work that was launched before the recording. Always false for Wallshim's own traces, because they
 * state which operations they lack. */
static inline bool ws_op_was_held(const struct ws_process *process, uint32_t op, int64_t reach)
{
    const struct ws_ops *ops = &process->ops;
    return ws_op_has_call(ops, op) && ws_op_begin(ops, op) - ws_max(ws_op_host_end(ops, op), reach) > WS_HELD_LEAST &&
           ws_process_meta(process, "import");
}

/* Returns the group (compute, communication or memory) of the operations with this name (index into the model's
 * names). */
enum ws_group ws_report_group(const struct ws_report *report, size_t name);

/* Returns an array indexed like ws_process.shapes. A shape is a set of operations with the same static properties,
 * such as kernel and stream. Each entry is the group (enum ws_group) of the shape's operations. The caller frees the
 * array. Returns NULL if memory runs out. */
uint8_t *ws_report_shape_groups(const struct ws_report *report, const struct ws_process *process);

/* defined in activity_report.c */
void ws_activity_text(const struct ws_report *report, size_t subject, const void *memory, struct ws_page *page);
int ws_activity_json(const struct ws_report *report, size_t subject, const void *memory, json_t *object);

#endif
