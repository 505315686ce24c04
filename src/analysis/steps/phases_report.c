#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "analysis/steps/phases.h"

static const struct {
    const char *key, *label;
} phase_names[WS_PHASE_COUNT] = {
    [WS_PHASE_NOT_KNOWN] = { "not_known", "not known" },
    [WS_PHASE_PREFILL] = { "prefill", "prefill" },
    [WS_PHASE_DECODE] = { "decode", "decode" },
    [WS_PHASE_MIXED] = { "mixed", "mixed" },
};

const char *ws_phase_name(enum ws_phase phase)
{
    return phase_names[phase].label;
}

json_t *ws_phase_json(enum ws_phase phase)
{
    return json_string(phase_names[phase].key);
}

/* Lists the phases that have steps, in order of decreasing time. Returns the number of these phases. */
static size_t sorted_phases(const struct ws_phases *phases, enum ws_phase *sorted)
{
    size_t count = 0;
    for (unsigned phase = 0; phase < WS_PHASE_COUNT; phase++) {
        size_t place = count;
        if (!phases->rows[phase].steps)
            continue;
        for (; place && phases->rows[sorted[place - 1]].lasted < phases->rows[phase].lasted; place--)
            sorted[place] = sorted[place - 1];
        sorted[place] = phase;
        count++;
    }
    return count;
}

static int64_t mean_length(const struct ws_phase_row *row)
{
    return row->lasted / (int64_t)row->steps;
}

/* `sum` is the sum of a value (requests or tokens) over the steps for which it is known, and `with` is the number of
 * these steps. Returns `sum` if the value is known for all steps of the row, else 0. */
static double sum_if_known(const struct ws_phase_row *row, double sum, size_t with)
{
    return with == row->steps ? sum : 0;
}

static double tokens_per_second(const struct ws_phase_row *row)
{
    double tokens = sum_if_known(row, row->tokens, row->with_tokens);
    return row->lasted > 0 ? tokens * 1e9 / (double)row->lasted : 0;
}

void ws_phases_write(const struct ws_phases *phases, char *text, size_t capacity)
{
    enum ws_phase sorted[WS_PHASE_COUNT];
    char count[WS_FORMAT_SIZE], mean[WS_FORMAT_SIZE];
    size_t shown = sorted_phases(phases, sorted), used = 0;
    text[0] = 0;
    for (size_t i = 0; i < shown && used < capacity; i++) {
        const struct ws_phase_row *row = &phases->rows[sorted[i]];
        used += (size_t)snprintf(text + used, capacity - used, "%s%s %s%s of %s", i ? ", " : "",
                                 phase_names[sorted[i]].label, ws_format_count(count, row->steps),
                                 i                 ? ""
                                 : row->steps == 1 ? " step"
                                                   : " steps",
                                 ws_format_time(mean, mean_length(row)));
    }
}

void ws_phases_text(const struct ws_phases *phases, struct ws_page *page)
{
    static const struct ws_table_column columns[] = {
        { "phase", true, false },   { "steps", false, false },   { "requests", false, WS_NARROW_LEAVE_OUT },
        { "tokens", false, false }, { "mean", false, false },    { "p95", false, false },
        { "busy", false, false },   { "kernels", false, false }, { "tokens/s", false, false },
    };
    enum ws_phase sorted[WS_PHASE_COUNT];
    size_t shown = sorted_phases(phases, sorted);
    char share[WS_FORMAT_SIZE];
    struct ws_table table;
    ws_table_init(&table, page, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < shown; i++) {
        const struct ws_phase_row *row = &phases->rows[sorted[i]];
        ws_table_cell(&table, "%s", phase_names[sorted[i]].label);
        ws_table_count(&table, row->steps);
        ws_table_real(&table, sum_if_known(row, row->requests, row->with_requests) / (double)row->steps);
        ws_table_real(&table, sum_if_known(row, row->tokens, row->with_tokens) / (double)row->steps);
        ws_table_time(&table, mean_length(row));
        ws_table_time(&table, row->p95);
        ws_table_cell(&table, "%s", ws_format_share(share, row->busy, row->lasted));
        ws_table_cell(&table, "%s", ws_format_share(share, row->kernels, phases->kernels));
        ws_table_real(&table, tokens_per_second(row));
    }
    ws_table_finish(&table);
    ws_page_text(page, "Phases are those that the server's ranges name. \"requests\", \"tokens\": those that a step "
                       "works on, on average (–: the names do not say); \"busy\": share of the steps' time; "
                       "\"kernels\": share of all kernels' time; \"tokens/s\": in the steps' time.");
}

/* Sets a key of the JSON object to a number, or to null if the number is 0 (not known). */
static int set_known(json_t *object, const char *key, double value)
{
    return json_object_set_new(object, key, value > 0 ? json_real(value) : json_null());
}

static json_t *phases_row_json(const struct ws_phases *phases, enum ws_phase phase)
{
    const struct ws_phase_row *row = &phases->rows[phase];
    json_t *object = json_object();
    int status = json_object_set_new(object, "phase", ws_phase_json(phase));
    status |= ws_json_set(object, "steps", (int64_t)row->steps);
    status |= set_known(object, "requests", sum_if_known(row, row->requests, row->with_requests));
    status |= set_known(object, "tokens", sum_if_known(row, row->tokens, row->with_tokens));
    status |= ws_json_set(object, "lasted_ns", row->lasted);
    status |= ws_json_set(object, "mean_ns", mean_length(row));
    status |= ws_json_set(object, "p95_ns", row->p95);
    status |= ws_json_set(object, "busy_ns", row->busy);
    status |= ws_json_set(object, "kernels_ns", row->kernels);
    status |=
        set_known(object, "kernels_share", phases->kernels > 0 ? (double)row->kernels / (double)phases->kernels : 0);
    status |= set_known(object, "tokens_per_second", tokens_per_second(row));
    if (!status)
        return object;
    json_decref(object);
    return NULL;
}

int ws_phases_json(const struct ws_phases *phases, json_t *object)
{
    enum ws_phase sorted[WS_PHASE_COUNT];
    size_t shown = sorted_phases(phases, sorted);
    if (!phases->any)
        return 0;
    json_t *rows = json_array();
    int status = json_object_set_new(object, "phases", rows);
    for (size_t i = 0; i < shown && !status; i++)
        status = json_array_append_new(rows, phases_row_json(phases, sorted[i]));
    return status ? -ENOMEM : 0;
}
