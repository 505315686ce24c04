#include <errno.h>
#include <string.h>

#include "analysis/activity/activity.h"
#include "analysis/kernels/label.h"
#include "analysis/steps/slow_steps.h"

static const struct {
    const char *key, *label;
} part_names[WS_STEP_PART_COUNT] = {
#define NAME(field, key, label) { key, label },
    WS_STEP_PARTS(NAME)
#undef NAME
};

static const struct {
    const char *sure, *why;
} proofs[WS_PROOF_COUNT] = {
    [WS_PROOF_STRUCTURE] = { "doubtful", "they may be parts of iterations: none updates a model, copies from or to "
                                         "the host, or launches a graph" },
    [WS_PROOF_EXCHANGE] = { "likely", "each copies from or to the host, or launches a graph" },
    [WS_PROOF_UPDATE] = { "likely", "each updates the model" },
    [WS_PROOF_RANGES] = { "confirmed", "the program's ranges repeat with them" },
    [WS_PROOF_NAMES] = { "confirmed", "the names of the program's ranges repeat with them" },
    [WS_PROOF_EVEN] = { "likely", "ranges that the program named after steps come back evenly" },
    [WS_PROOF_SERVER] = { "confirmed", "an inference server sets a range around each iteration" },
    [WS_PROOF_LENGTH] = { "likely",
                          "the names of the program's ranges repeat after this time; the device was so far behind "
                          "that no iteration of it was recorded from begin to end, so a piece as long stands "
                          "for one" },
};

static void print_left_out(const struct ws_track_steps *result, struct ws_page *page)
{
    char count[WS_FORMAT_SIZE], time[WS_FORMAT_SIZE];
    if (result->kinds[WS_STEP_WARM_UP])
        ws_page_fact(
            page, "warm-up", "%s leading step%s left out: before the first two in a row within 25 %% of the median",
            ws_format_count(count, result->kinds[WS_STEP_WARM_UP]), result->kinds[WS_STEP_WARM_UP] == 1 ? "" : "s");
    if (result->kinds[WS_STEP_OTHER])
        ws_page_fact(page, "others", "%s left out, %s in all: %s%s",
                     ws_format_count(count, result->kinds[WS_STEP_OTHER]),
                     ws_format_time(time, result->lasted[WS_STEP_OTHER]),
                     result->phases.several ? "steps of other phases than "
                                            : "they repeat with the steps but are not like them",
                     result->phases.several ? ws_phase_name(result->phases.lead) : "");
    if (result->kinds[WS_STEP_COUNTED])
        ws_page_fact(page, "counted", "%s left out: launches in them were delayed while hardware counters were read",
                     ws_format_count(count, result->kinds[WS_STEP_COUNTED]));
    if (result->kinds[WS_STEP_PAUSED])
        ws_page_fact(page, "paused", "%s left out: the recording paused in %s",
                     ws_format_count(count, result->kinds[WS_STEP_PAUSED]),
                     result->kinds[WS_STEP_PAUSED] == 1 ? "it" : "them");
    if (result->kinds[WS_STEP_CUT])
        ws_page_fact(page, "cut off", "the last step, left out because its end was not recorded");
}

static void print_times(const struct ws_track_steps *result, struct ws_page *page)
{
    char median[WS_FORMAT_SIZE], p95[WS_FORMAT_SIZE], least[WS_FORMAT_SIZE], most[WS_FORMAT_SIZE],
        range[WS_FORMAT_SIZE], more[WS_FORMAT_SIZE], count[WS_FORMAT_SIZE];
    if (result->kinds[WS_STEP_STEADY] == 1)
        ws_page_fact(page, "step time", "%s", ws_format_time(median, result->median));
    else
        ws_page_fact(page, "step time", "median %s, p95 %s, from %s to %s, CoV %.1f %%",
                     ws_format_time(median, result->median), ws_format_time(p95, result->p95),
                     ws_format_time(least, result->least), ws_format_time(most, result->most), 100 * result->cov);
    if (!result->judged) {
        ws_page_fact(page, "stable?", "not known: fewer than three steady steps, which may not be typical");
        return;
    }
    ws_page_fact(page, "stable?",
                 "%s  half of the steps within %s (stable: up to 10 %% of the median), p95 %s above it (stable: up "
                 "to %d %%), %s slow",
                 result->stable ? "yes" : "no ", ws_format_share(range, result->quartile_range, result->median),
                 ws_format_share(more, result->p95 - result->median, result->median), WS_STEPS_STABLE_P95 - 100,
                 ws_format_count(count, result->slow));
}

static void print_parts(const struct ws_track_steps *result, struct ws_page *page)
{
    static const struct ws_table_column columns[] = {
        { "in a step", true, false }, { "median", false, false }, { "mean", false, false }, { "share", false, false }
    };
    struct ws_table table;
    char share[WS_FORMAT_SIZE];
    ws_table_init(&table, page, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t part = 0; part < WS_STEP_PART_COUNT; part++) {
        const struct ws_step_figure *figure = ws_steps_figure(result, part);
        ws_table_cell(&table, "%s", part_names[part].label);
        ws_table_time(&table, figure->median);
        ws_table_time(&table, figure->mean);
        ws_table_cell(&table, "%s", ws_format_share(share, figure->mean, result->mean));
    }
    ws_table_finish(&table);
}

static const struct {
    const char *key, *label;
} slow_parts[WS_SLOW_PART_COUNT] = {
#define SLOW(name, key, label) [WS_SLOW_##name] = { key, label },
    WS_SLOW_PARTS(SLOW)
#undef SLOW
};

/* Prints a cell with the parts of a slow step (idle, compute …) that each contribute more than a quarter of its extra
 * time. */
static void more_cell(const struct ws_track_steps *result, const struct ws_slow_step *slow, struct ws_table *table)
{
    const struct ws_step *step = (const struct ws_step *)result->steps.data + slow->step;
    int64_t over = step->end - step->begin - result->median;
    char text[160] = "", time[WS_FORMAT_SIZE];
    for (size_t i = 0; i < WS_SLOW_PART_COUNT; i++) {
        size_t used = strlen(text);
        if (slow->more[i] > over / 4)
            snprintf(text + used, sizeof(text) - used, "%s%s +%s", used ? ", " : "", slow_parts[i].label,
                     ws_format_time(time, slow->more[i]));
    }
    ws_table_cell(table, "%s", text);
}

/* Prints two cells for the operation with the largest extra time: this time, and the operation's name. If this time
 * is at most a tenth of the step's extra time, the first cell is empty and the second says "none". */
static void operation_cells(const struct ws_report *report, const struct ws_track_steps *result,
                            const struct ws_slow_step *slow, struct ws_table *table)
{
    const struct ws_step *step = (const struct ws_step *)result->steps.data + slow->step;
    char time[WS_FORMAT_SIZE];
    if (slow->name == WS_NOWHERE || slow->name_more <= (step->end - step->begin - result->median) / 10) {
        ws_table_cell(table, "%s", "");
        ws_table_cell(table, "none");
        return;
    }
    ws_table_cell(table, "+%s", ws_format_time(time, slow->name_more));
    ws_table_name(table, ws_model_name(report->model, slow->name)->text);
}

/* Prints the table of slow steps. Times are printed relative to `begin`, as in the other sections of the report on
 * this device. */
static void print_slow(const struct ws_report *report, const struct ws_track_steps *result, int64_t begin,
                       struct ws_page *page)
{
    static const struct ws_table_column columns[] = {
        { "slow step", false, false },        { "at", false, WS_NARROW_LEAVE_OUT },
        { "length", false, false },           { "more than usual", true, false },
        { "by", false, WS_NARROW_LEAVE_OUT }, { "operation that took longer", true, WS_NARROW_SHORTEN }
    };
    const struct ws_step *list = result->steps.data;
    const struct ws_slow_step *slow = result->slow_steps.data;
    struct ws_table table;
    ws_table_init(&table, page, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < ws_page_rows(page, result->slow_steps.count); i++) {
        const struct ws_step *step = &list[slow[i].step];
        ws_table_count(&table, step->number);
        ws_table_time(&table, step->begin - begin);
        ws_table_time(&table, step->end - step->begin);
        more_cell(result, &slow[i], &table);
        operation_cells(report, result, &slow[i], &table);
    }
    ws_table_finish(&table);
    ws_page_more_of(page, result->slow_steps.count, result->slow, "");
    ws_page_text(page,
                 "A slow step takes more than 1.5 times the median; \"at\" is from the begin of the device's first "
                 "operation, as in Gaps and Storms.");
}

static void print_phases(const struct ws_track_steps *result, struct ws_page *page)
{
    if (!result->phases.any)
        return;
    fputc('\n', page->out);
    ws_phases_text(&result->phases, page);
}

void ws_steps_text(const struct ws_report *report, size_t subject, const void *memory, struct ws_page *page)
{
    const struct ws_track_steps *result = memory;
    const struct ws_track_activity *activity = ws_report_result(report, &ws_analysis_activity, subject);
    char count[WS_FORMAT_SIZE];
    if (result->source == WS_STEPS_NONE) {
        ws_page_text(page, "No steps. %s",
                     result->phases.any ? "One iteration of the server is too few for figures per step."
                                        : result->why_none);
        print_phases(result, page);
        return;
    }
    ws_page_fact(page, "steps", "%s steady, %s", ws_format_count(count, result->kinds[WS_STEP_STEADY]),
                 result->source == WS_STEPS_MARKED  ? "marked by the program"
                 : result->proof == WS_PROOF_SERVER ? "by the ranges of an inference server"
                 : result->proof >= WS_PROOF_NAMES
                     ? "found in the names of the program's ranges (an inference: no markers)"
                     : "found in the order of operations (an inference: no markers)");
    if (result->source == WS_STEPS_FOUND)
        ws_page_fact(page, "how sure", "%s: %s", proofs[result->proof].sure, proofs[result->proof].why);
    print_left_out(result, page);
    if (!result->kinds[WS_STEP_STEADY])
        return;
    print_times(result, page);
    fputc('\n', page->out);
    print_parts(result, page);
    print_phases(result, page);
    if (result->slow) {
        fputc('\n', page->out);
        print_slow(report, result, ws_activity_origin(ws_model_track(report->model, subject), activity), page);
    }
}

static json_t *more_json(const struct ws_report *report, const struct ws_slow_step *slow)
{
    json_t *more = json_object();
    int status = 0;
    for (size_t i = 0; i < WS_SLOW_PART_COUNT; i++)
        status |= ws_json_set(more, slow_parts[i].key, slow->more[i]);
    if (slow->name != WS_NOWHERE) {
        status |=
            json_object_set_new(more, "operation", ws_json_text(ws_model_name(report->model, slow->name)->text));
        status |= ws_json_set(more, "operation_ns", slow->name_more);
    }
    if (!status)
        return more;
    json_decref(more);
    return NULL;
}

static json_t *step_json(const struct ws_report *report, const struct ws_step *step, const struct ws_slow_step *slow)
{
    json_t *row = json_object();
    int status = ws_json_set(row, "number", (int64_t)(step->number & INT64_MAX));
    status |= ws_json_set(row, "begin_ns", step->begin);
    status |= ws_json_set(row, "length_ns", step->end - step->begin);
    status |= ws_json_set(row, "operations", step->count);
    for (size_t part = 0; part < WS_STEP_PART_COUNT; part++)
        status |= ws_json_set(row, part_names[part].key, ws_step_part(step, part));
    status |= json_object_set_new(row, "kind", json_string(ws_step_kind_name(step->kind)));
    status |= json_object_set_new(row, "slow", json_boolean(step->slow));
    if (step->phase)
        status |= json_object_set_new(row, "phase", ws_phase_json(step->phase));
    if (slow)
        status |= json_object_set_new(row, "more", more_json(report, slow));
    if (!status)
        return row;
    json_decref(row);
    return NULL;
}

static int json_summary(const struct ws_track_steps *result, json_t *object)
{
    static const char *const sources[] = { "none", "marked", "found" };
    const struct {
        const char *key;
        int64_t value;
    } values[] = {
        { "steady", (int64_t)result->kinds[WS_STEP_STEADY] },
        { "warm_up", (int64_t)result->kinds[WS_STEP_WARM_UP] },
        { "other", (int64_t)result->kinds[WS_STEP_OTHER] },
        { "cut", (int64_t)result->kinds[WS_STEP_CUT] },
        { "slow", (int64_t)result->slow },
        { "steady_ns", result->lasted[WS_STEP_STEADY] },
        { "other_ns", result->lasted[WS_STEP_OTHER] },
        { "median_ns", result->median },
        { "mean_ns", result->mean },
        { "p95_ns", result->p95 },
        { "min_ns", result->least },
        { "max_ns", result->most },
        { "quartile_range_ns", result->quartile_range },
    };
    int status = json_object_set_new(object, "source", json_string(sources[result->source]));
    if (result->source == WS_STEPS_NONE)
        return status | json_object_set_new(object, "why_none", json_string(result->why_none));
    if (result->source == WS_STEPS_FOUND)
        status |= json_object_set_new(object, "sure", json_string(proofs[result->proof].sure));
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]) && !status; i++)
        status = ws_json_set(object, values[i].key, values[i].value);
    if (result->kinds[WS_STEP_COUNTED])
        status |= ws_json_set(object, "counted", (int64_t)result->kinds[WS_STEP_COUNTED]);
    if (result->kinds[WS_STEP_PAUSED])
        status |= ws_json_set(object, "paused", (int64_t)result->kinds[WS_STEP_PAUSED]);
    if (result->phases.several)
        status |= json_object_set_new(object, "phase", ws_phase_json(result->phases.lead));
    status |= json_object_set_new(object, "cov", json_real(result->cov));
    status |= json_object_set_new(object, "stable", result->judged ? json_boolean(result->stable) : json_null());
    for (size_t part = 0; part < WS_STEP_PART_COUNT && !status; part++) {
        const struct ws_step_figure *figure = ws_steps_figure(result, part);
        json_t *pair = json_object();
        status |= ws_json_set(pair, "median", figure->median);
        status |= ws_json_set(pair, "mean", figure->mean);
        status |= json_object_set_new(object, part_names[part].key, pair);
    }
    return status;
}

/* At most this many steps are listed one by one: loops of a few operations may have millions of steps. */
enum { MOST_ROWS = 1 << 16 };

int ws_steps_json(const struct ws_report *report, size_t subject, const void *memory, json_t *object)
{
    const struct ws_track_steps *result = memory;
    const struct ws_step *list = result->steps.data;
    const struct ws_slow_step *slow = result->slow_steps.data;
    json_t *summary = json_object(), *rows = json_array();
    size_t next = 0;
    (void)subject;
    int status = json_object_set_new(object, "step_time", summary);
    status |= json_object_set_new(object, "steps", rows);
    status = status ? status : json_summary(result, summary);
    status = status ? status : ws_phases_json(&result->phases, object);
    for (size_t i = 0; i < result->steps.count && i < MOST_ROWS && !status; i++) {
        bool explained = next < result->slow_steps.count && slow[next].step == i;
        status = json_array_append_new(rows, step_json(report, &list[i], explained ? &slow[next] : NULL));
        next += explained;
    }
    if (result->steps.count > MOST_ROWS)
        status |= ws_json_set(object, "steps_left_out", (int64_t)(result->steps.count - MOST_ROWS));
    if (result->slow > result->slow_steps.count)
        status |= ws_json_set(summary, "slow_without_more", (int64_t)(result->slow - result->slow_steps.count));
    return status ? -ENOMEM : 0;
}
