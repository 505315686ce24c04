#include "analysis/gaps/storms.h"

#include <errno.h>
#include <string.h>

#include "analysis/activity/activity.h"
#include "analysis/gaps/gaps.h"
#include "analysis/gaps/savings.h"
#include "analysis/steps/steps.h"
#include "base/minmax.h"

/* The report advises on stalls (launch gaps of 1 ms or more) if they take at least this percentage of the time in
 * launch gaps outside storms and compiled code (our choice). */
enum { STALLS_MOST = 80 };

static const struct ws_process *storms_process_of(const struct ws_report *report, size_t subject)
{
    return ws_model_process(report->model, ws_model_track(report->model, subject)->process);
}

/* Writes the line of code that caused most of the storm's gaps. Returns false if it is not known. */
static bool storms_place_of(const struct ws_report *report, size_t subject, const struct ws_storm *storm, char *text,
                            size_t capacity)
{
    const struct ws_track_causes *causes = ws_report_result(report, &ws_analysis_causes, subject);
    const struct ws_gap_line *lines = causes->lines.data;
    return ws_gap_line_text(storms_process_of(report, subject), &lines[storm->line], text, capacity);
}

static int64_t storms_mean_of(const struct ws_storm *storm)
{
    return storm->run_time / (int64_t)storm->count;
}

void ws_storms_text(const struct ws_report *report, size_t subject, const void *memory, struct ws_page *page)
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
                               ? "None: the host never fell behind a run of short operations."
                               : "Not known: no device times.");
        return;
    }
    ws_page_text(
        page, "%s run%s of short operations (%s operations in all) that the host cannot launch as fast as they run.",
        ws_format_count(storm_count, result->storms.count), result->storms.count == 1 ? "" : "s",
        ws_format_count(count, result->count));
    if (result->idle)
        ws_page_text(page, "%s idle%s, of which a CUDA graph or a compiled region would save up to %s (an estimate).",
                     ws_format_time(idle, result->idle), causes->per_step ? " a step" : "",
                     ws_format_time(saving, result->saving));
    else if (result->compiled > 0)
        ws_page_text(page, "Most gaps in steady steps are of compiled code: a CUDA graph of it saves up to %s%s.",
                     ws_format_time(saving, result->compiled), causes->per_step ? " a step" : "");
    else
        ws_page_text(page, "None of them is in a steady step.");
    fputc('\n', page->out);
    ws_table_init(&table, page, columns, sizeof(columns) / sizeof(columns[0]));
    size_t shown = page->top && page->top < result->storms.count ? page->top : result->storms.count;
    for (size_t i = 0; i < shown; i++) {
        char where[256];
        storms_place_of(report, subject, &storms[i], where, sizeof(where));
        ws_table_time(&table, storms[i].idle);
        ws_table_time(&table, storms[i].begin - ws_activity_origin(ws_model_track(report->model, subject), activity));
        ws_table_count(&table, storms[i].count);
        ws_table_time(&table, storms_mean_of(&storms[i]));
        ws_table_time(&table, storms[i].interval);
        ws_table_cell(&table, "%s", where);
    }
    ws_table_finish(&table);
    ws_page_more(page, result->storms.count, "");
}

int ws_storms_json(const struct ws_report *report, size_t subject, const void *memory, json_t *object)
{
    const struct ws_track_storms *result = memory;
    const struct ws_storm *storms = result->storms.data;
    json_t *list = json_array();
    int status = json_object_set_new(object, "storms", list);
    size_t shown = report->top && report->top < result->storms.count ? report->top : result->storms.count;
    for (size_t i = 0; i < shown && !status; i++) {
        char where[256];
        bool known = storms_place_of(report, subject, &storms[i], where, sizeof(where));
        json_t *row = json_object();
        status |= json_array_append_new(list, row);
        status |= ws_json_set(row, "begin_ns", storms[i].begin);
        status |= ws_json_set(row, "length_ns", storms[i].end - storms[i].begin);
        status |= ws_json_set(row, "count", (int64_t)storms[i].count);
        status |= ws_json_set(row, "mean_ns", storms_mean_of(&storms[i]));
        status |= ws_json_set(row, "launch_interval_ns", storms[i].interval);
        status |= ws_json_set(row, "idle_ns", storms[i].idle);
        status |= ws_json_set(row, "graph_saving_ns", storms[i].saving);
        status |= json_object_set_new(row, "line", known ? ws_json_text(where) : json_null());
    }
    return status ? -ENOMEM : 0;
}

static int advise_compiled(const struct ws_report *report, size_t subject, const struct ws_track_storms *result,
                           struct ws_advice_list *list)
{
    const struct ws_track_causes *causes = ws_report_result(report, &ws_analysis_causes, subject);
    const struct ws_track_steps *steps = ws_report_result(report, &ws_analysis_steps, subject);
    size_t steady = steps->kinds[WS_STEP_STEADY];
    char where[256], code[WS_SOURCE_CODE], evidence[200], count[WS_FORMAT_SIZE], time[WS_FORMAT_SIZE];
    if (result->compiled <= 0)
        return 0;
    const struct ws_gap_line *line = (const struct ws_gap_line *)causes->lines.data + result->compiled_line;
    ws_gap_line_text(storms_process_of(report, subject), line, where, sizeof(where));
    ws_gap_line_code(storms_process_of(report, subject), line, code);
    snprintf(evidence, sizeof(evidence),
             "%s gaps of %s in all%s: compiled code, which the host runs launch by launch",
             ws_format_each(count, result->compiled_gaps, steady), ws_format_time(time, result->compiled_idle),
             steady ? " a step" : "");
    struct ws_advice advice = { .part = WS_PART_LAUNCH,
                                .saving_ns = result->compiled,
                                .what = (char *)"replay compiled code as CUDA graphs: torch.compile(mode=\"reduce-"
                                                "overhead\")",
                                .where = where,
                                .code = code,
                                .evidence = evidence,
                                .track = (uint32_t)subject };
    return ws_advice_add(list, &advice);
}

/* Writes the line of code with the most time in launch gaps outside compiled code. If the line has at most half of
 * the time in these gaps, also writes its share and the number of other lines: "forward (model.py:12) for 18 % of it,
 * and 37 other places". */
static void launch_place_of(const struct ws_report *report, size_t subject, char *text, size_t capacity)
{
    const struct ws_track_causes *causes = ws_report_result(report, &ws_analysis_causes, subject);
    const struct ws_process *process = storms_process_of(report, subject);
    const struct ws_gap_line *lines = causes->lines.data, *first = NULL;
    char share[WS_FORMAT_SIZE];
    size_t others = 0;
    int64_t all = 0;
    *text = 0;
    for (size_t i = 0; i < causes->lines.count; i++) {
        if (lines[i].cause != WS_PART_LAUNCH || ws_storms_is_compiled(process, causes, i))
            continue;
        if (first)
            others++;
        else
            first = &lines[i];
        all = ws_sum(all, ws_gap_time(causes, &lines[i].gaps));
    }
    int64_t most = first ? ws_gap_time(causes, &first->gaps) : 0;
    if (!first || !ws_gap_line_text(process, first, text, capacity) || most > all / 2)
        return;
    size_t used = strlen(text);
    snprintf(text + used, capacity - used, " for %s of it, and %zu other place%s", ws_format_share(share, most, all),
             others, others == 1 ? "" : "s");
}

/* Writes the advice on launch gaps outside storms and compiled code, if most of the time in them comes from single
 * slow calls or from stalls of the host. Returns false otherwise. */
static bool describe_rest(const struct ws_report *report, size_t subject, const struct ws_track_storms *result,
                          struct ws_advice *advice, char *evidence, size_t capacity)
{
    const struct ws_track_causes *causes = ws_report_result(report, &ws_analysis_causes, subject);
    const struct ws_track_steps *steps = ws_report_result(report, &ws_analysis_steps, subject);
    const struct ws_track_savings *savings = ws_report_result(report, &ws_analysis_savings, subject);
    int64_t rest = savings->idle[WS_PART_LAUNCH] - result->idle - result->compiled_idle;
    char call[WS_GAP_CALL], count[WS_FORMAT_SIZE], time[WS_FORMAT_SIZE], all[WS_FORMAT_SIZE];
    ws_gap_call_phrase(report, subject, WS_PART_LAUNCH, call);
    if (*call) {
        char gaps[WS_GAP_PHRASE];
        ws_gap_phrase(causes, steps, &causes->totals[WS_PART_LAUNCH], "while the host prepared the next launch",
                      gaps);
        snprintf(evidence, capacity, "%s%s", gaps, call);
        advice->what =
            (char *)"find out why single launch calls take so long: a module that is loaded, memory that is "
                    "allocated, a full queue, another thread's lock; run them once before the loop";
        return true;
    }
    if (result->stalls < rest / 100 * STALLS_MOST)
        return false;
    snprintf(evidence, capacity, "%s pauses of the host of 1 ms or longer before launches, %s of %s%s",
             ws_format_each(count, result->stall_count, steps->kinds[WS_STEP_STEADY]),
             ws_format_time(time, result->stalls), ws_format_time(all, rest), causes->per_step ? " a step" : "");
    advice->what = (char *)"find out what holds the host up for milliseconds before launches: work of its own, other "
                           "processes, garbage collection, a lock";
    return true;
}

/* Returns the storm outside compiled code with most idle time, or NULL. */
static const struct ws_storm *worst_run_of(const struct ws_report *report, size_t subject,
                                           const struct ws_track_storms *result)
{
    const struct ws_track_causes *causes = ws_report_result(report, &ws_analysis_causes, subject);
    const struct ws_storm *storms = result->storms.data;
    for (size_t i = 0; i < result->storms.count; i++)
        if (!ws_storms_is_compiled(storms_process_of(report, subject), causes, storms[i].line))
            return &storms[i];
    return NULL;
}

int ws_storms_advise(const struct ws_report *report, size_t subject, const void *memory, struct ws_advice_list *list)
{
    const struct ws_track_storms *result = memory;
    const struct ws_track_causes *causes = ws_report_result(report, &ws_analysis_causes, subject);
    const struct ws_track_steps *steps = ws_report_result(report, &ws_analysis_steps, subject);
    size_t steady = steps->kinds[WS_STEP_STEADY];
    char where[320], evidence[400] = "", count[WS_FORMAT_SIZE], mean[WS_FORMAT_SIZE], interval[WS_FORMAT_SIZE];
    struct ws_advice advice = {
        .part = WS_PART_LAUNCH, .where = where, .evidence = evidence, .track = (uint32_t)subject
    };
    int64_t elsewhere = ws_max(result->elsewhere, 0);
    int status = advise_compiled(report, subject, result, list);
    launch_place_of(report, subject, where, sizeof(where));
    if (!status && elsewhere && describe_rest(report, subject, result, &advice, evidence, sizeof(evidence))) {
        advice.saving_ns = elsewhere;
        status = ws_advice_add(list, &advice);
        elsewhere = 0;
    }
    if (status || result->saving + elsewhere <= 0)
        return status;
    const struct ws_storm *worst = worst_run_of(report, subject, result);
    if (worst && result->saving > 0)
        snprintf(
            evidence, sizeof(evidence),
            "%s short operations%s; in the worst series of them one takes %s on average, and the host launches one "
            "every %s",
            ws_format_each(count, steady ? result->steady : result->count, steady), steady ? " a step" : "",
            ws_format_time(mean, storms_mean_of(worst)), ws_format_time(interval, worst->interval));
    else
        ws_gap_phrase(causes, steps, &causes->totals[WS_PART_LAUNCH], "while the host prepared the next launch",
                      evidence);
    advice.what =
        (char *)(result->saving >= elsewhere
                     ? "launch short kernels together: a CUDA graph, torch.compile, or fused kernels"
                     : "let the host run ahead: a CUDA graph or torch.compile; fewer, larger operations; less work "
                       "between launches");
    advice.saving_ns = result->saving + elsewhere;
    return ws_advice_add(list, &advice);
}
