#include "analysis/gaps/gaps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/activity/activity.h"
#include "analysis/activity/host_time.h"
#include "analysis/activity/recorded.h"
#include "analysis/activity/stream_order.h"
#include "analysis/gaps/gap_finder.h"
#include "analysis/gaps/gap_lines.h"
#include "analysis/gaps/gap_waits.h"
#include "analysis/steps/steps.h"
#include "base/minmax.h"
#include "base/pages.h"

/* Times in ns. SAMPLES: the launch delay is measured on at most this many kernels. SAMPLES_LEAST: fewer kernels are
 * too few to measure it. */
enum {
    /* launch delay that is assumed if it cannot be measured */
    LAUNCH_DELAY = 8000,
    /* longest plausible launch delay; if an operation starts later than this after its launch, it waited for other
     * work */
    LAUNCH_DELAY_MOST = 30000,
    /* upper limit of ws_gap_finder.reach; it is this high because some drivers (WDDM) collect several launches before
     * they submit them to the device */
    REACH_MOST = 1000000,
    SAMPLES = 4096,
    SAMPLES_LEAST = 8,
    /* The trace is assumed to hold only a sample of the operations if two conditions are met. First: the median
     * difference between the correlation ids of consecutive calls is above FAR_APART. Second: more than
     * 1/SAMPLED_SHARE of the idle time has the cause `unrecorded`. */
    FAR_APART = 25,
    SAMPLED_SHARE = 10,
};

static const struct ws_shape *gap_causes_shape_of(const struct ws_gap_finder *finder, uint32_t op)
{
    return &ws_process_shape(finder->process, finder->process->ops.shape[op])->row;
}

static bool is_comm(const struct ws_gap_finder *finder, uint32_t op)
{
    return ws_report_group(finder->report, ws_process_shape(finder->process, finder->process->ops.shape[op])->name) ==
           WS_GROUP_COMM;
}

/* Did one call launch both operations, before and after the gap? If so, they are nodes of a CUDA graph. */
static bool same_call(const struct ws_ops *ops, const struct ws_gap *gap)
{
    int64_t launch = ws_op_host_begin(ops, gap->after);
    return launch <= gap->begin && ws_op_host_begin(ops, gap->before) == launch &&
           ws_op_thread_place(ops, gap->before) == ws_op_thread_place(ops, gap->after);
}

static struct ws_gap_question question_of(const struct ws_gap_finder *finder, const struct ws_gap *gap)
{
    const struct ws_ops *ops = &finder->process->ops;
    struct ws_gap_question question = {
        .before = gap->before,
        .after = gap->after,
        .begin = gap->begin,
        .end = gap->end,
        /* a launch call cannot begin after its operation; if it seems to, the clocks of host and device differ */
        .launch = ws_min(ws_op_host_begin(ops, gap->after), gap->end),
        .ready = gap->begin,
        .error = ws_op_end_error(ops, gap->before) + ws_op_begin_error(ops, gap->after),
        .is_node = same_call(ops, gap),
        .was_before = ws_launched_before(finder->recorded, ops, gap->after),
    };
    if (!question.was_before && ws_op_host_end(ops, gap->after) > gap->begin)
        question.ready = ws_clamp(ws_op_queued_from(finder->process, gap->after), gap->begin, gap->end);
    bool is_long_call = question.ready - question.launch > WS_DISPATCH_MOST;
    question.until = is_long_call || question.launch <= gap->begin ? question.ready : question.launch;
    return question;
}

/* Measures the delay from a launch call to the start of the operation on an idle device. The delay is the median over
 * kernels that were certainly launched while the device was idle. If there are too few such kernels, the delay is the
 * 5th percentile over all kernels that ended a gap. The delay is LAUNCH_DELAY if this percentile is not plausible
 * (LAUNCH_DELAY_MOST or more), or if there are too few kernels in all. */
static int measure_launch_delay(struct ws_gap_finder *finder, const struct ws_track_activity *activity)
{
    int64_t *late = malloc(2 * SAMPLES * sizeof(*late));
    size_t late_count = 0, count = 0, stride = activity->gaps.count / SAMPLES + 1;
    if (!late)
        return -ENOMEM;
    int64_t *all = late + SAMPLES;
    struct ws_gap_walk walk = ws_gap_walk(&activity->gaps, 0);
    for (struct ws_gap gap; count < SAMPLES && ws_gap_next(&walk, &gap); ws_gap_skip(&walk, stride - 1)) {
        struct ws_gap_question question = question_of(finder, &gap);
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
    finder->reach = WS_DISPATCH_MOST;
    if (late_count >= SAMPLES_LEAST) {
        delay = late[late_count / 2];
        finder->reach = ws_clamp(delay * 3 / 2, WS_DISPATCH_MOST, REACH_MOST);
    } else if (count >= SAMPLES_LEAST && all[count / 20] < LAUNCH_DELAY_MOST) {
        delay = all[count / 20];
    }
    finder->result->launch_delay = ws_min(ws_max(delay, 0), LAUNCH_DELAY_MOST);
    free(late);
    return 0;
}

/* Finds the cause of the last `length` ns of a gap. In this time, the operation after the gap was already queued. */
static enum ws_part cause_on_device(struct ws_gap_finder *finder, const struct ws_gap *gap, int64_t length)
{
    bool whole = finder->recorded->whole, is_short = length <= (whole ? WS_DISPATCH_MOST : finder->reach);
    if ((is_short || whole) &&
        gap_causes_shape_of(finder, gap->before)->stream != gap_causes_shape_of(finder, gap->after)->stream &&
        (is_comm(finder, gap->before) || is_comm(finder, gap->after)))
        return WS_PART_COMM_WAIT;
    if (is_short)
        return WS_PART_DISPATCH;
    if (whole || ws_gap_wait_is_shown(finder->report, finder->subject, gap, &finder->steps))
        return WS_PART_WAIT;
    return WS_PART_UNRECORDED;
}

/* Did the operation begin as soon as its launch reached the device? */
static bool began_at_once(const struct ws_gap_finder *finder, const struct ws_gap_question *question)
{
    int64_t delay = finder->result->launch_delay * 3 / 2;
    if (finder->reach > WS_DISPATCH_MOST)
        delay = ws_max(delay, finder->reach);
    return question->end - question->launch <= delay + ws_op_begin_error(&finder->process->ops, question->after);
}

/* Did the gap arise because the host launched the next operation too late? gaps.h lists the three cases. */
static bool was_late(const struct ws_gap_finder *finder, const struct ws_gap_question *question)
{
    if (question->ready > question->begin && question->end - question->begin > WS_DISPATCH_MOST)
        return true;
    return !question->is_node && !question->was_before &&
           (question->launch > question->begin || began_at_once(finder, question));
}

/* May the device have run operations in the gap that the trace lacks? The answer is yes if the trace holds only a
 * sample of the operations. It is also yes if the trace lacks the operation of some launch, and this launch lies
 * between the launches of the two operations at the gap's ends. It is always no for a gap of at most 20 µs. */
static bool may_have_run(const struct ws_gap_finder *finder, const struct ws_gap_question *question)
{
    const struct ws_ops *ops = &finder->process->ops;
    if (question->end - question->begin <= WS_DISPATCH_MOST)
        return false;
    return finder->result->is_sampled ||
           (finder->recorded->alone.count && ws_op_has_call(ops, question->before) &&
            ws_lacks_launch(finder->recorded, ws_op_host_begin(ops, question->before), question->launch));
}

static struct ws_gap_answer cause_of_gap(struct ws_gap_finder *finder, const struct ws_gap *gap,
                                         const struct ws_gap_question *question)
{
    const struct ws_ops *ops = &finder->process->ops;
    struct ws_track_causes *result = finder->result;
    struct ws_gap_answer answer = { .cause = WS_PART_UNEXPLAINED,
                                    .thread = ws_op_thread_place(ops, question->after),
                                    .time = INT64_MIN };
    int64_t length = question->end - question->begin, queued = question->end - question->ready;
    if (!finder->track->aligned || !(ws_op_has_call(ops, question->after) || question->was_before)) {
        answer.also = &result->hostless;
        return answer;
    }
    /* Wallshim delayed the host at an operation next to the gap to read hardware counters, so the program did not
     * cause the gap. */
    if (ws_op_is_counted(ops, question->before) || ws_op_is_counted(ops, question->after))
        return answer;
    answer.time = question->launch;
    if (may_have_run(finder, question)) {
        answer.cause = WS_PART_UNRECORDED;
    } else if (was_late(finder, question)) {
        answer.cause = WS_PART_LAUNCH;
        if (question->until > question->begin)
            answer = ws_gap_late_cause(finder, question);
        answer.late = true;
        answer.queued = queued > finder->reach + question->error + finder->track->clock_error ? queued : 0;
    } else if (length <= question->error && !question->is_node && !question->was_before) {
        answer.cause = length <= WS_DISPATCH_MOST ? WS_PART_DISPATCH : WS_PART_UNEXPLAINED;
    } else {
        answer.cause = cause_on_device(finder, gap, length);
    }
    if (question->was_before)
        answer.also = &result->hostless;
    else if (length <= question->error && !question->is_node)
        answer.also = &result->within_error;
    return answer;
}

/* A sync or an allocation may delay the host for longer than the gap that it caused. The rest of the delay is called
 * a debt. The debt explains later gaps in which the host was late and whose cause would be `launch` or `unexplained`:
 * they get the cause of the gap with the debt. A later gap gets this cause only if it is at most twice as long as the
 * debt. The length of that gap is then subtracted from the debt. */
static void gap_causes_charge_debt(struct ws_gap_finder *finder, struct ws_gap_answer *answer, int64_t length)
{
    struct ws_gap_answer *debtor = &finder->debtor;
    if (answer->debt) {
        *debtor = *answer;
        /* later gaps do not contain the call that caused the debt, so the call's length must not count for them */
        debtor->call = debtor->in_call = 0;
    } else if (answer->late && (answer->cause == WS_PART_LAUNCH || answer->cause == WS_PART_UNEXPLAINED) &&
               debtor->debt > 0 && 2 * debtor->debt >= length) {
        debtor->debt = ws_max(debtor->debt - length, 0);
        debtor->also = answer->also;
        *answer = *debtor;
    }
}

/* Adds a gap to a total. `length`: ns of the gap. `steady`: ns of the gap that lie in steady steps. */
static void gap_causes_count(struct ws_gap_total *total, int64_t length, int64_t steady)
{
    total->count++;
    total->total += length;
    total->steady_count += steady > 0;
    total->steady += steady;
}

/* Stores the line of the gap that ended with the operation at index `place` of the track's order. A line is all gaps
 * of one cause and one place in the program. Consecutive gaps with the same line share one entry, called a run. If
 * the previous gap had another line, begins a new run. */
static void note_line(struct ws_track_causes *result, size_t place, uint32_t line)
{
    if (result->run_count && result->run_lines[result->run_count - 1] == line)
        return;
    if (result->run_count)
        result->turns[place / 64] |= 1ULL << place % 64;
    result->run_lines[result->run_count++] = line;
}

/* Adds the gaps of each line (gaps of one cause and one place in the program) to the total of the line's cause. */
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

/* Counts a gap of cause `unrecorded` in the total `in_graphs` if the operation after the gap belongs to a CUDA
 * graph. */
static void note_graph(struct ws_gap_finder *finder, uint32_t after, int64_t length, int64_t steady)
{
    const struct ws_process *process = finder->process;
    if (!ws_op_has_call(&process->ops, after) ||
        !ws_launches_graph(process, gap_causes_shape_of(finder, after)->driver_function))
        return;
    int64_t launch = ws_op_host_begin(&process->ops, after);
    finder->result->graph_launches += launch != finder->graph;
    finder->graph = launch;
    gap_causes_count(&finder->result->in_graphs, length, steady);
}

static void note_call(struct ws_gap_calls *calls, const struct ws_gap_answer *answer, int64_t length)
{
    calls->count += answer->call > 0;
    calls->length = ws_sum(calls->length, answer->call);
    calls->inside = ws_sum(calls->inside, answer->in_call);
    calls->gaps += length;
}

/* Adds a piece of a gap to its line (all gap pieces of one cause and one place in the program). Returns the line's
 * index in ws_track_causes.lines, + 1; 0 if memory runs out. */
static size_t add_piece(struct ws_gap_finder *finder, struct ws_gap_lines *lines, const struct ws_gap_answer *answer,
                        const struct ws_gap_question *question, int64_t length, int64_t steady)
{
    struct ws_gap_line *line =
        ws_gap_lines_put(lines, answer->cause, answer->thread, answer->time, answer->reach, answer->function);
    if (!line)
        return 0;
    gap_causes_count(&line->gaps, length, steady);
    note_call(&line->calls, answer, length);
    line->longest = ws_max(line->longest, length);
    if (answer->cause == WS_PART_UNRECORDED)
        note_graph(finder, question->after, length, steady);
    return (size_t)(line - (struct ws_gap_line *)finder->result->lines.data) + 1;
}

/* Does a step begin between `begin` and `end`? Successive calls must have ascending values of `begin`. */
static bool opens_step(struct ws_gap_finder *finder, int64_t begin, int64_t end)
{
    const struct ws_step *list = finder->step_list->steps.data;
    size_t count = finder->step_list->steps.count;
    while (finder->step < count && list[finder->step].begin < begin)
        finder->step++;
    return finder->step < count && list[finder->step].begin <= end;
}

/* If this gap is the wait for input before the first operation of the first steady step, stores the part of the gap
 * that lies in steady steps. A replay of fewer than four steps needs this length (compare_stretch in replay.c). */
static void note_lead(struct ws_gap_finder *finder, const struct ws_gap_question *question, enum ws_part cause,
                      int64_t steady)
{
    const struct ws_step *first = finder->first_steady;
    if (first && question->opens && steady && cause == WS_PART_INPUT && first->begin >= question->begin &&
        first->begin < question->end)
        finder->result->lead_input = steady;
}

/* Finds the cause of idle time from `begin` to `end` at an edge of the recording. A step may begin before the
 * device's first operation, or end after its last operation. `op` is this first or last operation. This idle time
 * counts only in figures of steps, because it is outside the time span of the device's operations. */
static int find_edge(struct ws_gap_finder *finder, struct ws_gap_lines *lines, uint32_t op, int64_t begin,
                     int64_t end, bool last)
{
    struct ws_steady_walk walk = ws_steady_walk(finder->step_list);
    int64_t steady = begin < end ? ws_steady_part(&walk, begin, end) : 0;
    if (!steady)
        return 0;
    struct ws_gap gap = { .begin = begin, .end = end, .before = op, .after = op };
    struct ws_gap_question question = question_of(finder, &gap);
    question.is_node = false;
    question.opens = !last;
    question.ends_step = last;
    if (last)
        question.launch = question.ready = question.until = end;
    struct ws_gap_answer found = { .cause = WS_PART_UNEXPLAINED,
                                   .thread = ws_op_thread_place(&finder->process->ops, op),
                                   .time = INT64_MIN };
    if (finder->track->aligned && was_late(finder, &question))
        found = cause_of_gap(finder, &gap, &question);
    struct ws_gap_line *line =
        ws_gap_lines_put(lines, found.cause, found.thread, found.time, found.reach, found.function);
    if (!line)
        return -ENOMEM;
    line->gaps.steady_count++;
    line->gaps.steady += steady;
    note_call(&line->calls, &found, end - begin);
    line->longest = ws_max(line->longest, end - begin);
    finder->result->edges[last] = (struct ws_edge_gap){ begin, end, steady, found.cause };
    note_lead(finder, &question, found.cause, steady);
    return 0;
}

static int find_edges(struct ws_gap_finder *finder, struct ws_gap_lines *lines,
                      const struct ws_track_activity *activity)
{
    const struct ws_step *list = finder->step_list->steps.data;
    const struct ws_track *track = finder->track;
    if (!finder->result->per_step || !track->count)
        return 0;
    int status = find_edge(finder, lines, track->order[0], list[0].begin, activity->begin, false);
    int64_t end = list[finder->step_list->steps.count - 1].end;
    return status ? status : find_edge(finder, lines, track->order[track->count - 1], activity->end, end, true);
}

/* Finds the cause of a gap. If the operation after the gap was queued long before it began, the part of the gap in
 * which it was queued gets a cause of its own. */
static int find_cause(struct ws_gap_finder *finder, struct ws_gap_lines *lines, const struct ws_gap *gap,
                      struct ws_steady_walk *walk)
{
    struct ws_gap_question question = question_of(finder, gap);
    question.opens = opens_step(finder, gap->begin, gap->end);
    struct ws_gap_answer found = cause_of_gap(finder, gap, &question);
    int64_t length = ws_gap_length(gap), queued = found.queued;
    int64_t steady = ws_steady_part(walk, gap->begin, gap->end - queued);
    int64_t steady_queued = queued ? ws_steady_part(walk, gap->end - queued, gap->end) : 0;
    gap_causes_charge_debt(finder, &found, length - queued);
    if (found.also)
        gap_causes_count(found.also, length, steady + steady_queued);
    note_lead(finder, &question, found.cause, steady);
    size_t line = add_piece(finder, lines, &found, &question, length - queued, steady);
    if (line && queued) {
        struct ws_gap_answer rest = { .cause = cause_on_device(finder, gap, queued),
                                      .thread = ws_op_thread_place(&finder->process->ops, gap->after),
                                      .time = question.launch };
        size_t other = add_piece(finder, lines, &rest, &question, queued, steady_queued);
        line = !other || queued > length / 2 ? other : line;
    }
    if (!line)
        return -ENOMEM;
    note_line(finder->result, gap->place, (uint32_t)line - 1);
    return 0;
}

static int find_causes(struct ws_gap_finder *finder, const struct ws_track_activity *activity)
{
    struct ws_gap_lines lines;
    struct ws_steady_walk steady_walk = ws_steady_walk(finder->step_list);
    int status = ws_gap_lines_init(&lines, finder->process, &finder->result->lines);
    if (!status)
        status = find_edges(finder, &lines, activity);
    struct ws_gap_walk walk = ws_gap_walk(&activity->gaps, 0);
    for (struct ws_gap gap; !status && ws_gap_next(&walk, &gap);)
        status = find_cause(finder, &lines, &gap, &steady_walk);
    ws_gap_lines_finish(&lines);
    sum_lines(finder->result);
    return status;
}

/* Decides whether the trace holds only a sample of the operations. It does if much idle time has the cause
 * `unrecorded`, and the correlation ids show that the trace lacks most calls. In such a trace, the device may have
 * been busy in every gap. */
static int is_sampled(const struct ws_gap_finder *finder, const struct ws_track_activity *activity, bool *sampled)
{
    struct ws_track_causes *result = finder->result;
    *sampled = false;
    if (finder->recorded->whole || result->totals[WS_PART_UNRECORDED].total <= activity->idle / SAMPLED_SHARE)
        return 0;
    int status = ws_recorded_apart(finder->process, &result->apart);
    *sampled = !status && result->apart > FAR_APART;
    return status;
}

/* Deletes all results of find_causes, so that find_causes can run again. */
static void find_again(struct ws_gap_finder *finder)
{
    struct ws_track_causes *result = finder->result, empty = { .run_lines = result->run_lines,
                                                               .turns = result->turns,
                                                               .places = result->places,
                                                               .lines = result->lines,
                                                               .launch_delay = result->launch_delay,
                                                               .per_step = result->per_step,
                                                               .apart = result->apart };
    memset(result->turns, 0, (result->places / 64 + 1) * sizeof(*result->turns));
    *result = empty;
    result->lines.count = 0;
    finder->debtor = (struct ws_gap_answer){ 0 };
    finder->graph = INT64_MIN;
    finder->step = 0;
}

static int gap_causes_run(const struct ws_report *report, size_t subject, void *memory)
{
    const struct ws_track *track = ws_model_track(report->model, subject);
    const struct ws_track_activity *activity = ws_report_result(report, &ws_analysis_activity, subject);
    const struct ws_track_steps *steps = ws_report_result(report, &ws_analysis_steps, subject);
    struct ws_track_causes *result = memory;
    struct ws_gap_finder finder = {
        .report = report,
        .track = track,
        .process = ws_model_process(report->model, track->process),
        .time = ws_report_result(report, &ws_analysis_host_time, track->process),
        .recorded = ws_report_result(report, &ws_analysis_recorded, track->process),
        .subject = subject,
        .steps = WS_GAP_WAIT_STEPS,
        .graph = INT64_MIN,
        .result = result,
        .step_list = steps,
    };
    bool sampled = false;
    result->lines = WS_VECTOR(struct ws_gap_line);
    result->per_step = steps->kinds[WS_STEP_STEADY] > 0;
    result->places = track->count;
    result->turns = calloc(track->count / 64 + 1, sizeof(*result->turns));
    result->run_lines = ws_pages_alloc((activity->gaps.count + 1) * sizeof(*result->run_lines));
    finder.cursors = calloc(finder.time->host.thread_count + 1, sizeof(*finder.cursors));
    int status = result->turns && result->run_lines && finder.cursors ? 0 : -ENOMEM;
    for (size_t i = 0; i < finder.time->host.thread_count && !status; i++)
        finder.cursors[i].thread = i;
    for (size_t i = 0; i < steps->steps.count && !finder.first_steady; i++)
        if (ws_step_is_steady((const struct ws_step *)steps->steps.data + i))
            finder.first_steady = (const struct ws_step *)steps->steps.data + i;
    if (!status)
        status = measure_launch_delay(&finder, activity);
    if (!status)
        status = find_causes(&finder, activity);
    if (!status)
        status = is_sampled(&finder, activity, &sampled);
    if (!status && sampled) {
        find_again(&finder);
        result->is_sampled = true;
        status = find_causes(&finder, activity);
    }
    free(finder.cursors);
    return status ? status : ws_gap_lines_sort(result);
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
    .needs = { &ws_analysis_activity, &ws_analysis_steps, &ws_analysis_host_time, &ws_analysis_recorded,
               &ws_analysis_stream_order },
    .run = gap_causes_run,
    .finish = gap_causes_finish,
};
