#include <errno.h>
#include <string.h>

#include "analysis/activity/activity.h"
#include "analysis/kernels/classify.h"
#include "analysis/kernels/kernels.h"
#include "analysis/steps/health.h"

enum {
    ADVISE_SHARE = 5, /* percent of samples; there is no advice if a smaller share of samples had clocks held down */
    /* percent; advice on a power cap is given only if it lowers the clock by at least this, because some loss is
     * usual */
    ADVISE_POWER_LOSS = 10,
    ADVISE_LOSS = 3, /* percent; like ADVISE_POWER_LOSS, but for all other reasons */
};

static const struct {
    const char *key, *text;
} reasons[WS_HEALTH_REASON_COUNT] = {
#define REASON(name, bit, key, text) [WS_HEALTH_##name] = { key, text },
    WS_HEALTH_REASONS(REASON)
#undef REASON
};

static const struct {
    const char *key, *text, *unit;
} figures[WS_HEALTH_FIGURE_COUNT] = {
#define FIGURE(name, key, text, unit) [WS_HEALTH_OF_##name] = { key, text, unit },
    WS_HEALTH_FIGURES(FIGURE)
#undef FIGURE
};

/* Returns the reason for lower clocks that most samples name. */
static enum ws_health_reason main_reason(const struct ws_track_health *result)
{
    int most = 0;
    for (int i = 1; i < WS_HEALTH_REASON_COUNT; i++)
        if (result->reasons[i] > result->reasons[most])
            most = i;
    return (enum ws_health_reason)most;
}

/* --- text ----------------------------------------------------------------------------------------- */

static void print_held(const struct ws_track_health *result, struct ws_page *page)
{
    char share[WS_FORMAT_SIZE], now[WS_FORMAT_SIZE], most[WS_FORMAT_SIZE], list[200] = "";
    if (!result->with_reason) {
        ws_page_fact(page, "clocks", "not known whether they were held down%s",
                     result->counted ? ": NVML gives no reasons for this device" : "");
        return;
    }
    if (!result->held) {
        ws_page_fact(page, "clocks", "not held down in any of these samples");
        return;
    }
    ws_page_fact(page, "clocks", "held down by %s for %s of the %s: %s of %s MHz", reasons[main_reason(result)].text,
                 ws_format_share(share, (int64_t)result->held, (int64_t)result->with_reason),
                 result->in_steps ? "steps" : "busy time", ws_format_count(now, (uint64_t)result->held_mhz),
                 ws_format_count(most, (uint64_t)result->most_mhz));
    for (int i = 0; i < WS_HEALTH_REASON_COUNT; i++) {
        size_t used = strlen(list);
        if (result->reasons[i])
            snprintf(list + used, sizeof(list) - used, "%s%s %s", used ? ", " : "", reasons[i].text,
                     ws_format_share(share, (int64_t)result->reasons[i], (int64_t)result->with_reason));
    }
    ws_page_fact(page, "reasons", "%s", list);
}

static void figure_cell(struct ws_table *table, int figure, int64_t value)
{
    char text[WS_FORMAT_SIZE];
    if (!strcmp(figures[figure].unit, "W"))
        ws_table_cell(table, "%.0f W", (double)value / 1000);
    else if (!strcmp(figures[figure].unit, "B"))
        ws_table_bytes(table, (uint64_t)value);
    else if (!strcmp(figures[figure].unit, "B/s"))
        ws_table_cell(table, "%s/s", ws_format_bytes(text, (uint64_t)value));
    else
        ws_table_cell(table, "%s %s", ws_format_count(text, (uint64_t)value), figures[figure].unit);
}

static void print_figures(const struct ws_track_health *result, struct ws_page *page)
{
    static const struct ws_table_column columns[] = { { "while it worked", true, false },
                                                      { "least", false, false },
                                                      { "median", false, false },
                                                      { "most", false, false } };
    struct ws_table table;
    ws_table_init(&table, page, columns, sizeof(columns) / sizeof(columns[0]));
    for (int i = 0; i < WS_HEALTH_FIGURE_COUNT; i++) {
        const struct ws_health_figure *figure = &result->figures[i];
        if (!figure->count)
            continue;
        ws_table_cell(&table, "%s", figures[i].text);
        figure_cell(&table, i, figure->least);
        figure_cell(&table, i, figure->median);
        figure_cell(&table, i, figure->most);
    }
    ws_table_finish(&table);
}

static void print_slow(const struct ws_report *report, size_t subject, const struct ws_track_health *result,
                       struct ws_page *page)
{
    static const struct ws_table_column columns[] = { { "slow step", false, false },
                                                      { "at", false, WS_NARROW_LEAVE_OUT },
                                                      { "length", false, false },
                                                      { "SM clock", false, false },
                                                      { "usual", false, false } };
    const struct ws_track_steps *steps = ws_report_result(report, &ws_analysis_steps, subject);
    const struct ws_track_activity *activity = ws_report_result(report, &ws_analysis_activity, subject);
    int64_t origin = ws_activity_origin(ws_model_track(report->model, subject), activity);
    const struct ws_health_slow *slow = result->slow.data;
    const struct ws_step *list = steps->steps.data;
    char count[WS_FORMAT_SIZE], known[WS_FORMAT_SIZE];
    struct ws_table table;
    if (!result->slow_known)
        return;
    fputc('\n', page->out);
    ws_page_text(page, "%s of %s slow steps with known clocks coincide with lower clocks.",
                 ws_format_count(count, result->slow.count), ws_format_count(known, result->slow_known));
    if (!result->slow.count)
        return;
    ws_table_init(&table, page, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < ws_page_rows(page, result->slow.count); i++) {
        const struct ws_step *step = &list[slow[i].step];
        ws_table_count(&table, step->number);
        ws_table_time(&table, step->begin - origin);
        ws_table_time(&table, step->end - step->begin);
        figure_cell(&table, WS_HEALTH_OF_SM_CLOCK, slow[i].mhz);
        figure_cell(&table, WS_HEALTH_OF_SM_CLOCK, result->figures[WS_HEALTH_OF_SM_CLOCK].median);
    }
    ws_table_finish(&table);
    ws_page_more(page, result->slow.count, "");
}

void ws_health_text(const struct ws_report *report, size_t subject, const void *memory, struct ws_page *page)
{
    const struct ws_track_health *result = memory;
    char counted[WS_FORMAT_SIZE], all[WS_FORMAT_SIZE];
    if (!result->samples && !result->failed) {
        ws_page_text(page, "Not sampled: `wallshim info` says why.");
        return;
    }
    ws_page_fact(page, "samples", "%s %s, of %s in all", ws_format_count(counted, result->counted),
                 result->in_steps ? "in steady steps" : "while the device worked",
                 ws_format_count(all, result->samples));
    if (result->failed)
        ws_page_fact(page, "failed", "%s: NVML answered %u%s", ws_format_count(all, result->failed), result->error,
                     result->error == 15 ? ", the GPU is lost" : "");
    if (result->ecc_errors > 0)
        ws_page_fact(page, "ECC", "%s uncorrected errors while the program ran: results may be wrong",
                     ws_format_count(all, (uint64_t)result->ecc_errors));
    if (!result->samples)
        return;
    print_held(result, page);
    if (result->limit_mw)
        ws_page_fact(page, "power limit", "%.0f W", (double)result->limit_mw / 1000);
    if (!result->counted)
        return;
    fputc('\n', page->out);
    print_figures(result, page);
    print_slow(report, subject, result, page);
}

/* --- advice --------------------------------------------------------------------------------------- */

static const char *what_to_do(enum ws_health_reason reason)
{
    switch (reason) {
    case WS_HEALTH_POWER_CAP:
        return "let the GPU take more power: raise its limit (nvidia-smi -pl) if its maximum is higher, or do the "
               "same work with less of it";
    case WS_HEALTH_THERMAL:
    case WS_HEALTH_HARDWARE_THERMAL:
        return "cool the GPU: airflow, fans, the temperature of the room; a neighbour may heat it";
    case WS_HEALTH_POWER_BRAKE:
    case WS_HEALTH_SLOWDOWN:
        return "check the machine's power supply, its cables and its cooling: the hardware itself slows the GPU";
    case WS_HEALTH_SYNC_BOOST:
        return "look at the other GPUs of the sync boost group: the slowest one holds back all";
    default:
        return NULL; /* for all other reasons: the user chose the clocks */
    }
}

/* Returns the kind of kernels that takes most time (matrix products, or others), and its share of the kernels' time.
 * Lower clocks cost most time in these kernels. */
static enum ws_part part_of(const struct ws_report *report, size_t subject, double *share)
{
    const struct ws_track_kernels *kernels = ws_report_result(report, &ws_analysis_kernels, subject);
    const struct ws_kernel_row *rows = kernels->rows.data;
    double matmul = 0, other = 0;
    for (size_t i = 0; i < kernels->rows.count; i++) {
        uint8_t class = report->classes[rows[i].name];
        if (ws_model_name(report->model, rows[i].name)->activity != WS_ACTIVITY_KERNEL || class == WS_CLASS_COMM)
            continue;
        *(ws_class_is_matmul(class) ? &matmul : &other) += (double)rows[i].total;
    }
    *share = matmul + other > 0 ? (matmul > other ? matmul : other) / (matmul + other) : 0;
    return matmul > other ? WS_PART_MATMUL : WS_PART_OTHER_COMPUTE;
}

int ws_health_advise(const struct ws_report *report, size_t subject, const void *memory, struct ws_advice_list *list)
{
    const struct ws_track_health *result = memory;
    const struct ws_track_steps *steps = ws_report_result(report, &ws_analysis_steps, subject);
    const struct ws_track_activity *activity = ws_report_result(report, &ws_analysis_activity, subject);
    char evidence[240], now[WS_FORMAT_SIZE], most[WS_FORMAT_SIZE], share[WS_FORMAT_SIZE], count[WS_FORMAT_SIZE];
    double of_kernels;
    if (!result->held || result->held * 100 < result->with_reason * ADVISE_SHARE)
        return 0;
    enum ws_health_reason reason = main_reason(result);
    int64_t least_loss = reason == WS_HEALTH_POWER_CAP ? ADVISE_POWER_LOSS : ADVISE_LOSS;
    const char *what = what_to_do(reason);
    if (!what || (result->most_mhz - result->held_mhz) * 100 < result->most_mhz * least_loss)
        return 0;
    enum ws_part part = part_of(report, subject, &of_kernels);
    int64_t compute = result->in_steps ? steps->compute.mean : activity->group[WS_GROUP_COMPUTE];
    double saving = (double)compute * of_kernels * (double)result->held / (double)result->with_reason *
                    (1 - (double)result->held_mhz / (double)result->most_mhz);
    snprintf(evidence, sizeof(evidence), "clocks held down by %s for %s of the %s: %s of %s MHz (%s samples)",
             reasons[reason].text, ws_format_share(share, (int64_t)result->held, (int64_t)result->with_reason),
             result->in_steps ? "steps" : "busy time", ws_format_count(now, (uint64_t)result->held_mhz),
             ws_format_count(most, (uint64_t)result->most_mhz), ws_format_count(count, result->with_reason));
    struct ws_advice advice = { .name = "clocks",
                                .part = part,
                                .saving_ns = (int64_t)saving,
                                .what = (char *)what,
                                .where = (char *)"",
                                .evidence = evidence,
                                .track = (uint32_t)subject };
    return ws_advice_add(list, &advice);
}

/* --- JSON ----------------------------------------------------------------------------------------- */

static double share_of(size_t part, size_t whole)
{
    return whole ? (double)part / (double)whole : 0;
}

static json_t *reasons_json(const struct ws_track_health *result)
{
    json_t *list = json_array();
    int status = 0;
    for (int i = 0; i < WS_HEALTH_REASON_COUNT; i++) {
        if (!result->reasons[i])
            continue;
        json_t *row = json_object();
        status |= json_array_append_new(list, row);
        status |= json_object_set_new(row, "reason", json_string(reasons[i].key));
        status |= ws_json_set(row, "samples", (int64_t)result->reasons[i]);
        status |= json_object_set_new(row, "share", json_real(share_of(result->reasons[i], result->with_reason)));
    }
    if (!status)
        return list;
    json_decref(list);
    return NULL;
}

static int figures_json(const struct ws_track_health *result, json_t *object)
{
    int status = 0;
    for (int i = 0; i < WS_HEALTH_FIGURE_COUNT && !status; i++) {
        if (!result->figures[i].count)
            continue;
        json_t *figure = json_object();
        status |= json_object_set_new(object, figures[i].key, figure);
        status |= ws_json_set(figure, "min", result->figures[i].least);
        status |= ws_json_set(figure, "median", result->figures[i].median);
        status |= ws_json_set(figure, "max", result->figures[i].most);
    }
    return status;
}

static json_t *slow_json(const struct ws_track_steps *steps, const struct ws_track_health *result)
{
    const struct ws_health_slow *slow = result->slow.data;
    const struct ws_step *list = steps->steps.data;
    json_t *rows = json_array();
    int status = 0;
    for (size_t i = 0; i < result->slow.count; i++) {
        json_t *row = json_object();
        status |= json_array_append_new(rows, row);
        status |= ws_json_set(row, "number", (int64_t)(list[slow[i].step].number & INT64_MAX));
        status |= ws_json_set(row, "sm_mhz", slow[i].mhz);
    }
    if (!status)
        return rows;
    json_decref(rows);
    return NULL;
}

int ws_health_json(const struct ws_report *report, size_t subject, const void *memory, json_t *object)
{
    const struct ws_track_health *result = memory;
    const struct ws_track_steps *steps = ws_report_result(report, &ws_analysis_steps, subject);
    if (!result->samples && !result->failed)
        return 0;
    json_t *health = json_object();
    int status = json_object_set_new(object, "health", health);
    status |= ws_json_set(health, "samples", (int64_t)result->samples);
    status |= ws_json_set(health, "samples_counted", (int64_t)result->counted);
    status |= ws_json_set(health, "samples_failed", (int64_t)result->failed);
    if (result->failed)
        status |= ws_json_set(health, "error", result->error);
    status |= json_object_set_new(health, "in_steps", json_boolean(result->in_steps));
    if (result->most_mhz)
        status |= ws_json_set(health, "sm_most_mhz", result->most_mhz);
    if (result->limit_mw)
        status |= ws_json_set(health, "power_limit_mw", result->limit_mw);
    if (result->ecc_errors >= 0) {
        status |= ws_json_set(health, "ecc_errors", result->ecc_errors);
        status |= ws_json_set(health, "ecc_errors_before", result->ecc_errors_before);
    }
    if (result->with_reason) {
        status |= json_object_set_new(health, "held_share", json_real(share_of(result->held, result->with_reason)));
        status |= json_object_set_new(health, "reasons", reasons_json(result));
    }
    if (result->held)
        status |= ws_json_set(health, "held_sm_mhz", result->held_mhz);
    if (result->slow_known) {
        status |= ws_json_set(health, "slow_steps_with_clock", (int64_t)result->slow_known);
        status |= json_object_set_new(health, "slow_steps_at_lower_clocks", slow_json(steps, result));
    }
    status |= figures_json(result, health);
    return status ? -ENOMEM : 0;
}
