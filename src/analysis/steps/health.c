#include "analysis/steps/health.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/activity/activity.h"
#include "analysis/kernels/kernels.h"
#include "analysis/steps/slow_steps.h"

enum {
    IDLE_NS = 10000000, /* ns; samples in a longer gap between operations do not count, as the device was idle */
    /* thousandths of the maximum SM clock; a clock counts as held down only if it is lower than the maximum by more
     * than this */
    HELD_PER_MILLE = 20,
    /* percent; lower clocks explain a slow step if its SM clock is at least this far below the median SM clock */
    LOWER_PERCENT = 5,
};

static const struct {
    uint64_t bit;
} reasons[WS_HEALTH_REASON_COUNT] = {
#define REASON(name, bit, key, text) [WS_HEALTH_##name] = { bit },
    WS_HEALTH_REASONS(REASON)
#undef REASON
};

/* The health samples (clocks, power, temperature) of one device in order of time, except samples that gave only an
 * error. */
struct samples {
    const struct ws_health **list;
    size_t count;
    bool *counts; /* by index in `list`: the sample counts, because the device was at work (health.h) */
};

/* --- which samples count -------------------------------------------------------------------------- */

static int compare_times(const void *a, const void *b)
{
    int64_t left = (*(const struct ws_health *const *)a)->host_ns;
    int64_t right = (*(const struct ws_health *const *)b)->host_ns;
    return (left > right) - (left < right);
}

static int gather(const struct ws_process *process, uint32_t device, struct samples *samples,
                  struct ws_track_health *result)
{
    const struct ws_health *rows = process->health.data;
    samples->list = calloc(process->health.count + 1, sizeof(const struct ws_health *));
    samples->counts = calloc(process->health.count + 1, sizeof(*samples->counts));
    if (!samples->list || !samples->counts)
        return -ENOMEM;
    for (size_t i = 0; i < process->health.count; i++) {
        if (rows[i].device != device)
            continue;
        if (rows[i].error) {
            result->failed++;
            result->error = rows[i].error;
        } else {
            samples->list[samples->count++] = &rows[i];
        }
    }
    qsort(samples->list, samples->count, sizeof(const struct ws_health *), compare_times);
    result->samples = samples->count;
    return 0;
}

static void choose(const struct ws_track_activity *activity, const struct ws_track_steps *steps,
                   struct samples *samples, struct ws_track_health *result)
{
    struct ws_gap_walk walk = ws_gap_walk(&activity->gaps, 0);
    struct ws_steady_walk steady = ws_steady_walk(steps);
    struct ws_gap gap = { 0 };
    bool more = activity->gaps.places > 0 && ws_gap_next(&walk, &gap);
    result->in_steps = steps->kinds[WS_STEP_STEADY] > 0;
    for (size_t i = 0; i < samples->count; i++) {
        int64_t at = samples->list[i]->host_ns;
        while (more && (gap.end <= at || ws_gap_length(&gap) <= IDLE_NS))
            more = ws_gap_next(&walk, &gap);
        bool works = at >= activity->begin && at < activity->end && !(more && gap.begin <= at);
        samples->counts[i] = works && (!result->in_steps || ws_steady_at(&steady, at));
        result->counted += samples->counts[i];
    }
}

/* --- figures -------------------------------------------------------------------------------------- */

static int compare_numbers(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

static int64_t median(int64_t *values, size_t count)
{
    qsort(values, count, sizeof(*values), compare_numbers);
    return count ? values[count / 2] : 0;
}

/* Returns the smaller of the value and 2^50, because sums of larger values could overflow. */
static int64_t believed(uint64_t value)
{
    return value < (uint64_t)1 << 50 ? (int64_t)value : (int64_t)1 << 50;
}

/* Returns the bytes per second that a link (PCIe or NVLink) carried between two samples, or -1 if this rate is not
 * known. `from` and `to` are the values of the link's byte counter in the two samples. This counter only grows, so a
 * lower value means that it wrapped around. */
static int64_t rate(const struct ws_health *before, const struct ws_health *now, enum ws_health_field field,
                    uint64_t from, uint64_t to)
{
    int64_t ns = now->host_ns - before->host_ns;
    if (!ws_health_knows(before, field) || !ws_health_knows(now, field) || ns <= 0 || to < from)
        return -1;
    double bytes_s = (double)(to - from) * 1e9 / (double)ns;
    return bytes_s < 1e15 ? (int64_t)bytes_s : -1;
}

/* Returns the value of a figure (clock, power …) in the sample at index i, or -1 if it is not known. */
static int64_t value_of(const struct samples *samples, size_t i, enum ws_health_figure_name figure)
{
    const struct ws_health *now = samples->list[i], *before = i ? samples->list[i - 1] : now;
#define KNOWN(field) (ws_health_knows(now, WS_HEALTH_##field) ? believed(now->field) : -1)
#define RATE(field) rate(before, now, WS_HEALTH_##field, before->field, now->field)
    switch (figure) {
    case WS_HEALTH_OF_SM_CLOCK:
        return KNOWN(sm_mhz);
    case WS_HEALTH_OF_MEMORY_CLOCK:
        return KNOWN(memory_mhz);
    case WS_HEALTH_OF_POWER:
        return KNOWN(power_mw);
    case WS_HEALTH_OF_TEMPERATURE:
        return KNOWN(celsius);
    case WS_HEALTH_OF_UTILISATION:
        return KNOWN(busy_percent);
    case WS_HEALTH_OF_MEMORY_USED:
        return KNOWN(memory_used);
    case WS_HEALTH_OF_NVLINK_SENT:
        return RATE(nvlink_sent);
    case WS_HEALTH_OF_NVLINK_RECEIVED:
        return RATE(nvlink_received);
    case WS_HEALTH_OF_PCIE_SENT:
        return RATE(pcie_sent);
    case WS_HEALTH_OF_PCIE_RECEIVED:
        return RATE(pcie_received);
    default:
        return -1;
    }
#undef KNOWN
#undef RATE
}

/* Computes the least, median and largest value of each figure (clock, power …) over the samples that count. `values`
 * is scratch space with room for one number per sample. */
static void measure(const struct samples *samples, int64_t *values, struct ws_track_health *result)
{
    for (int figure = 0; figure < WS_HEALTH_FIGURE_COUNT; figure++) {
        struct ws_health_figure *of = &result->figures[figure];
        for (size_t i = 0; i < samples->count; i++) {
            int64_t value = samples->counts[i] ? value_of(samples, i, (enum ws_health_figure_name)figure) : -1;
            if (value >= 0)
                values[of->count++] = value;
        }
        of->median = median(values, of->count);
        of->least = of->count ? values[0] : 0;
        of->most = of->count ? values[of->count - 1] : 0;
    }
}

/* --- what held clocks down ------------------------------------------------------------------------ */

static void find_limits(const struct samples *samples, const struct ws_device *device, struct ws_track_health *result)
{
    const struct ws_health *first = NULL, *last = NULL;
    result->most_mhz = device ? device->clock_khz / 1000 : 0;
    for (size_t i = 0; i < samples->count; i++) {
        const struct ws_health *sample = samples->list[i];
        if (ws_health_knows(sample, WS_HEALTH_sm_most_mhz) && sample->sm_most_mhz)
            result->most_mhz = sample->sm_most_mhz;
        if (ws_health_knows(sample, WS_HEALTH_power_limit_mw))
            result->limit_mw = sample->power_limit_mw;
        if (!ws_health_knows(sample, WS_HEALTH_ecc_errors))
            continue;
        first = first ? first : sample;
        last = sample;
    }
    result->ecc_errors_before = first ? believed(first->ecc_errors) : -1;
    result->ecc_errors = !first                                 ? -1
                         : last->ecc_errors < first->ecc_errors ? 0
                                                                : believed(last->ecc_errors - first->ecc_errors);
}

static bool is_held(const struct ws_health *sample, const struct ws_track_health *result)
{
    uint64_t holding = 0;
    for (int i = 0; i < WS_HEALTH_REASON_COUNT; i++)
        holding |= reasons[i].bit;
    return sample->reasons & holding && ws_health_knows(sample, WS_HEALTH_sm_mhz) &&
           sample->sm_mhz < result->most_mhz * (1000 - HELD_PER_MILLE) / 1000;
}

static void judge(const struct samples *samples, int64_t *values, struct ws_track_health *result)
{
    for (size_t i = 0; i < samples->count; i++) {
        const struct ws_health *sample = samples->list[i];
        if (!samples->counts[i] || !ws_health_knows(sample, WS_HEALTH_reasons))
            continue;
        result->with_reason++;
        if (!is_held(sample, result))
            continue;
        values[result->held++] = sample->sm_mhz;
        for (int reason = 0; reason < WS_HEALTH_REASON_COUNT; reason++)
            result->reasons[reason] += (sample->reasons & reasons[reason].bit) != 0;
    }
    result->held_mhz = median(values, result->held);
}

/* --- slow steps ----------------------------------------------------------------------------------- */

static int64_t clock_of(const struct samples *samples, size_t i)
{
    return i < samples->count ? value_of(samples, i, WS_HEALTH_OF_SM_CLOCK) : -1;
}

/* Returns the mean SM clock of the samples in the step, in MHz. If the step has no samples, returns the higher clock
 * of the last sample before the step and the first one after it. Returns -1 if the clock is not known. */
static int64_t step_clock(const struct samples *samples, size_t *cursor, const struct ws_step *step)
{
    int64_t sum = 0, count = 0;
    while (*cursor < samples->count && samples->list[*cursor]->host_ns < step->begin)
        ++*cursor;
    for (size_t i = *cursor; i < samples->count && samples->list[i]->host_ns < step->end; i++) {
        int64_t mhz = clock_of(samples, i);
        sum += mhz > 0 ? mhz : 0;
        count += mhz > 0;
    }
    if (count)
        return sum / count;
    int64_t before = *cursor ? clock_of(samples, *cursor - 1) : -1, after = clock_of(samples, *cursor);
    return before < 0 || after < 0 ? -1 : ws_max(before, after);
}

static int explain_slow(const struct ws_track_steps *steps, const struct samples *samples,
                        struct ws_track_health *result)
{
    const struct ws_slow_step *slow = steps->slow_steps.data;
    const struct ws_step *list = steps->steps.data;
    int64_t usual = result->figures[WS_HEALTH_OF_SM_CLOCK].median;
    size_t cursor = 0;
    for (size_t i = 0; i < steps->slow_steps.count && usual; i++) {
        int64_t mhz = step_clock(samples, &cursor, &list[slow[i].step]);
        result->slow_known += mhz > 0;
        if (mhz <= 0 || mhz > usual * (100 - LOWER_PERCENT) / 100)
            continue;
        struct ws_health_slow *row = ws_vector_push(&result->slow);
        if (!row)
            return -ENOMEM;
        *row = (struct ws_health_slow){ slow[i].step, (uint32_t)mhz };
    }
    return 0;
}

/* --- the analysis --------------------------------------------------------------------------------- */

static int health_run(const struct ws_report *report, size_t subject, void *memory)
{
    const struct ws_track *track = ws_model_track(report->model, subject);
    const struct ws_process *process = ws_model_process(report->model, track->process);
    const struct ws_track_steps *steps = ws_report_result(report, &ws_analysis_steps, subject);
    struct ws_track_health *result = memory;
    struct samples samples = { 0 };
    result->slow = WS_VECTOR(struct ws_health_slow);
    result->ecc_errors = result->ecc_errors_before = -1;
    if (!process->health.count)
        return 0;
    int status = gather(process, track->device, &samples, result);
    int64_t *values = status ? NULL : malloc((samples.count + 1) * sizeof(*values));
    status = values ? 0 : -ENOMEM;
    if (!status) {
        choose(ws_report_result(report, &ws_analysis_activity, subject), steps, &samples, result);
        find_limits(&samples, ws_track_device(report->model, track), result);
        measure(&samples, values, result);
        judge(&samples, values, result);
        status = explain_slow(steps, &samples, result);
    }
    free(values);
    free(samples.list);
    free(samples.counts);
    return status;
}

static void health_finish(void *memory)
{
    ws_vector_finish(&((struct ws_track_health *)memory)->slow);
}

static bool health_has_section(const void *memory)
{
    const struct ws_track_health *result = memory;
    return result->samples || result->failed;
}

const struct ws_analysis ws_analysis_health = {
    .name = "health",
    .title = "GPU health",
    .scope = WS_SCOPE_TRACK,
    .result_size = sizeof(struct ws_track_health),
    .needs = { &ws_analysis_activity, &ws_analysis_steps, &ws_analysis_kernels },
    .run = health_run,
    .finish = health_finish,
    .has_section = health_has_section,
    .text = ws_health_text,
    .advise = ws_health_advise,
    .json = ws_health_json,
};
