#include "analysis/gaps/gaps.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/activity/activity.h"
#include "analysis/activity/host_time.h"
#include "analysis/gaps/gap_lines.h"
#include "analysis/steps/steps.h"
#include "base/minmax.h"
#include "base/pages.h"

/* Times in ns. gaps.h explains the limits that have no comment here. */
enum {
    DISPATCH_MOST = 20000,
    PAUSE_SHORT = 100000,
    LAUNCH_DELAY = 8000,       /* assumed, if too few launches found the device idle */
    LAUNCH_DELAY_MOST = 30000, /* larger values are not launch delays */
    SAMPLES = 4096,
    SAMPLES_LEAST = 8,
    SYNC_SHARE = 4, /* divisor: calls that take 1/4 of the lateness make the cause sync or allocation */
};

struct answer {
    enum ws_part cause;
    uint32_t thread;           /* index in ws_ops.threads: the thread that caused the gap */
    int64_t time;              /* host time at which the thread caused it; INT64_MIN: not known */
    uint32_t function;         /* the function that the thread called then; 0: none */
    int64_t debt;              /* ns of the cause's delay of the host that are left after this gap */
    bool late;                 /* the host was late */
    struct ws_gap_total *also; /* a second total that counts the gap (hostless, within_error); may be NULL */
};

struct finder {
    const struct ws_report *report;
    const struct ws_track *track;
    const struct ws_process *process;
    const struct ws_host_time *time;
    struct ws_host_cursor *cursors; /* by thread */
    struct ws_track_causes *result;
    struct answer debtor; /* the last answer with a debt; later gaps reduce the debt */
};

/* A gap, with all that its cause depends on. */
struct question {
    uint32_t before, after; /* operations */
    int64_t begin, end;     /* of the gap */
    int64_t launch;         /* begin of the call that launched `after`, but not later than `end` */
    int64_t error;          /* error of the gap's length, ns */
};

static struct question question_of(const struct finder *finder, const struct ws_gap *gap)
{
    const struct ws_ops *ops = &finder->process->ops;
    return (struct question){
        .before = gap->before,
        .after = gap->after,
        .begin = gap->begin,
        .end = gap->end,
        .launch = ws_min(ws_op_host_begin(ops, gap->after), gap->end), /* the call is later only if clocks are off */
        .error = ws_op_end_error(ops, gap->before) + ws_op_begin_error(ops, gap->after),
    };
}

static const struct ws_shape *gap_causes_shape_of(const struct finder *finder, uint32_t op)
{
    return &ws_process_shape(finder->process, finder->process->ops.shape[op])->row;
}

static bool is_comm(const struct finder *finder, uint32_t op)
{
    return ws_report_group(finder->report, ws_process_shape(finder->process, finder->process->ops.shape[op])->name) ==
           WS_GROUP_COMM;
}

/* Measures the delay from a launch call to the begin on an idle device. It is the median over kernels that were
 * certainly launched while the device was idle. If there are too few such kernels, it is the 5th percentile over all
 * kernels that ended a gap. If that gives no plausible delay, it is LAUNCH_DELAY. */
static int measure_launch_delay(struct finder *finder, const struct ws_track_activity *activity)
{
    int64_t *late = malloc(2 * SAMPLES * sizeof(*late));
    size_t late_count = 0, count = 0, stride = activity->gaps.count / SAMPLES + 1;
    if (!late)
        return -ENOMEM;
    int64_t *all = late + SAMPLES;
    struct ws_gap_walk walk = ws_gap_walk(&activity->gaps, 0);
    for (struct ws_gap gap; count < SAMPLES && ws_gap_next(&walk, &gap); ws_gap_skip(&walk, stride - 1)) {
        struct question question = question_of(finder, &gap);
        if (!ws_op_has_call(&finder->process->ops, question.after) ||
            gap_causes_shape_of(finder, question.after)->kind != WS_OP_KERNEL)
            continue;
        all[count++] = question.end - question.launch;
        if (question.launch > question.begin + question.error + finder->track->clock_error)
            late[late_count++] = question.end - question.launch;
    }
    qsort(late, late_count, sizeof(*late), ws_ascending);
    qsort(all, count, sizeof(*all), ws_ascending);
    int64_t delay = LAUNCH_DELAY;
    if (late_count >= SAMPLES_LEAST)
        delay = late[late_count / 2];
    else if (count >= SAMPLES_LEAST && all[count / 20] < LAUNCH_DELAY_MOST)
        delay = all[count / 20];
    finder->result->launch_delay = ws_min(ws_max(delay, 0), LAUNCH_DELAY_MOST);
    free(late);
    return 0;
}

/* Are both operations nodes of a graph that one call launched? */
static bool same_call(const struct finder *finder, const struct question *question)
{
    const struct ws_ops *ops = &finder->process->ops;
    return question->launch <= question->begin && ws_op_host_begin(ops, question->before) == question->launch &&
           ws_op_thread_place(ops, question->before) == ws_op_thread_place(ops, question->after);
}

/* The cause if the host was not late. */
static enum ws_part cause_on_device(const struct finder *finder, const struct question *question)
{
    if (gap_causes_shape_of(finder, question->before)->stream !=
            gap_causes_shape_of(finder, question->after)->stream &&
        (is_comm(finder, question->before) || is_comm(finder, question->after)))
        return WS_PART_COMM_WAIT;
    return question->end - question->begin <= DISPATCH_MOST ? WS_PART_DISPATCH : WS_PART_WAIT;
}

/* Reads what the launching thread did from the begin of the gap to the launch. If it was mostly outside calls, and
 * the thread that launched the operation before the gap was outside calls for less than half of that time, reads that
 * thread instead. Returns the thread that was read. */
static uint32_t gap_causes_window(const struct finder *finder, const struct question *question,
                                  struct ws_host_window *window)
{
    const struct ws_ops *ops = &finder->process->ops;
    uint32_t thread = ws_op_thread_place(ops, question->after), other = ws_op_thread_place(ops, question->before);
    int64_t slack = finder->track->clock_error;
    ws_host_time_window(finder->time, &finder->cursors[thread], question->begin, question->launch, slack, window);
    if (other == thread || !ws_op_has_call(ops, question->before) ||
        2 * window->used[WS_USE_OWN] < question->launch - question->begin)
        return thread;
    struct ws_host_window second;
    ws_host_time_window(finder->time, &finder->cursors[other], question->begin, question->launch, slack, &second);
    if (2 * second.used[WS_USE_OWN] >= window->used[WS_USE_OWN])
        return thread;
    *window = second;
    return other;
}

static const enum ws_part part_of_use[WS_USE_COUNT] = {
    [WS_USE_SYNC] = WS_PART_SYNC,     [WS_USE_ALLOCATION] = WS_PART_ALLOCATION, [WS_USE_COMM] = WS_PART_COMM_WAIT,
    [WS_USE_LAUNCH] = WS_PART_LAUNCH, [WS_USE_INPUT] = WS_PART_INPUT,           [WS_USE_OWN] = WS_PART_LAUNCH,
};

/* Was the thread in a range at this time, so that the trace says what it did? A step marker does not count, as it
 * covers everything. */
static bool was_at_work(const struct finder *finder, uint32_t thread, int64_t time)
{
    const struct ws_process *process = finder->process;
    const struct ws_ranges *ranges = &process->ranges;
    uint32_t place = ws_ranges_at(ranges, ((const uint32_t *)process->ops.threads.data)[thread], time);
    return place != WS_NO_RANGE && ws_range(ranges, place)->kind != WS_RANGE_STEP;
}

/* The cause if the launching thread was mostly outside calls, and not in the range of a data loader. Sets *thread to
 * the thread that caused the gap. */
static enum ws_part cause_of_pause(const struct finder *finder, const struct question *question,
                                   const struct ws_host_window *window, uint32_t *thread)
{
    const struct ws_host_event *pause = &window->longest[WS_USE_OWN].event;
    int64_t middle = pause->begin + (pause->end - pause->begin) / 2;
    uint32_t other = ws_op_thread_place(&finder->process->ops, question->before);
    if (window->used[WS_USE_OWN] / (window->calls + 1) < PAUSE_SHORT || was_at_work(finder, *thread, middle))
        return WS_PART_LAUNCH;
    if (ws_is_host_to_device(gap_causes_shape_of(finder, question->after)))
        return WS_PART_INPUT;
    if (!was_at_work(finder, other, middle))
        return WS_PART_UNEXPLAINED;
    *thread = other;
    return WS_PART_LAUNCH;
}

/* The cause if the host was late: what the launching thread mostly did instead of launching. */
static struct answer cause_on_host(const struct finder *finder, const struct question *question)
{
    struct ws_host_window window;
    uint32_t thread = gap_causes_window(finder, question, &window);
    int64_t length = question->launch - question->begin;
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
    struct answer answer = {
        .cause = most == WS_USE_OWN ? pause : part_of_use[most],
        .thread = thread,
        .time = question->launch,
        .debt = most == waited ? ws_max(window.whole[most] - (question->end - question->begin), 0) : 0,
    };
    bool paused = most == WS_USE_OWN && window.longest[most].length >= PAUSE_SHORT;
    if ((answer.cause != WS_PART_LAUNCH || paused) && window.longest[most].length) {
        const struct ws_host_event *event = &window.longest[most].event;
        bool call = most != WS_USE_INPUT && most != WS_USE_OWN;
        answer.time = call ? event->begin : event->begin + (event->end - event->begin) / 2;
        answer.function = call ? ws_host_event_function(finder->process, event) : 0;
    }
    return answer;
}

/* Did the operation begin as soon as its launch reached the device? */
static bool began_at_once(const struct finder *finder, const struct question *question)
{
    return question->end - question->launch <=
           finder->result->launch_delay * 3 / 2 + ws_op_begin_error(&finder->process->ops, question->after);
}

static struct answer cause_of_gap(struct finder *finder, const struct question *question)
{
    const struct ws_ops *ops = &finder->process->ops;
    struct ws_track_causes *result = finder->result;
    struct answer answer = { .cause = WS_PART_UNEXPLAINED,
                             .thread = ws_op_thread_place(ops, question->after),
                             .time = INT64_MIN };
    int64_t length = question->end - question->begin;
    if (!finder->track->aligned || !ws_op_has_call(ops, question->after)) {
        answer.also = &result->hostless;
        return answer;
    }
    /* Reading hardware counters delayed the host here, so the program did not cause the gap. */
    if (ws_op_is_counted(ops, question->before) || ws_op_is_counted(ops, question->after))
        return answer;
    if (same_call(finder, question)) {
        answer.cause = cause_on_device(finder, question);
        return answer;
    }
    if (question->launch > question->begin) {
        answer = cause_on_host(finder, question);
        answer.late = true;
    } else if (began_at_once(finder, question)) {
        answer.cause = WS_PART_LAUNCH;
        answer.time = question->launch;
        answer.late = true;
    } else if (length <= question->error) {
        answer.cause = length <= DISPATCH_MOST ? WS_PART_DISPATCH : WS_PART_UNEXPLAINED;
    } else {
        answer.cause = cause_on_device(finder, question);
        answer.time = question->launch;
    }
    if (length <= question->error)
        answer.also = &result->within_error;
    return answer;
}

/* A sync or an allocation may delay the host for longer than the gap that it caused. The rest of the delay is its
 * debt. A later gap gets the same cause if the host was late for no other known reason, and if the gap is no longer
 * than twice the debt. The gap's length is taken off the debt. */
static void gap_causes_charge_debt(struct finder *finder, struct answer *answer, int64_t length)
{
    struct answer *debtor = &finder->debtor;
    if (answer->debt) {
        *debtor = *answer;
    } else if (answer->late && (answer->cause == WS_PART_LAUNCH || answer->cause == WS_PART_UNEXPLAINED) &&
               debtor->debt > 0 && 2 * debtor->debt >= length) {
        debtor->debt = ws_max(debtor->debt - length, 0);
        debtor->also = answer->also;
        *answer = *debtor;
    }
}

static void gap_causes_count(struct ws_gap_total *total, int64_t length, bool steady)
{
    total->count++;
    total->total += length;
    total->steady_count += steady;
    total->steady += steady ? length : 0;
}

/* Notes the line of the gap that the operation at index `place` ended. Begins a new run if it differs from the line
 * of the gap before. */
static void note_line(struct ws_track_causes *result, size_t place, uint32_t line)
{
    if (result->run_count && result->run_lines[result->run_count - 1] == line)
        return;
    if (result->run_count)
        result->turns[place / 64] |= 1ULL << place % 64;
    result->run_lines[result->run_count++] = line;
}

/* Adds up totals by cause. Each gap has one line and the cause of that line. */
static void sum_lines(struct ws_track_causes *result)
{
    const struct ws_gap_line *lines = result->lines.data;
    for (size_t i = 0; i < result->lines.count; i++) {
        struct ws_gap_total *total = &result->totals[lines[i].cause];
        total->count += lines[i].gaps.count;
        total->total += lines[i].gaps.total;
        total->steady_count += lines[i].gaps.steady_count;
        total->steady += lines[i].gaps.steady;
    }
}

static int find_causes(struct finder *finder, const struct ws_track_activity *activity,
                       const struct ws_track_steps *steps)
{
    struct ws_track_causes *result = finder->result;
    struct ws_gap_lines lines;
    struct ws_steady_walk steady_walk = ws_steady_walk(steps);
    int status = ws_gap_lines_init(&lines, finder->process, &result->lines);
    struct ws_gap_walk walk = ws_gap_walk(&activity->gaps, 0);
    for (struct ws_gap gap; !status && ws_gap_next(&walk, &gap);) {
        struct question question = question_of(finder, &gap);
        struct answer found = cause_of_gap(finder, &question);
        int64_t length = question.end - question.begin;
        bool steady = ws_steady_at(&steady_walk, question.begin);
        gap_causes_charge_debt(finder, &found, length);
        if (found.also)
            gap_causes_count(found.also, length, steady);
        struct ws_gap_line *line = ws_gap_lines_put(&lines, found.cause, found.thread, found.time, found.function);
        if (line) {
            gap_causes_count(&line->gaps, length, steady);
            line->longest = ws_max(line->longest, length);
            note_line(result, gap.place, (uint32_t)(line - (struct ws_gap_line *)result->lines.data));
        } else {
            status = -ENOMEM;
        }
    }
    ws_gap_lines_finish(&lines);
    sum_lines(result);
    return status ? status : ws_gap_lines_sort(result);
}

static int gap_causes_run(const struct ws_report *report, size_t subject, void *memory)
{
    const struct ws_track *track = ws_model_track(report->model, subject);
    const struct ws_track_activity *activity = ws_report_result(report, &ws_analysis_activity, subject);
    const struct ws_track_steps *steps = ws_report_result(report, &ws_analysis_steps, subject);
    struct ws_track_causes *result = memory;
    struct finder finder = {
        .report = report,
        .track = track,
        .process = ws_model_process(report->model, track->process),
        .time = ws_report_result(report, &ws_analysis_host_time, track->process),
        .result = result,
    };
    result->lines = WS_VECTOR(struct ws_gap_line);
    result->per_step = steps->kinds[WS_STEP_STEADY] > 0;
    result->places = track->count;
    result->turns = calloc(track->count / 64 + 1, sizeof(*result->turns));
    result->run_lines = ws_pages_alloc((activity->gaps.count + 1) * sizeof(*result->run_lines));
    finder.cursors = calloc(finder.time->host.thread_count + 1, sizeof(*finder.cursors));
    int status = result->turns && result->run_lines && finder.cursors ? 0 : -ENOMEM;
    for (size_t i = 0; i < finder.time->host.thread_count && !status; i++)
        finder.cursors[i].thread = i;
    if (!status)
        status = measure_launch_delay(&finder, activity);
    if (!status)
        status = find_causes(&finder, activity, steps);
    free(finder.cursors);
    return status;
}

static void gap_causes_finish(void *memory)
{
    struct ws_track_causes *result = memory;
    ws_vector_finish(&result->lines);
    free(result->turns);
    free(result->run_lines);
}

const struct ws_analysis ws_analysis_causes = {
    .name = "causes",
    .scope = WS_SCOPE_TRACK,
    .result_size = sizeof(struct ws_track_causes),
    .needs = { &ws_analysis_activity, &ws_analysis_steps, &ws_analysis_host_time },
    .run = gap_causes_run,
    .finish = gap_causes_finish,
};
