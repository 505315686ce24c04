/* Separates idle time from time that was not recorded. A gap is a period in which the trace shows no operation on the
 * device. A gap in a period without recording is called a hole, and does not count as idle time. There are three
 * kinds of periods without recording:
 * - pauses. While recording is off (for example with --burst or --capture-range), the shim only counts calls, and
 *   regularly writes the count into the trace. The device may be busy meanwhile;
 * - the lead-in: the first part of a trace of another profiler. The device still runs work that was launched before
 *   the recording, and the trace lacks this work. A stream runs its work in order. So if the stream's first recorded
 *   operation was queued long before it began, the stream was busy with older work until the operation began;
 * - the edges of a window (the part of the recording that a report covers; model/window.h): between the window's
 *   operations, the device also ran work that was launched before or after the window. */
#include <errno.h>
#include <stdlib.h>

#include "analysis/activity/activity.h"
#include "analysis/activity/recorded.h"
#include "base/minmax.h"

/* ns. The longest time from a call that was not recorded to the row in the trace that counts it. */
static const int64_t flush_ns = WS_LOSSES_LATE;

/* ns. A gap (idle period) shorter than this counts as a hole (time without recording) only if it is the longest gap
 * in the time before a row that counts unrecorded calls. Gaps this short are common while recording is on. */
static const int64_t shortest_ns = 1000000;

/* On average over all gaps (idle periods), a gap is compared with at most this many rows that count unrecorded calls.
 * The shim usually writes one such row per thread every 250 ms, so real traces stay far below the limit. The limit
 * bounds the time for a damaged trace with many counts. */
enum { LOOKS_MOST = 1000 };

static bool is_pause(uint32_t reason)
{
    return reason == WS_LOSS_BURST || reason == WS_LOSS_RANGE || reason == WS_LOSS_SIZE_LIMIT ||
           reason == WS_LOSS_OVERHEAD;
}

/* Starts a walk over the gaps (idle periods) that end after `time`. A gap ends where an operation begins, and
 * operations are in order of their start times. */
static struct ws_gap_walk gaps_after(const struct ws_gaps *gaps, int64_t time)
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

/* A row of the trace, written at `time`, counts calls that the shim did not record. mark_hole assumes that the
 * program made these calls in the longest gap (idle period) between `from` and `time`, and in all gaps of this time
 * that are at least 3/4 as long. Recording may have been paused several times in this time, so several gaps
 * may be holes (gaps without recording). Sets a bit in `marks` for each hole. The bit's number is the index, in the
 * track's order, of the operation that ended the hole. Returns the number of gaps that mark_hole compared. */
static size_t mark_hole(const struct ws_gaps *gaps, int64_t from, int64_t time, uint64_t *marks)
{
    const struct ws_gap_walk start = gaps_after(gaps, from);
    struct ws_gap gap;
    int64_t longest = 0;
    size_t looks = 0;
    for (struct ws_gap_walk walk = start; ws_gap_next(&walk, &gap) && gap.begin < time; looks++)
        longest = ws_max(longest, ws_gap_length(&gap));
    int64_t alike = ws_min(ws_max(longest - longest / 4, shortest_ns), longest);
    for (struct ws_gap_walk walk = start; ws_gap_next(&walk, &gap) && gap.begin < time;)
        if (ws_gap_length(&gap) >= alike)
            marks[gap.place / 64] |= 1ULL << gap.place % 64;
    return looks;
}

/* Moves the gaps (idle periods) that have a bit in `marks` from activity->gaps (idle time) to activity->holes (time
 * without recording). */
static int turn_into_holes(const uint64_t *marks, struct ws_track_activity *activity)
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

/* Returns the ns of the gap (idle period) in which the operation that ended the gap was already queued. */
static int64_t queued_in(const struct ws_process *process, const struct ws_process_recorded *recorded,
                         const struct ws_gap *gap)
{
    if (ws_launched_before(recorded, &process->ops, gap->after))
        return ws_gap_length(gap);
    if (!ws_op_has_call(&process->ops, gap->after))
        return 0;
    return gap->end - ws_clamp(ws_op_queued_from(process, gap->after), gap->begin, gap->end);
}

/* Marks the gaps of the lead-in (the first part of an imported trace, in which the device still runs older work). A
 * gap of the lead-in ends with the first recorded operation of a stream, and this operation was queued for most of
 * the gap. The gap is also longer than all recorded busy time before it. If the gap is shorter, we assume that the
 * device had finished its older work before the gap. */
static int mark_lead_in(const struct ws_process *process, const struct ws_process_recorded *recorded,
                        const struct ws_track_activity *activity, uint64_t *marks)
{
    bool *seen = calloc(process->streams.rows.count + 1, sizeof(*seen));
    struct ws_gap_walk walk = ws_gap_walk(&activity->gaps, 0);
    int64_t idle = 0;
    size_t place = 0;
    if (!seen)
        return -ENOMEM;
    for (struct ws_gap gap; ws_gap_next(&walk, &gap);) {
        int64_t busy = gap.begin - activity->begin - idle, length = ws_gap_length(&gap);
        if (busy > activity->end - gap.begin)
            break;
        for (; place < gap.place; place++) {
            uint32_t stream = ws_process_shape(process, process->ops.shape[activity->gaps.order[place]])->stream;
            if (stream != WS_NOWHERE)
                seen[stream] = true;
        }
        uint32_t stream = ws_process_shape(process, process->ops.shape[gap.after])->stream;
        int64_t queued = queued_in(process, recorded, &gap);
        if (stream != WS_NOWHERE && !seen[stream] && busy < length && queued > WS_DISPATCH_MOST &&
            queued > length / 2)
            marks[gap.place / 64] |= 1ULL << gap.place % 64;
        idle += length;
    }
    free(seen);
    return 0;
}

/* Marks the gaps (idle periods) in which recording was probably paused. The rows of all threads are written together.
 * So the calls that a row counts were made after the rows before it were written. A pause may end with these: then
 * its gap ends soon after them, and is not looked at again. */
static void mark_pauses(const struct ws_process *process, const struct ws_track_activity *activity, uint64_t *marks)
{
    const struct ws_loss *losses = process->losses.data;
    int64_t before = INT64_MIN / 2, at = INT64_MIN / 2; /* when the rows before this row were written, and this row */
    for (size_t i = 0, looks = 0; i < process->losses.count && looks / LOOKS_MOST <= activity->gaps.count; i++) {
        int64_t time = losses[i].host_ns;
        if (!is_pause(losses[i].reason) || !losses[i].count || time < activity->begin - flush_ns ||
            time > activity->end + flush_ns)
            continue;
        before = at < time - shortest_ns ? at : before;
        at = time;
        looks += mark_hole(&activity->gaps, ws_max(time - flush_ns, before + shortest_ns), time, marks);
    }
}

/* Marks the gaps in which the device ran work that was launched before or after the window. */
static void mark_outside(const struct ws_window_device *window, const struct ws_track_activity *activity,
                         uint64_t *marks)
{
    struct ws_gap_walk walk = ws_gap_walk(&activity->gaps, 0);
    for (struct ws_gap gap; window->outside.count && ws_gap_next(&walk, &gap);)
        if (ws_interval_set_within(&window->outside, gap.begin, gap.end) > 0)
            marks[gap.place / 64] |= 1ULL << gap.place % 64;
}

int ws_activity_leave_out_unrecorded(const struct ws_process *process, const struct ws_track *track,
                                     const struct ws_process_recorded *recorded, struct ws_track_activity *activity)
{
    bool is_imported = ws_process_meta(process, "import") != NULL;
    /* If the recording has operations that were launched before the window, mark_outside sees this older work, so
     * mark_lead_in need not infer it. */
    bool has_lead_in = is_imported && !(track->window && track->window->later);
    if (!is_imported && !process->losses.count && !track->window)
        return 0;
    uint64_t *marks = calloc(activity->gaps.places / 64 + 1, sizeof(*marks));
    int status = !marks ? -ENOMEM : has_lead_in ? mark_lead_in(process, recorded, activity, marks) : 0;
    if (!status && track->window)
        mark_outside(track->window, activity, marks);
    if (!status) {
        mark_pauses(process, activity, marks);
        status = turn_into_holes(marks, activity);
    }
    free(marks);
    return status;
}
