#include "analysis/gaps/replay.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/activity/activity.h"
#include "analysis/activity/host_time.h"
#include "analysis/gaps/gaps.h"
#include "analysis/steps/steps.h"
#include "base/minmax.h"
#include "base/pages.h"

/* Times in ns. We chose the limits for which no source is given. */
enum {
    MOST_OPS = 500000,
    MOST_INDICES = 4000000,
    STEPS_LEAST = 4,
    MOST_THREADS = 64,  /* maximum number of threads that launch on one device; real programs have fewer */
    MOST_RUNNING = 128, /* maximum number of operations that run at once on a device (CUDA programming guide) */
    /* ns; a thread that pauses this long between two calls may be waiting for another thread */
    HANDOFF_LEAST = 50000,
    PAUSE_LEAST = 100000, /* a pause of this length before a copy to the device counts as input, as in gaps.h */
    RETURN_MOST = 20000,  /* longest time from the end of an operation to the return of the call that waited for it */
    WAIT_LEAST = 100000,  /* a launch call that takes longer waits for room in the launch queue */
    /* with WS_WITHOUT_LAUNCHES, the replay drops an operation's wait for an unknown reason if it is shorter than
     * this */
    WAIT_KNOWN = 10000,
    /* assumed time from the end of an operation to the start of the next one that is already queued, if the recording
     * has no gaps of cause `dispatch` to measure it */
    DISPATCH = 1500,
    DISPATCH_MOST = 2000,
};

/* The longest part of a recording that is replayed, in ns: one year. The limit keeps sums of times from
 * overflowing. */
static const int64_t LONGEST = (int64_t)366 * 86400 * 1000000000;

/* The time of an event in the recording, and its time in the replay; ns. */
struct moment {
    int64_t recorded, replayed;
};

struct thread_clock {
    struct ws_host_cursor cursor;
    struct ws_host_event event; /* the thread's next event (call of the host) to replay */
    bool waits;                 /* `event` is valid: not all events of the thread have been replayed */
    bool began;
    struct moment end; /* end of the thread's event that was replayed last */
    int64_t call;      /* replayed start of the thread's event that was replayed last */
};

struct replay {
    const struct ws_track *track;
    const struct ws_process *process;
    const struct ws_host_time *time;
    unsigned without;
    int64_t delay, dispatch;
    size_t first, end; /* the part to replay (the stretch): indices `first` to `end` - 1 in ws_track.order */
    int64_t from, to;  /* host times of the first and last launch of the stretch's operations */
    uint32_t low;      /* smallest index in ws_ops of the stretch's operations */
    size_t indices;    /* number of indices from `low` to the largest index in ws_ops of the stretch's operations */
    int64_t *launches; /* replayed time of the launch, by index in ws_ops minus `low`; INT64_MIN: not yet launched */
    struct thread_clock threads[MOST_THREADS];
    size_t thread_count;
    size_t place; /* index in ws_track.order of the next operation to replay */
    /* `done`: latest end of the operations that have ended; `running`: ends of the operations that still run */
    struct moment done, running[MOST_RUNNING];
    size_t running_count;
    bool began;
    const struct ws_step *steps;
    size_t step_count, step; /* step: index in `steps` of the next step whose first operation has not been replayed */
    /* replayed start of the first operation of each step; last entry: replayed start of the operation after the last
     * step */
    int64_t *boundaries;
    bool closes;     /* the stretch includes the operation that follows the last step */
    size_t launched; /* number of steps whose first operation has been launched in the replay */
};

/* Limits a time, because sums of lengths in a damaged trace may be outside the range of times. */
static int64_t in_range(int64_t time)
{
    return ws_clamp(time, -WS_TIME_MOST, WS_TIME_MOST);
}

/* ---- the device */

static void set_done(struct replay *replay, int64_t until)
{
    size_t kept = 0;
    for (size_t i = 0; i < replay->running_count; i++) {
        struct moment end = replay->running[i];
        if (end.recorded > until) {
            replay->running[kept++] = end;
            continue;
        }
        replay->done.recorded = ws_max(replay->done.recorded, end.recorded);
        replay->done.replayed = ws_max(replay->done.replayed, end.replayed);
    }
    replay->running_count = kept;
}

/* Did the launch call delay the operation? Yes, if the call took WAIT_LEAST or longer and the operation began after
 * the end of the call. For such a call, the time of the launch is the call's end. For other calls, it is the call's
 * start. */
static bool is_held_up(const struct ws_ops *ops, uint32_t op)
{
    return ws_op_host_length(ops, op) >= WAIT_LEAST && ws_op_begin(ops, op) > ws_op_host_end(ops, op);
}

static int64_t launch_of(const struct ws_ops *ops, uint32_t op)
{
    return is_held_up(ops, op) ? ws_op_host_end(ops, op) : ws_op_host_begin(ops, op);
}

/* Returns the replayed start of an operation. `launch` is the operation's replayed launch; INT64_MIN: the launch was
 * not recorded or not replayed. */
static int64_t replay_begin_of(const struct replay *replay, uint32_t op, int64_t launch)
{
    const struct ws_ops *ops = &replay->process->ops;
    int64_t begin = ws_op_begin(ops, op), launched = launch_of(ops, op), delay = ws_max(begin - launched, 0);
    if (!replay->began)
        return launch == INT64_MIN ? begin : ws_min(launch + delay, begin);
    int64_t gap = begin - replay->done.recorded, least = ws_min(gap, replay->dispatch);
    if (launch == INT64_MIN)
        return ws_min(replay->done.replayed + gap, begin);
    /* other operations still ran at the launch, so the delay may include a wait for them */
    if (launched < replay->done.recorded)
        delay = ws_min(delay, replay->delay);
    int64_t waited = ws_max(begin - ws_max(launched + delay, replay->done.recorded + least), 0);
    if (replay->without & WS_WITHOUT_LAUNCHES && waited < WAIT_KNOWN)
        waited = 0;
    return ws_min(ws_max(launch + delay, replay->done.replayed + least) + waited, begin);
}

/* Replays the operations that began up to time `until` in the recording. Stops earlier at an operation whose launch
 * has not been replayed yet, except if `until` is INT64_MAX. */
static void run_device(struct replay *replay, int64_t until)
{
    const struct ws_ops *ops = &replay->process->ops;
    for (; replay->place < replay->end; replay->place++) {
        uint32_t op = replay->track->order[replay->place];
        int64_t begin = ws_op_begin(ops, op), launch = INT64_MIN;
        if (begin > until)
            return;
        if (ws_op_has_call(ops, op)) {
            launch =
                ws_op_host_begin(ops, op) < replay->from ? launch_of(ops, op) : replay->launches[op - replay->low];
            if (launch == INT64_MIN && until != INT64_MAX)
                return;
        }
        set_done(replay, begin);
        int64_t begins = replay_begin_of(replay, op, launch), length = ws_op_length(ops, op);
        if (!replay->began)
            replay->done = (struct moment){ begin, begins };
        replay->began = true;
        if (replay->running_count == MOST_RUNNING)
            set_done(replay, INT64_MAX);
        replay->running[replay->running_count++] = (struct moment){ begin + length, in_range(begins + length) };
        while (replay->step < replay->step_count && replay->steps[replay->step].first <= replay->place)
            replay->boundaries[replay->step++] = begins;
        if (replay->closes && replay->place + 1 == replay->end)
            replay->boundaries[replay->step_count] = begins;
    }
}

/* ---- the host */

/* Returns the end of the event after which the thread's next event comes. Usually, the next event comes after the
 * thread's own last event. If the thread may have waited for another thread, it comes after the last event of that
 * other thread. */
static struct moment replay_last_before(const struct replay *replay, const struct thread_clock *thread, int64_t begin)
{
    struct moment last = thread->end;
    bool known = thread->began;
    if (known && begin - last.recorded < HANDOFF_LEAST)
        return last;
    for (size_t i = 0; i < replay->thread_count; i++) {
        const struct thread_clock *other = &replay->threads[i];
        if (other->began && other->end.recorded <= begin && (!known || other->end.recorded > last.recorded)) {
            last = other->end;
            known = true;
        }
    }
    return known ? last : (struct moment){ begin, begin };
}

static bool copies_to_device(const struct ws_process *process, const struct ws_host_event *event)
{
    if (event->kind != WS_HOST_OP)
        return false;
    const struct ws_shape *shape = &ws_process_shape(process, process->ops.shape[event->index])->row;
    return ws_is_host_to_device(shape);
}

/* Returns the length in the replay of the pause before the thread's next event, in ns. `from`: recorded start of the
 * pause. */
static int64_t pause_before(const struct replay *replay, const struct thread_clock *thread, int64_t from)
{
    const struct ws_host_event *event = &thread->event;
    int64_t pause = event->begin - from;
    if (pause <= 0)
        return pause;
    if (replay->without & WS_WITHOUT_INPUT) {
        const struct ws_interval_set *input = &replay->time->input[thread->cursor.thread];
        pause -= input->count ? ws_interval_set_within(input, from, event->begin) : 0;
        if (pause >= PAUSE_LEAST && copies_to_device(replay->process, event))
            pause = 0;
    }
    if (replay->without & WS_WITHOUT_LAUNCHES && pause < PAUSE_LEAST)
        pause = 0;
    return pause;
}

/* Returns the replayed end of a call that waits for the device. `begin`: replayed start of the call. */
static int64_t return_of_wait(struct replay *replay, const struct ws_host_event *event, int64_t begin)
{
    run_device(replay, event->end);
    set_done(replay, event->end);
    if (!replay->began || replay->done.recorded <= event->begin)
        return in_range(begin + (event->end - event->begin));
    return in_range(ws_max(begin, replay->done.replayed) + (event->end - replay->done.recorded));
}

static bool waits(struct replay *replay, const struct ws_host_event *event, enum ws_host_use use)
{
    if (use == WS_USE_SYNC)
        return true;
    if (event->end - event->begin < (use == WS_USE_ALLOCATION ? RETURN_MOST : WAIT_LEAST))
        return false;
    /* Freeing memory waits for the device. A launch into a full queue also waits for the device. */
    run_device(replay, event->end);
    set_done(replay, event->end);
    return replay->done.recorded > event->begin && event->end - replay->done.recorded <= RETURN_MOST;
}

/* Would this launch be unnecessary if a CUDA graph launched the whole step? */
static bool in_graph(struct replay *replay, const struct ws_host_event *event, enum ws_host_use use)
{
    if (!(replay->without & WS_WITHOUT_LAUNCHES) || use != WS_USE_LAUNCH)
        return false;
    if (event->kind != WS_HOST_OP)
        return true;
    const struct ws_ops *ops = &replay->process->ops;
    size_t step = replay->launched;
    while (step < replay->step_count &&
           ws_op_host_begin(ops, replay->track->order[replay->steps[step].first]) <= event->begin)
        step++;
    bool first = step != replay->launched;
    replay->launched = step;
    return !first;
}

static void play_event(struct replay *replay, struct thread_clock *thread)
{
    const struct ws_host_event *event = &thread->event;
    struct moment last = replay_last_before(replay, thread, event->begin);
    enum ws_host_use use = ws_host_time_use(replay->time, event);
    int64_t begin = in_range(last.replayed + pause_before(replay, thread, last.recorded)), end;
    if (thread->began && event->begin < thread->end.recorded) /* the event is a call inside another call */
        begin = ws_max(begin, thread->call);
    if (event->kind == WS_HOST_OP && event->index >= replay->low && event->index - replay->low < replay->indices)
        replay->launches[event->index - replay->low] = begin;
    if ((use == WS_USE_SYNC && replay->without & WS_WITHOUT_SYNC) ||
        (use == WS_USE_ALLOCATION && replay->without & WS_WITHOUT_ALLOCATION) || in_graph(replay, event, use))
        end = begin;
    else if (waits(replay, event, use))
        end = return_of_wait(replay, event, begin);
    else
        end = in_range(begin + (event->end - event->begin));
    if (event->kind == WS_HOST_OP && event->index >= replay->low && event->index - replay->low < replay->indices &&
        is_held_up(&replay->process->ops, event->index))
        replay->launches[event->index - replay->low] = end;
    /* A call inside another call does not change the time at which the outer call returns. */
    if (!thread->began || event->end > thread->end.recorded) {
        thread->end = (struct moment){ event->end, end };
        thread->call = begin;
    }
    thread->began = true;
    thread->waits = ws_host_next(&replay->time->host, &thread->cursor, replay->to + 1, &thread->event);
}

static void play(struct replay *replay)
{
    for (;;) {
        struct thread_clock *next = NULL;
        for (size_t i = 0; i < replay->thread_count; i++) {
            struct thread_clock *thread = &replay->threads[i];
            if (thread->waits && (!next || thread->event.begin < next->event.begin))
                next = thread;
        }
        if (!next)
            break;
        play_event(replay, next);
    }
    run_device(replay, INT64_MAX);
    set_done(replay, INT64_MAX);
}

/* ---- the stretch (the replayed part of the recording) */

/* Chooses the stretch (the part of the recording) to replay. The stretch begins with the first steady step. It ends
 * with the last steady step that keeps the stretch within MOST_OPS operations. Without steady steps, the stretch is
 * the first MOST_OPS operations. */
static void replay_choose(struct replay *replay, const struct ws_track_steps *steps)
{
    const struct ws_step *list = steps->steps.data;
    size_t first = 0;
    while (first < steps->steps.count && !ws_step_is_steady(&list[first]))
        first++;
    size_t last = first;
    replay->end = replay->track->count;
    if (first == steps->steps.count)
        goto limit;
    for (size_t i = first; i < steps->steps.count; i++)
        if (ws_step_is_steady(&list[i]) && list[i].first + list[i].count - list[first].first <= MOST_OPS)
            last = i;
    replay->first = list[first].first;
    replay->end = list[last].first + list[last].count;
    replay->steps = list + first;
    replay->step_count = last - first + 1;
    replay->closes = replay->end < replay->track->count && replay->end - replay->first < MOST_OPS &&
                     (last + 1 < steps->steps.count ||
                      ws_op_begin(&replay->process->ops, replay->track->order[replay->end]) == list[last].end);
    replay->end += replay->closes;
limit:
    if (replay->end - replay->first > MOST_OPS)
        replay->end = replay->first + MOST_OPS;
}

static struct thread_clock *replay_thread_of(struct replay *replay, uint32_t thread)
{
    for (size_t i = 0; i < replay->thread_count; i++)
        if (replay->threads[i].cursor.thread == thread)
            return &replay->threads[i];
    if (replay->thread_count == MOST_THREADS)
        return NULL;
    replay->threads[replay->thread_count].cursor.thread = thread;
    return &replay->threads[replay->thread_count++];
}

/* Finds the launching threads, and the times of the first and the last launch. Returns false if there are no
 * launches, if there are too many threads, if the operations' indices are too far apart, or if the time between the
 * first and the last launch is too long. */
static bool find_threads(struct replay *replay)
{
    const struct ws_ops *ops = &replay->process->ops;
    uint32_t high = 0;
    replay->low = UINT32_MAX;
    replay->from = INT64_MAX;
    replay->to = INT64_MIN;
    for (size_t i = replay->first; i < replay->end; i++) {
        uint32_t op = replay->track->order[i];
        if (!ws_op_has_call(ops, op))
            continue;
        if (!replay_thread_of(replay, ws_op_thread_place(ops, op)))
            return false;
        replay->low = ws_min(op, replay->low);
        high = ws_max(op, high);
        replay->to = ws_max(replay->to, ws_op_host_begin(ops, op));
        replay->from = ws_min(replay->from, ws_op_host_begin(ops, op));
    }
    replay->indices = replay->low > high ? 0 : (size_t)(high - replay->low) + 1;
    return replay->indices && replay->indices <= MOST_INDICES && replay->to - replay->from < LONGEST;
}

static int replay_prepare(struct replay *replay)
{
    replay->launches = ws_pages_alloc((replay->indices + 1) * sizeof(*replay->launches));
    replay->boundaries = calloc(replay->step_count + 1, sizeof(*replay->boundaries));
    if (!replay->launches || !replay->boundaries)
        return -ENOMEM;
    for (size_t i = 0; i < replay->indices; i++)
        replay->launches[i] = INT64_MIN;
    for (size_t i = 0; i < replay->thread_count; i++) {
        struct thread_clock *thread = &replay->threads[i];
        ws_host_seek(&replay->time->host, &thread->cursor, replay->from);
        thread->waits = ws_host_next(&replay->time->host, &thread->cursor, replay->to + 1, &thread->event);
    }
    replay->place = replay->first;
    return 0;
}

/* Returns the recorded start of the step's first operation. A step starts with the gap before this operation, but the
 * replay computes only when operations start. */
static int64_t begin_of_step(const struct replay *replay, size_t step)
{
    const struct ws_step *of = &replay->steps[step];
    return of->count ? ws_op_begin(&replay->process->ops, replay->track->order[of->first]) : of->begin;
}

/* Compares the mean recorded length of the steady steps with their mean replayed length. Leaves out the first step,
 * in which the host is not yet ahead of the device, and the last step, whose end the replay may not have. Compares
 * means, because the causes of gaps delay different steps by different amounts: a median step would not show the
 * whole saving. A step that is long for another reason makes both means longer by the same amount. */
static void compare_steps(const struct replay *replay, struct ws_replay_times *times)
{
    double recorded = 0, replayed = 0;
    size_t count = 0;
    for (size_t i = 1; i + 1 < replay->step_count; i++) {
        if (!ws_step_is_steady(&replay->steps[i]))
            continue;
        recorded += (double)(begin_of_step(replay, i + 1) - begin_of_step(replay, i));
        replayed += (double)(replay->boundaries[i + 1] - replay->boundaries[i]);
        count++;
    }
    if (count)
        *times = (struct ws_replay_times){ (int64_t)(recorded / (double)count), (int64_t)(replayed / (double)count),
                                           count };
}

/* Called if there are fewer than STEPS_LEAST steps. Compares the recorded length of the whole stretch (the replayed
 * part of the recording) with its replayed length. The stretch begins with an operation, so it lacks the gap before
 * this operation, which belongs to the first step. If an operation follows the last step, the gap before that
 * operation is replayed instead. If no operation follows, the first gap is missing from the comparison. With
 * WS_WITHOUT_INPUT, the wait for input in this gap (lead_input) then counts as saved. */
static void compare_stretch(const struct replay *replay, const struct ws_track_causes *causes,
                            struct ws_replay_times *times)
{
    const struct ws_ops *ops = &replay->process->ops;
    int64_t begin = ws_op_begin(ops, replay->track->order[replay->first]), steps = 0;
    int64_t recorded = replay->done.recorded - begin, replayed = replay->done.replayed - begin;
    if (replay->closes) {
        recorded = ws_op_begin(ops, replay->track->order[replay->end - 1]) - begin;
        replayed = replay->boundaries[replay->step_count] - replay->boundaries[0];
    } else if (replay->without & WS_WITHOUT_INPUT) {
        recorded += causes->lead_input;
    }
    for (size_t i = 0; i < replay->step_count; i++)
        steps += ws_step_is_steady(&replay->steps[i]);
    *times = (struct ws_replay_times){ recorded, replayed, (size_t)steps };
    if (steps) {
        times->recorded /= steps;
        times->replayed /= steps;
    }
}

static void replay_compare(const struct replay *replay, const struct ws_track_causes *causes,
                           struct ws_replay_times *times)
{
    if (replay->step_count >= STEPS_LEAST)
        compare_steps(replay, times);
    else
        compare_stretch(replay, causes, times);
}

int ws_replay(const struct ws_report *report, size_t subject, unsigned without, struct ws_replay_times *times)
{
    const struct ws_track *track = ws_model_track(report->model, subject);
    const struct ws_track_causes *causes = ws_report_result(report, &ws_analysis_causes, subject);
    const struct ws_gap_total *dispatch = &causes->totals[WS_PART_DISPATCH];
    struct replay *replay = calloc(1, sizeof(*replay));
    *times = (struct ws_replay_times){ 0 };
    if (!replay)
        return -ENOMEM;
    *replay = (struct replay){
        .track = track,
        .process = ws_model_process(report->model, track->process),
        .time = ws_report_result(report, &ws_analysis_host_time, track->process),
        .without = without,
        .delay = causes->launch_delay,
        .dispatch = without & WS_WITHOUT_LAUNCHES ? WS_GRAPH_NODE
                    : dispatch->count             ? ws_min(dispatch->total / (int64_t)dispatch->count, DISPATCH_MOST)
                                                  : DISPATCH,
    };
    replay_choose(replay, ws_report_result(report, &ws_analysis_steps, subject));
    int status = 0;
    if (track->aligned && find_threads(replay)) {
        status = replay_prepare(replay);
        if (!status) {
            play(replay);
            replay_compare(replay, causes, times);
        }
    }
    free(replay->launches);
    free(replay->boundaries);
    free(replay);
    return status;
}
