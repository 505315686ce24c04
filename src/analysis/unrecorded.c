/* Telling idle from not recorded. A shim that only counts, between bursts or outside the range asked
 * for, says from time to time how many calls it let pass since the time before. The device was not idle
 * then: the hole in the timeline is ours. */
#include <errno.h>
#include <stdlib.h>

#include "analysis/activity.h"

/* The shim flushes its counters this often, with room for a late one. */
static const int64_t flush_ns = 300000000;

/* Gaps as long as the longest are holes too only from here on: shorter ones lie between any two kernels. */
static const int64_t shortest_ns = 1000000;

static bool is_pause(uint32_t reason)
{
    return reason == WS_LOSS_BURST || reason == WS_LOSS_RANGE || reason == WS_LOSS_SIZE_LIMIT;
}

/* The first gap that ends after time. */
static size_t first_ending_after(const struct ws_ops *ops, const struct ws_track *track, const struct ws_gap *gaps,
                                 size_t count, int64_t time)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ws_gap_end(ops, track, &gaps[middle]) <= time)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The calls counted at `time` were let pass in the longest gap of the time since the count before, and
 * in all that are about as long: there is more than one hole between two counts where bursts are short. */
static void mark_hole(const struct ws_ops *ops, const struct ws_track *track, const struct ws_vector *gaps,
                      int64_t time, uint8_t *marks)
{
    const struct ws_gap *list = gaps->data;
    size_t first = first_ending_after(ops, track, list, gaps->count, time - flush_ns), end;
    int64_t longest = 0;
    for (end = first; end < gaps->count && ws_gap_begin(ops, &list[end]) < time; end++)
        if (ws_gap_length(ops, track, &list[end]) > longest)
            longest = ws_gap_length(ops, track, &list[end]);
    int64_t alike = longest - longest / 4 > shortest_ns ? longest - longest / 4 : shortest_ns;
    for (size_t i = first; i < end; i++)
        marks[i] |= ws_gap_length(ops, track, &list[i]) >= (alike < longest ? alike : longest);
}

/* Gaps that are marked become holes. */
static int take_out(const struct ws_ops *ops, const struct ws_track *track, const uint8_t *marks,
                    struct ws_track_activity *activity)
{
    struct ws_gap *gaps = activity->gaps.data;
    size_t kept = 0;
    for (size_t i = 0; i < activity->gaps.count; i++) {
        if (!marks[i]) {
            gaps[kept++] = gaps[i];
            continue;
        }
        struct ws_hole *hole = ws_vector_push(&activity->holes);
        if (!hole)
            return -ENOMEM;
        *hole = (struct ws_hole){ ws_gap_begin(ops, &gaps[i]), ws_gap_end(ops, track, &gaps[i]) };
        activity->unrecorded += hole->end - hole->begin;
    }
    activity->gaps.count = kept;
    activity->idle -= activity->unrecorded;
    return 0;
}

int ws_activity_leave_out_unrecorded(const struct ws_process *process, const struct ws_track *track,
                                     struct ws_track_activity *activity)
{
    const struct ws_loss *losses = process->losses.data;
    uint8_t *marks = NULL;
    for (size_t i = 0; i < process->losses.count; i++) {
        if (!is_pause(losses[i].reason) || !losses[i].count || losses[i].host_ns < activity->begin - flush_ns ||
            losses[i].host_ns > activity->end + flush_ns)
            continue;
        if (!marks)
            marks = calloc(activity->gaps.count + 1, 1);
        if (!marks)
            return -ENOMEM;
        mark_hole(&process->ops, track, &activity->gaps, losses[i].host_ns, marks);
    }
    int status = marks ? take_out(&process->ops, track, marks, activity) : 0;
    free(marks);
    return status;
}
