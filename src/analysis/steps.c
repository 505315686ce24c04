#include "analysis/steps.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/activity.h"
#include "analysis/found_steps.h"
#include "analysis/marked_steps.h"
#include "analysis/sections.h"

/* See steps.h for what these are and where they come from. */
static const int warm_up_percent = 125, slow_percent = 150, unsteady_percent = 10, slow_in = 20;

const char *ws_step_kind_name(enum ws_step_kind kind)
{
    static const char *const names[] = { "steady", "warm_up", "other", "cut" };
    _Static_assert(sizeof(names) / sizeof(names[0]) == WS_STEP_KIND_COUNT, "one name a kind");
    return names[kind];
}

const struct ws_step *ws_steps_at(const struct ws_track_steps *steps, int64_t time)
{
    const struct ws_step *list = steps->steps.data;
    size_t low = 0, high = steps->steps.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (list[middle].end <= time)
            low = middle + 1;
        else
            high = middle;
    }
    return low < steps->steps.count && list[low].begin <= time ? &list[low] : NULL;
}

static int64_t length_of(const struct ws_step *step)
{
    return step->end - step->begin;
}

/* One pass over the operations gives every step its split and its operations. */
static int split_steps(const struct ws_report *report, const struct ws_track *track, struct ws_track_steps *result)
{
    const struct ws_process *process = ws_model_process(report->model, track->process);
    const struct ws_ops *ops = &process->ops;
    struct ws_step *steps = result->steps.data;
    size_t count = result->steps.count, at = 0;
    if (!count)
        return 0;
    uint8_t *groups = ws_report_shape_groups(report, process);
    if (!groups)
        return -ENOMEM;
    struct ws_reach reach = ws_reach_from(steps[0].begin);
    int64_t now = steps[0].begin;
    for (size_t i = 0; i < track->count && at < count; i++) {
        uint32_t op = track->order[i];
        int64_t begin = ops->begin[op], end = ws_op_end(ops, op);
        while (at < count && begin >= steps[at].end) {
            ws_split_slice(&steps[at].split, &reach, now, steps[at].end);
            now = steps[at++].end;
        }
        if (begin > now) {
            ws_split_slice(&steps[at < count ? at : count - 1].split, &reach, now, begin);
            now = begin;
        }
        if (at < count && begin >= steps[at].begin && !steps[at].count++)
            steps[at].first = (uint32_t)i;
        uint8_t group = groups[ops->shape[op]];
        reach.all = ws_most(reach.all, end);
        reach.group[group] = ws_most(reach.group[group], end);
    }
    for (; at < count; now = steps[at++].end)
        ws_split_slice(&steps[at].split, &reach, now, steps[at].end);
    free(groups);
    return 0;
}

static int ascending(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Nearest rank: the least value that this share of all does not exceed. */
static int64_t percentile(const int64_t *sorted, size_t count, unsigned percent)
{
    size_t rank = (count * percent + 99) / 100;
    return sorted[rank ? rank - 1 : 0];
}

static size_t steady_lengths(const struct ws_vector *steps, int64_t *lengths)
{
    const struct ws_step *list = steps->data;
    size_t count = 0;
    for (size_t i = 0; i < steps->count; i++)
        if (list[i].kind == WS_STEP_STEADY)
            lengths[count++] = length_of(&list[i]);
    qsort(lengths, count, sizeof(*lengths), ascending);
    return count;
}

static bool within_warm(const struct ws_step *step, int64_t median)
{
    return step->kind != WS_STEP_STEADY || length_of(step) / warm_up_percent <= median / 100;
}

/* The leading steps before the first two in a row that take about as long as most. */
static void leave_out_warm_up(struct ws_vector *steps, int64_t median)
{
    struct ws_step *list = steps->data;
    size_t first = 0;
    while (first + 1 < steps->count && !(within_warm(&list[first], median) && within_warm(&list[first + 1], median)))
        first++;
    if (first > steps->count / 2)
        return; /* it never settles: that is no warm-up */
    for (size_t i = 0; i < first; i++)
        if (list[i].kind == WS_STEP_STEADY)
            list[i].kind = WS_STEP_WARM_UP;
}

static void measure(struct ws_track_steps *result, const int64_t *lengths, size_t count)
{
    struct ws_step *list = result->steps.data;
    double mean = 0, squares = 0;
    for (size_t i = 0; i < count; i++) {
        double change = (double)lengths[i] - mean;
        mean += change / (double)(i + 1);
        squares += change * ((double)lengths[i] - mean);
    }
    result->least = lengths[0];
    result->most = lengths[count - 1];
    result->median = percentile(lengths, count, 50);
    result->p95 = percentile(lengths, count, 95);
    result->quartile_range = percentile(lengths, count, 75) - percentile(lengths, count, 25);
    result->mean = (int64_t)mean;
    result->cov = mean > 0 ? sqrt(squares / (double)count) / mean : 0;
    for (size_t i = 0; i < result->steps.count; i++) {
        list[i].slow = list[i].kind == WS_STEP_STEADY && length_of(&list[i]) / slow_percent > result->median / 100;
        result->slow += list[i].slow;
    }
    result->judged = count >= WS_STEPS_TO_JUDGE;
    result->stable = result->judged && result->quartile_range <= result->median / 100 * unsteady_percent &&
                     result->slow <= count / slow_in;
}

static int64_t part_of(const struct ws_step *step, size_t part)
{
    const struct ws_split *split = &step->split;
    const int64_t parts[] = { split->busy,
                              split->group[WS_GROUP_COMPUTE],
                              split->group[WS_GROUP_COMM],
                              split->exposed_comm,
                              split->group[WS_GROUP_MEMORY],
                              split->exposed_memory,
                              length_of(step) - split->busy };
    return parts[part];
}

static const struct {
    const char *key, *label;
} part_names[] = {
#define NAME(field, key, label) { key, label },
    WS_STEP_PARTS(NAME)
#undef NAME
};
enum { PARTS = sizeof(part_names) / sizeof(part_names[0]) };

static struct ws_step_figure *figure_of(struct ws_track_steps *result, size_t part)
{
    struct ws_step_figure *figures[] = {
#define FIGURE(field, key, label) &result->field,
        WS_STEP_PARTS(FIGURE)
#undef FIGURE
    };
    return figures[part];
}

static void measure_part(struct ws_track_steps *result, size_t part, int64_t *values)
{
    const struct ws_step *list = result->steps.data;
    struct ws_step_figure *figure = figure_of(result, part);
    size_t count = 0;
    double sum = 0;
    for (size_t i = 0; i < result->steps.count; i++) {
        if (list[i].kind != WS_STEP_STEADY)
            continue;
        values[count] = part_of(&list[i], part);
        sum += (double)values[count++];
    }
    qsort(values, count, sizeof(*values), ascending);
    figure->median = percentile(values, count, 50);
    figure->mean = (int64_t)(sum / (double)count);
}

static int measure_all(struct ws_track_steps *result)
{
    const struct ws_step *list = result->steps.data;
    int64_t *values = malloc((result->steps.count + 1) * sizeof(*values));
    if (!values)
        return -ENOMEM;
    size_t count = steady_lengths(&result->steps, values);
    if (count)
        leave_out_warm_up(&result->steps, percentile(values, count, 50));
    count = steady_lengths(&result->steps, values);
    if (count)
        measure(result, values, count);
    for (size_t part = 0; part < PARTS && count; part++)
        measure_part(result, part, values);
    for (size_t i = 0; i < result->steps.count; i++)
        result->kinds[list[i].kind]++;
    free(values);
    return 0;
}

static int run(const struct ws_report *report, size_t subject, void *memory)
{
    const struct ws_track *track = ws_model_track(report->model, subject);
    struct ws_track_steps *result = memory;
    result->steps = WS_VECTOR(struct ws_step);
    result->why_none = "Steps were not asked for.";
    if (report->steps == WS_STEPS_NOT_ASKED)
        return 0;
    int status = 0;
    if (report->steps != WS_STEPS_ONLY_FOUND)
        status = ws_marked_steps(report, track, result);
    if (!status && report->steps != WS_STEPS_ONLY_MARKED && result->source == WS_STEPS_NONE)
        status = ws_found_steps(report, track, result);
    if (!status)
        status = split_steps(report, track, result);
    return status ? status : measure_all(result);
}

static void finish(void *memory)
{
    struct ws_track_steps *result = memory;
    ws_vector_finish(&result->steps);
}

static void print_left_out(const struct ws_track_steps *result, struct ws_page *page)
{
    char count[WS_FORMAT_SIZE];
    if (result->kinds[WS_STEP_WARM_UP])
        ws_page_fact(page, "warm-up",
                     "%s leading steps left out: those before the first two in a row within 25 %% of the median",
                     ws_format_count(count, result->kinds[WS_STEP_WARM_UP]));
    if (result->kinds[WS_STEP_OTHER])
        ws_page_fact(page, "others", "%s left out: they repeat with the steps but are not like them",
                     ws_format_count(count, result->kinds[WS_STEP_OTHER]));
    if (result->kinds[WS_STEP_CUT])
        ws_page_fact(page, "cut off", "the last, whose end the recording does not show; left out");
}

static void print_times(const struct ws_track_steps *result, struct ws_page *page)
{
    char median[WS_FORMAT_SIZE], p95[WS_FORMAT_SIZE], least[WS_FORMAT_SIZE], most[WS_FORMAT_SIZE],
        range[WS_FORMAT_SIZE], count[WS_FORMAT_SIZE];
    ws_page_fact(page, "step time", "median %s, p95 %s, from %s to %s, CoV %.1f %%",
                 ws_format_time(median, result->median), ws_format_time(p95, result->p95),
                 ws_format_time(least, result->least), ws_format_time(most, result->most), 100 * result->cov);
    if (!result->judged) {
        ws_page_fact(page, "stable?", "not known: fewer than three steady steps");
        return;
    }
    ws_page_fact(page, "stable?", "%s  half of the steps within %s (stable: up to 10 %% of the median), %s slow",
                 result->stable ? "yes" : "no ", ws_format_share(range, result->quartile_range, result->median),
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
    for (size_t part = 0; part < PARTS; part++) {
        const struct ws_step_figure *figure = figure_of((struct ws_track_steps *)result, part);
        ws_table_cell(&table, "%s", part_names[part].label);
        ws_table_time(&table, figure->median);
        ws_table_time(&table, figure->mean);
        ws_table_cell(&table, "%s", ws_format_share(share, figure->mean, result->mean));
    }
    ws_table_finish(&table);
}

/* What a slow step had more of than the median one: parts that do not overlap. */
static void more_than_usual(const struct ws_track_steps *result, const struct ws_step *step, char *text, size_t size)
{
    const struct {
        const char *name;
        int64_t more;
    } parts[] = {
        { "idle", length_of(step) - step->split.busy - result->idle.median },
        { "compute", step->split.group[WS_GROUP_COMPUTE] - result->compute.median },
        { "exposed communication", step->split.exposed_comm - result->exposed_comm.median },
        { "exposed copies", step->split.exposed_memory - result->exposed_memory.median },
    };
    int64_t over = length_of(step) - result->median;
    int used = 0;
    *text = 0;
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]) && used >= 0 && (size_t)used < size; i++) {
        char time[WS_FORMAT_SIZE];
        if (parts[i].more > over / 10)
            used += snprintf(text + used, size - (size_t)used, "%s%s +%s", used ? ", " : "", parts[i].name,
                             ws_format_time(time, parts[i].more));
    }
}

static void print_slow(const struct ws_track_steps *result, struct ws_page *page)
{
    static const struct ws_table_column columns[] = { { "slow step", false, false },
                                                      { "at", false, false },
                                                      { "length", false, false },
                                                      { "more than usual", true, true } };
    const struct ws_step *list = result->steps.data;
    struct ws_table table;
    size_t shown = 0;
    ws_table_init(&table, page, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < result->steps.count && (!page->top || shown < page->top); i++) {
        char text[160];
        if (!list[i].slow)
            continue;
        shown++;
        more_than_usual(result, &list[i], text, sizeof(text));
        ws_table_count(&table, list[i].number);
        ws_table_time(&table, list[i].begin - list[0].begin);
        ws_table_time(&table, length_of(&list[i]));
        ws_table_cell(&table, "%s", text);
    }
    ws_table_finish(&table);
    ws_page_text(page, "A slow step takes more than 1.5 times the median.");
}

static void text(const struct ws_report *report, size_t subject, const void *memory, struct ws_page *page)
{
    const struct ws_track_steps *result = memory;
    char count[WS_FORMAT_SIZE];
    (void)report;
    (void)subject;
    if (result->source == WS_STEPS_NONE) {
        ws_page_text(page, "No steps. %s", result->why_none);
        return;
    }
    ws_page_fact(page, "steps", "%s steady, %s", ws_format_count(count, result->kinds[WS_STEP_STEADY]),
                 result->source == WS_STEPS_MARKED ? "marked by the program"
                                                   : "found in the order of operations (an inference: no markers)");
    print_left_out(result, page);
    if (!result->kinds[WS_STEP_STEADY])
        return;
    print_times(result, page);
    fputc('\n', page->out);
    print_parts(result, page);
    if (result->slow) {
        fputc('\n', page->out);
        print_slow(result, page);
    }
}

static json_t *step_json(const struct ws_step *step)
{
    json_t *row = json_object();
    int status = ws_json_set(row, "number", (int64_t)(step->number & INT64_MAX));
    status |= ws_json_set(row, "begin_ns", step->begin);
    status |= ws_json_set(row, "length_ns", length_of(step));
    status |= ws_json_set(row, "operations", step->count);
    for (size_t part = 0; part < PARTS; part++)
        status |= ws_json_set(row, part_names[part].key, part_of(step, part));
    status |= json_object_set_new(row, "kind", json_string(ws_step_kind_name(step->kind)));
    status |= json_object_set_new(row, "slow", json_boolean(step->slow));
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
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]) && !status; i++)
        status = ws_json_set(object, values[i].key, values[i].value);
    status |= json_object_set_new(object, "cov", json_real(result->cov));
    status |= json_object_set_new(object, "stable", result->judged ? json_boolean(result->stable) : json_null());
    for (size_t part = 0; part < PARTS && !status; part++) {
        const struct ws_step_figure *figure = figure_of((struct ws_track_steps *)result, part);
        json_t *pair = json_object();
        status |= ws_json_set(pair, "median", figure->median);
        status |= ws_json_set(pair, "mean", figure->mean);
        status |= json_object_set_new(object, part_names[part].key, pair);
    }
    return status;
}

/* Steps listed one by one; loops of a few operations may have millions. */
enum { MOST_ROWS = 1 << 16 };

static int json(const struct ws_report *report, size_t subject, const void *memory, json_t *object)
{
    const struct ws_track_steps *result = memory;
    const struct ws_step *list = result->steps.data;
    json_t *summary = json_object(), *rows = json_array();
    (void)report;
    (void)subject;
    int status = json_object_set_new(object, "step_time", summary);
    status |= json_object_set_new(object, "steps", rows);
    status = status ? status : json_summary(result, summary);
    for (size_t i = 0; i < result->steps.count && i < MOST_ROWS && !status; i++)
        status = json_array_append_new(rows, step_json(&list[i]));
    return status ? -ENOMEM : 0;
}

const struct ws_analysis ws_analysis_steps = {
    .name = "steps",
    .title = "Steps",
    .scope = WS_SCOPE_TRACK,
    .result_size = sizeof(struct ws_track_steps),
    .run = run,
    .finish = finish,
    .text = text,
    .json = json,
};
