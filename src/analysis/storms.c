#include "analysis/storms.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/activity.h"
#include "analysis/gaps.h"
#include "analysis/replay.h"
#include "analysis/savings.h"
#include "analysis/steps.h"

/* In ns; storms.h says whose limits they are. */
enum { SHORT = 10000, FED = 100000, LEAST_GAPS = 16, LEAST_SHARE = 10 };

/* A run of launch gaps that may become a storm. */
struct run {
    size_t first, last; /* places in the track's order: operations that ended its first and last gap */
    size_t gaps;
    int64_t end; /* of the last operation between them */
    int64_t run_time, idle, saving;
    int64_t steady_idle, steady_saving;
    uint64_t steady; /* operations */
    uint32_t line;   /* that most gaps are of, where one makes more than half; by majority vote */
    int64_t votes;
};

struct finder {
    const struct ws_ops *ops;
    const struct ws_track *track;
    const struct ws_track_causes *causes;
    struct ws_track_storms *result;
    struct run run;
};

/* Ends the run; keeps it where it is a storm. */
static int end_run(struct finder *finder)
{
    struct run run = finder->run;
    const struct ws_ops *ops = finder->ops;
    finder->run = (struct run){ 0 };
    if (run.gaps < LEAST_GAPS)
        return 0;
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
    storm.interval = ws_most(ws_op_host_begin(ops, last) - ws_op_host_begin(ops, first), 0) / (int64_t)storm.count;
    if (storm.run_time / (int64_t)storm.count >= SHORT || storm.idle < (storm.end - storm.begin) / LEAST_SHARE)
        return 0;
    struct ws_storm *place = ws_vector_push(&finder->result->storms);
    if (!place)
        return -ENOMEM;
    *place = storm;
    finder->result->count += storm.count;
    finder->result->steady += run.steady;
    finder->result->idle += finder->causes->per_step ? run.steady_idle : run.idle;
    finder->result->saving += finder->causes->per_step ? run.steady_saving : run.saving;
    return 0;
}

/* Whether the operations before the next gap are short enough for the run; if so they are added to it. */
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

/* Adds a launch gap to the run, or begins one with it. */
static int add_gap(struct finder *finder, const struct ws_gap *gap, uint32_t line, bool steady)
{
    struct run *run = &finder->run;
    int64_t length = ws_gap_length(gap), saving = ws_most(length - WS_GRAPH_NODE, 0);
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
    run->steady_idle += steady ? length : 0;
    run->steady_saving += steady ? saving : 0;
    return 0;
}

static int most_first(const void *a, const void *b)
{
    const struct ws_storm *x = a, *y = b;
    if (x->idle != y->idle)
        return x->idle < y->idle ? 1 : -1;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

static int run(const struct ws_report *report, size_t subject, void *memory)
{
    const struct ws_track *track = ws_model_track(report->model, subject);
    const struct ws_track_activity *activity = ws_report_result(report, &ws_analysis_activity, subject);
    const struct ws_track_steps *steps = ws_report_result(report, &ws_analysis_steps, subject);
    const struct ws_track_savings *savings = ws_report_result(report, &ws_analysis_savings, subject);
    struct ws_track_storms *result = memory;
    struct finder finder = { .ops = &ws_model_process(report->model, track->process)->ops,
                             .track = track,
                             .causes = ws_report_result(report, &ws_analysis_causes, subject),
                             .result = result };
    struct ws_steady_walk steady_walk = ws_steady_walk(steps);
    struct ws_gap_run of = { 0 };
    int status = 0;
    result->storms = WS_VECTOR(struct ws_storm);
    struct ws_gap_walk walk = ws_gap_walk(&activity->gaps, 0);
    for (struct ws_gap gap; !status && ws_gap_next(&walk, &gap);) {
        ws_gap_run_reach(finder.causes, &of, &gap);
        if (of.cause == WS_PART_LAUNCH) {
            status = add_gap(&finder, &gap, of.line, ws_steady_at(&steady_walk, gap.begin));
            continue;
        }
        if (of.cause != WS_PART_DISPATCH)
            status = end_run(&finder);
        walk = ws_gap_walk(&activity->gaps, of.to);
    }
    if (!status)
        status = end_run(&finder);
    if (result->storms.count)
        qsort(result->storms.data, result->storms.count, sizeof(struct ws_storm), most_first);
    if (finder.causes->per_step) {
        result->idle = ws_steps_share(steps, result->idle);
        result->saving = ws_steps_share(steps, result->saving);
    }
    int64_t most = savings->saving[WS_PART_LAUNCH];
    result->saving = ws_least(result->saving, most);
    result->elsewhere = ws_least(most - result->saving, savings->idle[WS_PART_LAUNCH] - result->idle);
    return status;
}

static void finish(void *memory)
{
    struct ws_track_storms *result = memory;
    ws_vector_finish(&result->storms);
}

static const struct ws_process *process_of(const struct ws_report *report, size_t subject)
{
    return ws_model_process(report->model, ws_model_track(report->model, subject)->process);
}

/* Where most of its gaps were made. */
static bool place_of(const struct ws_report *report, size_t subject, const struct ws_storm *storm, char *text,
                     size_t capacity)
{
    const struct ws_track_causes *causes = ws_report_result(report, &ws_analysis_causes, subject);
    const struct ws_gap_line *lines = causes->lines.data;
    return ws_gap_line_text(process_of(report, subject), &lines[storm->line], text, capacity);
}

static int64_t mean_of(const struct ws_storm *storm)
{
    return storm->run_time / (int64_t)storm->count;
}

static void text(const struct ws_report *report, size_t subject, const void *memory, struct ws_page *page)
{
    static const struct ws_table_column columns[] = {
        { "idle", false, false },
        { "at", false, WS_NARROW_LEAVE_OUT },
        { "operations", false, false },
        { "each runs", false, false },
        { "launched every", false, WS_NARROW_LEAVE_OUT },
        { "from", true, true },
    };
    const struct ws_track_activity *activity = ws_report_result(report, &ws_analysis_activity, subject);
    const struct ws_track_causes *causes = ws_report_result(report, &ws_analysis_causes, subject);
    const struct ws_track_storms *result = memory;
    const struct ws_storm *storms = result->storms.data;
    char idle[WS_FORMAT_SIZE], saving[WS_FORMAT_SIZE], count[WS_FORMAT_SIZE], storm_count[WS_FORMAT_SIZE];
    struct ws_table table;
    if (!result->storms.count) {
        ws_page_text(page, ws_model_track(report->model, subject)->count
                               ? "None: nowhere did the host fall behind a run of short operations."
                               : "Not known: no device times.");
        return;
    }
    ws_page_text(page,
                 "%s run%s of short operations, %s of them in all, that the host cannot launch as fast as they run.",
                 ws_format_count(storm_count, result->storms.count), result->storms.count == 1 ? "" : "s",
                 ws_format_count(count, result->count));
    if (result->idle)
        ws_page_text(page, "%s idle%s, of which a CUDA graph or a compiled region would win up to %s (an estimate).",
                     ws_format_time(idle, result->idle), causes->per_step ? " a step" : "",
                     ws_format_time(saving, result->saving));
    else
        ws_page_text(page, "None of them in a steady step.");
    fputc('\n', page->out);
    ws_table_init(&table, page, columns, sizeof(columns) / sizeof(columns[0]));
    size_t shown = page->top && page->top < result->storms.count ? page->top : result->storms.count;
    for (size_t i = 0; i < shown; i++) {
        char where[256];
        place_of(report, subject, &storms[i], where, sizeof(where));
        ws_table_time(&table, storms[i].idle);
        ws_table_time(&table, storms[i].begin - activity->begin);
        ws_table_count(&table, storms[i].count);
        ws_table_time(&table, mean_of(&storms[i]));
        ws_table_time(&table, storms[i].interval);
        ws_table_cell(&table, "%s", where);
    }
    ws_table_finish(&table);
    ws_page_more(page, result->storms.count, "");
}

static int json(const struct ws_report *report, size_t subject, const void *memory, json_t *object)
{
    const struct ws_track_storms *result = memory;
    const struct ws_storm *storms = result->storms.data;
    json_t *list = json_array();
    int status = json_object_set_new(object, "storms", list);
    size_t shown = report->top && report->top < result->storms.count ? report->top : result->storms.count;
    for (size_t i = 0; i < shown && !status; i++) {
        char where[256];
        bool known = place_of(report, subject, &storms[i], where, sizeof(where));
        json_t *row = json_object();
        status |= json_array_append_new(list, row);
        status |= ws_json_set(row, "begin_ns", storms[i].begin);
        status |= ws_json_set(row, "length_ns", storms[i].end - storms[i].begin);
        status |= ws_json_set(row, "count", (int64_t)storms[i].count);
        status |= ws_json_set(row, "mean_ns", mean_of(&storms[i]));
        status |= ws_json_set(row, "launch_interval_ns", storms[i].interval);
        status |= ws_json_set(row, "idle_ns", storms[i].idle);
        status |= ws_json_set(row, "graph_saving_ns", storms[i].saving);
        status |= json_object_set_new(row, "line", known ? ws_json_text(where) : json_null());
    }
    return status ? -ENOMEM : 0;
}

static int advise(const struct ws_report *report, size_t subject, const void *memory, struct ws_advice_list *list)
{
    const struct ws_track_storms *result = memory;
    const struct ws_storm *storms = result->storms.data;
    const struct ws_track_causes *causes = ws_report_result(report, &ws_analysis_causes, subject);
    const struct ws_track_steps *steps = ws_report_result(report, &ws_analysis_steps, subject);
    size_t steady = steps->kinds[WS_STEP_STEADY];
    char where[256] = "", evidence[256], count[WS_FORMAT_SIZE], mean[WS_FORMAT_SIZE], interval[WS_FORMAT_SIZE];
    struct ws_advice advice = {
        .part = WS_PART_LAUNCH, .where = where, .evidence = evidence, .track = (uint32_t)subject
    };
    int status = 0;
    if (result->storms.count && result->saving > 0) {
        place_of(report, subject, &storms[0], where, sizeof(where));
        snprintf(evidence, sizeof(evidence),
                 "%s short operations%s; where they are worst each runs %s on average, and the host launches one "
                 "every %s",
                 ws_format_each(count, steady ? result->steady : result->count, steady), steady ? " a step" : "",
                 ws_format_time(mean, mean_of(&storms[0])), ws_format_time(interval, storms[0].interval));
        advice.what = (char *)"launch short kernels together: a CUDA graph, torch.compile, or fused kernels";
        advice.saving_ns = result->saving;
        status = ws_advice_add(list, &advice);
    }
    if (!status && result->elsewhere > 0) {
        const struct ws_gap_line *lines = causes->lines.data;
        size_t line = 0;
        while (line < causes->lines.count && lines[line].cause != WS_PART_LAUNCH)
            line++;
        if (line < causes->lines.count)
            ws_gap_line_text(process_of(report, subject), &lines[line], where, sizeof(where));
        ws_gap_phrase(causes, steps, &causes->totals[WS_PART_LAUNCH],
                      "in which the host was on its way to the next launch", evidence);
        advice.what =
            (char *)"let the host run ahead: fewer, larger operations; compile the model; less work between launches";
        advice.saving_ns = result->elsewhere;
        status = ws_advice_add(list, &advice);
    }
    return status;
}

const struct ws_analysis ws_analysis_storms = {
    .name = "storms",
    .title = "Storms",
    .scope = WS_SCOPE_TRACK,
    .result_size = sizeof(struct ws_track_storms),
    .needs = { &ws_analysis_activity, &ws_analysis_steps, &ws_analysis_causes, &ws_analysis_savings },
    .run = run,
    .finish = finish,
    .text = text,
    .advise = advise,
    .json = json,
};
