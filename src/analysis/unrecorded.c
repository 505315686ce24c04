/* Telling idle from not recorded. A shim that only counts, between bursts or outside the range asked
 * for, says from time to time how many calls it let pass since the time before. The device was not idle
 * then: the hole in the timeline is ours. */
#include <errno.h>
#include <stdlib.h>

#include "analysis/activity.h"
#include "analysis/times.h"

/* The shim flushes its counters this often, with room for a late one. */
static const int64_t flush_ns = 300000000;

/* Gaps as long as the longest are holes too only from here on: shorter ones lie between any two kernels. */
static const int64_t shortest_ns = 1000000;

/* A gap is looked at for so many counts at most, on average. Every thread has one for each flush: enough for those
 * of any program, and a trace that holds more of them than that is read all the same. */
enum { LOOKS_MOST = 1000 };

static bool is_pause(uint32_t reason)
{
    return reason == WS_LOSS_BURST || reason == WS_LOSS_RANGE || reason == WS_LOSS_SIZE_LIMIT;
}

/* The gaps that end after a time: operations are in order of their begins. */
static struct ws_gap_walk those_after(const struct ws_gaps *gaps, int64_t time)
{
    size_t low = 0, high = gaps->places;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ws_op_begin(gaps->ops, gaps->order[middle]) <= time)
            low = middle + 1;
        else
            high = middle;
    }
    return ws_gap_walk(gaps, low);
}

/* The calls counted at `time` were let pass in the longest gap of the time since the count before, and
 * in all that are about as long: there is more than one hole between two counts where bursts are short.
 * Marks are bits by place in the track's order. Returns how many gaps it looked at. */
static size_t mark_hole(const struct ws_gaps *gaps, int64_t time, uint64_t *marks)
{
    const struct ws_gap_walk from = those_after(gaps, time - flush_ns);
    struct ws_gap gap;
    int64_t longest = 0;
    size_t looks = 0;
    for (struct ws_gap_walk walk = from; ws_gap_next(&walk, &gap) && gap.begin < time; looks++)
        longest = ws_most(longest, ws_gap_length(&gap));
    int64_t alike = ws_least(ws_most(longest - longest / 4, shortest_ns), longest);
    for (struct ws_gap_walk walk = from; ws_gap_next(&walk, &gap) && gap.begin < time;)
        if (ws_gap_length(&gap) >= alike)
            marks[gap.place / 64] |= 1ULL << gap.place % 64;
    return looks;
}

/* Gaps that are marked become holes. */
static int take_out(const uint64_t *marks, struct ws_track_activity *activity)
{
    struct ws_gaps *gaps = &activity->gaps;
    struct ws_gap_walk walk = ws_gap_walk(gaps, 0);
    for (struct ws_gap gap; ws_gap_next(&walk, &gap);) {
        if (!(marks[gap.place / 64] >> gap.place % 64 & 1))
            continue;
        struct ws_hole *hole = ws_vector_push(&activity->holes);
        if (!hole)
            return -ENOMEM;
        *hole = (struct ws_hole){ gap.begin, gap.end };
        activity->unrecorded += ws_gap_length(&gap);
        gaps->bits[gap.place / 64].ends &= ~(1ULL << gap.place % 64);
        gaps->count--;
    }
    activity->idle -= activity->unrecorded;
    return 0;
}

int ws_activity_leave_out_unrecorded(const struct ws_process *process, struct ws_track_activity *activity)
{
    const struct ws_loss *losses = process->losses.data;
    uint64_t *marks = NULL;
    for (size_t i = 0, looks = 0; i < process->losses.count && looks / LOOKS_MOST <= activity->gaps.count; i++) {
        if (!is_pause(losses[i].reason) || !losses[i].count || losses[i].host_ns < activity->begin - flush_ns ||
            losses[i].host_ns > activity->end + flush_ns)
            continue;
        if (!marks)
            marks = calloc(activity->gaps.places / 64 + 1, sizeof(*marks));
        if (!marks)
            return -ENOMEM;
        looks += mark_hole(&activity->gaps, losses[i].host_ns, marks);
    }
    int status = marks ? take_out(marks, activity) : 0;
    free(marks);
    return status;
}
