/* Why the host launched an operation late: the activity of the launching thread, or of a thread that it waited for.
 */
#include "analysis/gaps/gap_finder.h"
#include "base/minmax.h"

/* gaps.h explains these limits. */
enum {
    /* ns; pauses between calls have the cause `launch` if they are shorter than this on average */
    PAUSE_SHORT = 100000,
    BATCH_LEAST = 1024, /* bytes; a smaller copy is assumed to hold a few numbers, not a batch of input */
    /* `sync` or `allocation` is the cause if its calls took at least 1/4 of the time by which the host was late */
    SYNC_SHARE = 4,
};

/* Computes how the launching thread spent the time from question->begin to question->until. If this thread was mostly
 * outside calls, it may have waited for the thread that launched the operation before the gap. If this other thread
 * was outside calls for less than half as long, it is examined instead. Returns the examined thread. */
static uint32_t gap_late_window(const struct ws_gap_finder *finder, const struct ws_gap_question *question,
                                struct ws_host_window *window)
{
    const struct ws_ops *ops = &finder->process->ops;
    uint32_t thread = ws_op_thread_place(ops, question->after), other = ws_op_thread_place(ops, question->before);
    int64_t slack = finder->track->clock_error;
    ws_host_time_window(finder->time, &finder->cursors[thread], question->begin, question->until, slack, window);
    if (other == thread || !ws_op_has_call(ops, question->before) ||
        window->used[WS_USE_OWN] < (question->until - question->begin) / 2)
        return thread;
    struct ws_host_window second;
    ws_host_time_window(finder->time, &finder->cursors[other], question->begin, question->until, slack, &second);
    if (second.used[WS_USE_OWN] >= window->used[WS_USE_OWN] / 2)
        return thread;
    *window = second;
    return other;
}

static const enum ws_part part_of_use[WS_USE_COUNT] = {
    [WS_USE_SYNC] = WS_PART_SYNC,     [WS_USE_ALLOCATION] = WS_PART_ALLOCATION, [WS_USE_COMM] = WS_PART_COMM_WAIT,
    [WS_USE_LAUNCH] = WS_PART_LAUNCH, [WS_USE_INPUT] = WS_PART_INPUT,           [WS_USE_OWN] = WS_PART_LAUNCH,
};

/* Was the thread in a range (a named period) at this time, so that the trace shows what it did? The range of a whole
 * step does not count, because it contains all work. */
static bool was_at_work(const struct ws_gap_finder *finder, uint32_t thread, int64_t time)
{
    const struct ws_process *process = finder->process;
    const struct ws_ranges *ranges = &process->ranges;
    uint32_t place = ws_ranges_at(ranges, ((const uint32_t *)process->ops.threads.data)[thread], time);
    return place != WS_NO_RANGE && ws_range(ranges, place)->kind != WS_RANGE_STEP;
}

static bool copies_to_device(const struct ws_gap_finder *finder, uint32_t op)
{
    return ws_is_host_to_device(&ws_process_shape(finder->process, finder->process->ops.shape[op])->row);
}

/* Is the operation a copy to the device that is large enough for a batch of input? */
static bool copies_batch(const struct ws_gap_finder *finder, uint32_t op)
{
    return copies_to_device(finder, op) && ws_op_bytes(&finder->process->ops, op) >= BATCH_LEAST;
}

/* Was the thread's innermost range at this time a Python function or an operator? */
static bool was_in_function(const struct ws_gap_finder *finder, uint32_t thread, int64_t time)
{
    const struct ws_process *process = finder->process;
    uint32_t place = ws_ranges_at(&process->ranges, ((const uint32_t *)process->ops.threads.data)[thread], time);
    return place != WS_NO_RANGE && (ws_range(&process->ranges, place)->kind == WS_RANGE_PYTHON ||
                                    ws_range(&process->ranges, place)->kind == WS_RANGE_OPERATOR);
}

/* For gaps in which the launching thread was mostly outside calls, and not in the range of a data loader: returns the
 * cause. Sets *thread to the thread that caused the gap. */
static enum ws_part cause_of_pause(const struct ws_gap_finder *finder, const struct ws_gap_question *question,
                                   const struct ws_host_window *window, uint32_t *thread)
{
    const struct ws_host_event *pause = &window->longest[WS_USE_OWN].event;
    int64_t middle = pause->begin + (pause->end - pause->begin) / 2;
    uint32_t other = ws_op_thread_place(&finder->process->ops, question->before);
    if (window->used[WS_USE_OWN] / (window->calls + 1) < PAUSE_SHORT)
        return WS_PART_LAUNCH;
    if (question->opens && copies_batch(finder, question->after) && was_in_function(finder, *thread, middle))
        return WS_PART_INPUT;
    if (was_at_work(finder, *thread, middle))
        return WS_PART_LAUNCH;
    if (!question->ends_step && copies_to_device(finder, question->after))
        return WS_PART_INPUT;
    if (!was_at_work(finder, other, middle))
        return WS_PART_UNEXPLAINED;
    *thread = other;
    return WS_PART_LAUNCH;
}

struct ws_gap_answer ws_gap_late_cause(const struct ws_gap_finder *finder, const struct ws_gap_question *question)
{
    struct ws_host_window window;
    uint32_t thread = gap_late_window(finder, question, &window);
    int64_t length = question->until - question->begin;
    enum ws_host_use most = WS_USE_LAUNCH;
    for (enum ws_host_use use = 0; use < WS_USE_COUNT; use++)
        if (window.used[use] > window.used[most])
            most = use;
    enum ws_part pause = WS_PART_LAUNCH;
    if (most == WS_USE_OWN)
        pause = cause_of_pause(finder, question, &window, &thread);
    enum ws_host_use waited =
        window.whole[WS_USE_ALLOCATION] > window.whole[WS_USE_SYNC] ? WS_USE_ALLOCATION : WS_USE_SYNC;
    bool waits = window.whole[waited] && window.whole[waited] >= length / SYNC_SHARE;
    bool loads = most == WS_USE_INPUT ||
                 (pause == WS_PART_INPUT && window.used[WS_USE_OWN] >= window.whole[waited] / SYNC_SHARE);
    if (waits && !loads)
        most = waited;
    struct ws_gap_answer answer = {
        .cause = most == WS_USE_OWN ? pause : part_of_use[most],
        .thread = thread,
        .time = question->launch,
        .debt = most == waited ? ws_max(window.whole[most] - (question->end - question->begin), 0) : 0,
    };
    /* `paused`: a single call, or a single pause between calls, took PAUSE_SHORT ns or more within the gap */
    bool paused = window.longest[most].length >= PAUSE_SHORT;
    if ((answer.cause != WS_PART_LAUNCH || paused) && window.longest[most].length) {
        const struct ws_host_event *event = &window.longest[most].event;
        bool call = most != WS_USE_INPUT && most != WS_USE_OWN;
        answer.time = call ? event->begin : event->begin + (event->end - event->begin) / 2;
        answer.reach = call ? 0 : (event->end - event->begin + 1) / 2;
        answer.function = call ? ws_host_event_function(finder->process, event) : 0;
        answer.call = call ? event->end - event->begin : 0;
        answer.in_call = call ? window.longest[most].length : 0;
    }
    return answer;
}
