#include "analysis/gaps/storms.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/activity/activity.h"
#include "analysis/gaps/gaps.h"
#include "analysis/gaps/initialization.h"
#include "analysis/gaps/replay.h"
#include "analysis/gaps/savings.h"
#include "analysis/steps/steps.h"
#include "base/minmax.h"
#include "model/source_line.h"

/* SHORT: limit of the mean length of the operations in a storm, ns. FED: longest time from one launch gap of a storm
 * to the next, ns. A storm has at least LEAST_GAPS launch gaps, which take at least 1/LEAST_SHARE of its time.
 * storms.h explains the limits. */
enum { SHORT = 10000, FED = 100000, LEAST_GAPS = 16, LEAST_SHARE = 10 };

/* A run: a series of launch gaps (gaps of cause `launch`) that may become a storm. */
struct run {
    size_t first, last; /* indices in ws_track.order of the operations that ended the run's first and last gap */
    size_t gaps;
    int64_t end; /* start of the run's last gap, ns */
    int64_t run_time, idle, saving;
    /* Like `idle` and `saving`, but only for gaps outside compiled code. If the recording has steady steps, only the
     * parts of gaps in steady steps count. */
    int64_t counted_idle, counted_saving;
    uint64_t steady; /* number of the run's operations that are in steady steps */
    /* index in ws_track_causes.lines of the line (place in the program) that caused more than half of the gaps, if
     * there is one; found by Boyer-Moore majority vote */
    uint32_t line;
    int64_t votes;
    uint64_t stall_count;
    int64_t stalls;
};

struct finder {
    const struct ws_ops *ops;
    const struct ws_track *track;
    const struct ws_track_causes *causes;
    struct ws_track_storms *result;
    /* by line (place in the program): result of ws_storms_is_compiled, computed once per line because a line has many
     * gaps */
    bool *compiled;
    struct run run;
};

bool ws_storms_is_compiled(const struct ws_process *process, const struct ws_track_causes *causes, size_t line)
{
    const struct ws_gap_line *lines = causes->lines.data;
    return lines[line].cause == WS_PART_LAUNCH && ws_source_is_compiled(process, lines[line].source);
}

/* Adds the stalls (gaps of WS_STALL or more) of a run that is not a storm to the result. */
static int end_without_storm(struct finder *finder, const struct run *run)
{
    finder->result->stall_count += run->stall_count;
    finder->result->stalls = ws_sum(finder->result->stalls, run->stalls);
    return 0;
}

/* Ends the current run of launch gaps, and adds it to the result if it is a storm. */
static int end_run(struct finder *finder)
{
    struct run run = finder->run;
    const struct ws_ops *ops = finder->ops;
    finder->run = (struct run){ 0 };
    if (run.gaps < LEAST_GAPS)
        return end_without_storm(finder, &run);
    uint32_t first = finder->track->order[run.first], last = finder->track->order[run.last];
    struct ws_storm storm = {
        .begin = ws_op_begin(ops, first),
        .end = run.end,
        .count = run.last - run.first,
        .run_time = run.run_time,
        .idle = run.idle,
        .saving = run.saving,
        .line = run.line,
    };
    storm.interval = ws_max(ws_op_host_begin(ops, last) - ws_op_host_begin(ops, first), 0) / (int64_t)storm.count;
    if (storm.run_time / (int64_t)storm.count >= SHORT || storm.idle < (storm.end - storm.begin) / LEAST_SHARE)
        return end_without_storm(finder, &run);
    struct ws_storm *place = ws_vector_push(&finder->result->storms);
    if (!place)
        return -ENOMEM;
    *place = storm;
    finder->result->count += storm.count;
    finder->result->steady += run.steady;
    finder->result->idle += run.counted_idle;
    finder->result->saving += run.counted_saving;
    return 0;
}

/* Does this gap continue the current run of launch gaps? It does if it comes soon enough after the run's last gap,
 * and if the operations between the two gaps are short enough. If so, adds these operations to the run. */
static bool goes_on(struct finder *finder, const struct ws_gap *gap)
{
    struct run *run = &finder->run;
    const uint32_t *order = finder->track->order;
    if (gap->begin - ws_op_begin(finder->ops, order[run->last]) > FED)
        return false;
    int64_t time = run->run_time;
    for (size_t i = run->last; i < gap->place; i++)
        time += ws_op_length(finder->ops, order[i]);
    if (time / (int64_t)(gap->place - run->first) >= SHORT)
        return false;
    run->run_time = time;
    return true;
}

/* Adds a launch gap to the current run, or begins a new run with this gap. */
static int add_gap(struct finder *finder, const struct ws_gap *gap, uint32_t line, int64_t steady)
{
    struct run *run = &finder->run;
    int64_t length = ws_gap_length(gap), saving = ws_max(length - WS_GRAPH_NODE, 0);
    if (run->gaps && !goes_on(finder, gap)) {
        int status = end_run(finder);
        if (status)
            return status;
    }
    if (!run->gaps)
        run->first = gap->place;
    else if (steady)
        run->steady += gap->place - run->last;
    if (!run->votes)
        run->line = line;
    run->votes += run->line == line ? 1 : -1;
    run->last = gap->place;
    run->end = gap->begin;
    run->gaps++;
    run->idle += length;
    run->saving += saving;
    if (finder->compiled[line])
        return 0; /* sum_compiled counts this gap */
    int64_t counted = finder->causes->per_step ? steady : length;
    run->counted_idle += counted;
    run->counted_saving += ws_min(saving, counted);
    if (length >= WS_STALL && counted) {
        run->stall_count++;
        run->stalls += counted;
    }
    return 0;
}

/* Sums the launch gaps of compiled code. The lines (places in the program that caused gaps) are sorted by their time
 * in gaps, longest first. The loop runs backwards, so compiled_line becomes the line with most time. */
static void sum_compiled(const struct finder *finder, const struct ws_track_steps *steps)
{
    struct ws_track_storms *result = finder->result;
    const struct ws_gap_line *lines = finder->causes->lines.data;
    for (size_t i = finder->causes->lines.count; i-- > 0;) {
        if (!finder->compiled[i])
            continue;
        int64_t time = ws_gap_time(finder->causes, &lines[i].gaps);
        uint64_t count = ws_gap_count(finder->causes, &lines[i].gaps);
        int64_t nodes = (int64_t)ws_min(count, (uint64_t)(time / WS_GRAPH_NODE)) * WS_GRAPH_NODE;
        result->compiled_idle += finder->causes->per_step ? ws_steps_share(steps, time) : time;
        result->compiled += finder->causes->per_step ? ws_steps_share(steps, time - nodes) : time - nodes;
        result->compiled_gaps += count;
        result->compiled_line = (uint32_t)i;
    }
}

static int storms_most_first(const void *a, const void *b)
{
    const struct ws_storm *x = a, *y = b;
    if (x->idle != y->idle)
        return x->idle < y->idle ? 1 : -1;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

static int storms_run(const struct ws_report *report, size_t subject, void *memory)
{
    const struct ws_track *track = ws_model_track(report->model, subject);
    const struct ws_track_activity *activity = ws_report_result(report, &ws_analysis_activity, subject);
    const struct ws_track_steps *steps = ws_report_result(report, &ws_analysis_steps, subject);
    const struct ws_track_savings *savings = ws_report_result(report, &ws_analysis_savings, subject);
    const struct ws_track_initialization *first = ws_report_result(report, &ws_analysis_initialization, subject);
    struct ws_track_storms *result = memory;
    const struct ws_process *process = ws_model_process(report->model, track->process);
    struct finder finder = { .ops = &process->ops,
                             .track = track,
                             .causes = ws_report_result(report, &ws_analysis_causes, subject),
                             .result = result };
    struct ws_steady_walk steady_walk = ws_steady_walk(steps);
    struct ws_gap_run of = { 0 };
    size_t lines = finder.causes->lines.count;
    finder.compiled = malloc((lines + 1) * sizeof(*finder.compiled));
    int status = finder.compiled ? 0 : -ENOMEM;
    for (size_t i = 0; i < lines && !status; i++)
        finder.compiled[i] = ws_storms_is_compiled(process, finder.causes, i);
    result->storms = WS_VECTOR(struct ws_storm);
    struct ws_gap_walk walk = ws_gap_walk(&activity->gaps, 0);
    for (struct ws_gap gap; !status && ws_gap_next(&walk, &gap);) {
        ws_gap_run_reach(finder.causes, &of, &gap);
        if (of.cause == WS_PART_LAUNCH && ws_initialization_holds(first, gap.begin, gap.end)) {
            /* the host was in a first call (such as a module load): fewer launches would save no time */
            status = end_run(&finder);
            continue;
        }
        if (of.cause == WS_PART_LAUNCH) {
            int64_t steady = ws_steady_part(&steady_walk, gap.begin, gap.end);
            status = add_gap(&finder, &gap, of.line, steady);
            continue;
        }
        if (of.cause != WS_PART_DISPATCH)
            status = end_run(&finder);
        walk = ws_gap_walk(&activity->gaps, of.to);
    }
    if (!status)
        status = end_run(&finder);
    if (result->storms.count)
        qsort(result->storms.data, result->storms.count, sizeof(struct ws_storm), storms_most_first);
    if (finder.causes->per_step) {
        result->idle = ws_steps_share(steps, result->idle);
        result->saving = ws_steps_share(steps, result->saving);
        result->stalls = ws_steps_share(steps, result->stalls);
    }
    if (!status)
        sum_compiled(&finder, steps);
    free(finder.compiled);
    int64_t most = savings->saving[WS_PART_LAUNCH];
    result->saving = ws_min(result->saving, most);
    result->elsewhere =
        ws_min(most - result->saving, savings->idle[WS_PART_LAUNCH] - result->idle - result->compiled_idle);
    return status;
}

static void storms_finish(void *memory)
{
    struct ws_track_storms *result = memory;
    ws_vector_finish(&result->storms);
}

const struct ws_analysis ws_analysis_storms = {
    .name = "storms",
    .title = "Storms",
    .host_times = true,
    .scope = WS_SCOPE_TRACK,
    .result_size = sizeof(struct ws_track_storms),
    .needs = { &ws_analysis_activity, &ws_analysis_steps, &ws_analysis_causes, &ws_analysis_savings,
               &ws_analysis_initialization },
    .run = storms_run,
    .finish = storms_finish,
    .text = ws_storms_text,
    .advise = ws_storms_advise,
    .json = ws_storms_json,
};
