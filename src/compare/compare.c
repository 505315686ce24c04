#include "compare/compare.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/kernels/classify.h"
#include "base/hash.h"
#include "base/salted.h"
#include "compare/name_difference.h"

static const char *const match_names[WS_PAIRING_COUNT] = {
    [WS_PAIRED_BY_NAME] = "name", [WS_PAIRED_BY_NUMBERS] = "numbers",
    [WS_PAIRED_BY_STEM] = "stem", [WS_PAIRED_BY_SHAPE] = "shape",
    [WS_UNPAIRED] = "none",
};

const char *ws_pairing_name(enum ws_pairing match)
{
    return match_names[match];
}

const char *ws_sample_class_name(uint32_t of_class)
{
    return of_class == WS_GRAPH_CLASS ? "graph" : ws_kernel_class_name(of_class);
}

int64_t ws_change_ns(double ns)
{
    double most = (double)(INT64_MAX / 2);
    return ns > most ? INT64_MAX / 2 : ns < -most ? -INT64_MAX / 2 : (int64_t)llround(ns);
}

/* --- one change -------------------------------------------------------------------------------- */

/* Returns the 97.5 % quantile of Student's t distribution. Values beyond the table are computed, accurate to 0.01. */
static double students_t(double degrees)
{
    static const double table[] = { 12.71, 12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26 };
    size_t whole = degrees > 0 ? (size_t)degrees : 0;
    return whole < sizeof(table) / sizeof(table[0]) ? table[whole] : 1.96 + 2.6 / degrees;
}

static double compare_mean(const struct ws_sum *sum, size_t samples)
{
    return sum->sum / (double)samples;
}

/* Returns the variance of the samples, or 0 if there are fewer than two samples. */
static double compare_variance_of(const struct ws_sum *sum, size_t samples)
{
    if (samples < 2)
        return 0;
    double count = (double)samples, variance = (sum->squares - sum->sum * (sum->sum / count)) / (count - 1);
    return variance > 0 ? variance : 0;
}

static size_t samples_of(const struct ws_comparison *comparison, const struct ws_report_side *side)
{
    return side->per[comparison->sampling].count;
}

/* The squared standard error of a mean, and its degrees of freedom. The devices of a job run in lockstep, so their
 * steps are not independent. Therefore the sample size is the number of steps per device. */
struct spread {
    double square;
    double degrees;
};

static struct spread spread_of(const struct ws_sum *sum, const struct ws_samples *samples, double otherwise)
{
    double count = (double)samples->count / (double)samples->devices;
    double variance = samples->count > 1 ? compare_variance_of(sum, samples->count) : otherwise;
    return (struct spread){ variance / count, count > 2 ? count - 1 : 1 };
}

/* Returns the largest difference of the two means that chance explains, at 95 % confidence, by Welch's t-test. A side
 * with only one sample is assumed to vary like the other side. */
static double chance(const struct ws_sum *before, const struct ws_samples *first, const struct ws_sum *after,
                     const struct ws_samples *second)
{
    struct spread x = spread_of(before, first, compare_variance_of(after, second->count));
    struct spread y = spread_of(after, second, compare_variance_of(before, first->count));
    double both = x.square + y.square;
    if (both <= 0)
        return 0;
    double degrees = both * both / (x.square * x.square / x.degrees + y.square * y.square / y.degrees);
    return students_t(degrees) * sqrt(both);
}

/* Adds a change with its noise (see compare.h). */
static struct ws_change *compare_add(struct ws_comparison *comparison, enum ws_change_group group,
                                     const struct ws_sum *before, const struct ws_sum *after)
{
    static const struct ws_sum none = { 0 };
    size_t first = samples_of(comparison, comparison->before), second = samples_of(comparison, comparison->after);
    struct ws_change *change = ws_vector_push(&comparison->changes);
    before = before ? before : &none;
    after = after ? after : &none;
    if (!change)
        return NULL;
    change->group = group;
    change->before = compare_mean(before, first);
    change->after = compare_mean(after, second);
    change->noise = before->error / (double)first + after->error / (double)second;
    if (comparison->sampling == WS_PER_STEP)
        change->noise +=
            chance(before, &comparison->before->per[WS_PER_STEP], after, &comparison->after->per[WS_PER_STEP]);
    return change;
}

/* Adds a change with a name, unless its value is 0 on both sides. */
static int add_named(struct ws_comparison *comparison, enum ws_change_group group, const char *key, const char *label,
                     const struct ws_sum *before, const struct ws_sum *after)
{
    if (!before->sum && !after->sum)
        return 0;
    struct ws_change *change = compare_add(comparison, group, before, after);
    if (!change)
        return -ENOMEM;
    change->key = key;
    change->label = label;
    return 0;
}

bool ws_change_is_regression(const struct ws_change *change, double share)
{
    return change->after > change->before * (1 + share) && !ws_change_is_noise(change);
}

/* --- the compared figures ------------------------------------------------------------------------ */

static int compare_add_times(struct ws_comparison *comparison, const struct ws_samples *before,
                             const struct ws_samples *after)
{
    static const struct {
        const char *key, *label;
    } times[] = {
#define TIME(name, key, label) { key, label },
        WS_SAMPLE_TIMES(TIME)
#undef TIME
    };
    struct ws_change *length = compare_add(comparison, WS_CHANGE_TIME, &before->times[0], &after->times[0]);
    if (!length)
        return -ENOMEM;
    length->key = times[0].key;
    length->label = comparison->sampling == WS_PER_STEP ? "step" : "recording";
    for (size_t i = 1; i < WS_SAMPLE_TIME_COUNT; i++)
        if (add_named(comparison, WS_CHANGE_TIME, times[i].key, times[i].label, &before->times[i], &after->times[i]))
            return -ENOMEM;
    return 0;
}

static int add_parts(struct ws_comparison *comparison, const struct ws_samples *before,
                     const struct ws_samples *after)
{
    static const struct {
        const char *key, *label;
    } parts[WS_SAMPLE_PART_COUNT] = {
#define CAUSE(name, key, wall, text) { key, text " gaps" },
        WS_CAUSES(CAUSE)
#undef CAUSE
            [WS_SAMPLE_EXPOSED_COMM] = { "exposed_communication", "exposed communication" },
        [WS_SAMPLE_EXPOSED_MEMORY] = { "exposed_memory", "exposed copies" },
        [WS_SAMPLE_COMPUTE] = { "compute", "compute" },
    };
    for (size_t i = 0; i < WS_SAMPLE_PART_COUNT; i++)
        if (add_named(comparison, WS_CHANGE_PART, parts[i].key, parts[i].label, &before->parts[i], &after->parts[i]))
            return -ENOMEM;
    return 0;
}

static int compare_add_classes(struct ws_comparison *comparison, const struct ws_samples *before,
                               const struct ws_samples *after)
{
    for (uint32_t i = 0; i < WS_SAMPLE_CLASSES; i++)
        if (add_named(comparison, WS_CHANGE_CLASS, ws_sample_class_name(i), ws_sample_class_name(i),
                      &before->classes[i], &after->classes[i]))
            return -ENOMEM;
    return 0;
}

static int compare_add_amounts(struct ws_comparison *comparison, const struct ws_samples *before,
                               const struct ws_samples *after)
{
    static const struct {
        const char *key, *unit, *label;
    } amounts[] = {
#define AMOUNT(name, key, unit, label) { key, unit, label },
        WS_SAMPLE_AMOUNTS(AMOUNT)
#undef AMOUNT
    };
    for (size_t i = 0; i < WS_SAMPLE_AMOUNT_COUNT; i++) {
        size_t count = comparison->changes.count;
        if (add_named(comparison, WS_CHANGE_AMOUNT, amounts[i].key, amounts[i].label, &before->amounts[i],
                      &after->amounts[i]))
            return -ENOMEM;
        if (comparison->changes.count > count)
            ((struct ws_change *)comparison->changes.data)[count].unit = amounts[i].unit;
    }
    return 0;
}

static uint64_t key_of_line(const struct ws_report_side_line *line)
{
    uint64_t hash = ws_hash(line->where, strlen(line->where)) * WS_CAUSE_COUNT + line->cause;
    return hash ? hash : 1;
}

static int add_line(struct ws_comparison *comparison, const struct ws_report_side_line *before,
                    const struct ws_report_side_line *after)
{
    static const struct ws_sum none = { 0 };
    const struct ws_report_side_line *either = before ? before : after;
    return add_named(comparison, WS_CHANGE_LINE, ws_part_name(either->cause), either->where,
                     before ? &before->per[comparison->sampling].time : &none,
                     after ? &after->per[comparison->sampling].time : &none);
}

/* Adds the changes of idle time by line of code. A line of one recording matches a line of the other recording if the
 * cause of the idle time and the place in the program are equal. */
static int add_lines(struct ws_comparison *comparison, const struct ws_samples *before,
                     const struct ws_samples *after)
{
    const struct ws_report_side_line *first = comparison->before->lines.data, *second = comparison->after->lines.data;
    struct ws_map places = { 0 }; /* key of a line → 1 + its index in after->lines; 0 once the line is matched */
    int status = 0;
    (void)before;
    (void)after;
    for (size_t i = 0; i < comparison->after->lines.count && !status; i++) {
        uint64_t *place = ws_salted_put(&places, key_of_line(&second[i]));
        status = place ? 0 : -ENOMEM;
        if (place)
            *place = i + 1;
    }
    for (size_t i = 0; i < comparison->before->lines.count && !status; i++) {
        uint64_t *place = ws_salted_get(&places, key_of_line(&first[i]));
        status = add_line(comparison, &first[i], place && *place ? &second[*place - 1] : NULL);
        if (place)
            *place = 0;
    }
    for (size_t i = 0; i < comparison->after->lines.count && !status; i++) {
        const uint64_t *place = ws_salted_get(&places, key_of_line(&second[i]));
        status = place && *place == i + 1 ? add_line(comparison, NULL, &second[i]) : 0;
    }
    ws_map_finish(&places);
    return status;
}

static int compare_add_kernels(struct ws_comparison *comparison, const struct ws_samples *before,
                               const struct ws_samples *after)
{
    (void)before;
    (void)after;
    if (ws_pair_kernels(comparison->before, comparison->after, comparison->sampling, &comparison->pairs))
        return -ENOMEM;
    const struct ws_pair *pairs = comparison->pairs.data;
    for (size_t i = 0; i < comparison->pairs.count; i++) {
        const struct ws_report_side_kernel *old = pairs[i].before, *now = pairs[i].after;
        struct ws_change *change =
            compare_add(comparison, WS_CHANGE_KERNEL, old ? &old->per[comparison->sampling].time : NULL,
                        now ? &now->per[comparison->sampling].time : NULL);
        if (!change)
            return -ENOMEM;
        change->pair = &pairs[i];
        change->label = pairs[i].either->name;
    }
    return 0;
}

static int add_collective(struct ws_comparison *comparison, const struct ws_report_side_collective *before,
                          const struct ws_report_side_collective *after)
{
    static const struct ws_sum none = { 0 };
    size_t count = comparison->changes.count;
    const char *name = before ? before->name : after ? after->name : "";
    if (add_named(comparison, WS_CHANGE_COLLECTIVE, name, name,
                  before ? &before->per[comparison->sampling].time : &none,
                  after ? &after->per[comparison->sampling].time : &none))
        return -ENOMEM;
    if (comparison->changes.count > count) {
        struct ws_change *change = (struct ws_change *)comparison->changes.data + count;
        change->collectives[0] = before;
        change->collectives[1] = after;
    }
    return 0;
}

/* Finds the collective of this side that has the name and the number of ranks of `one`. Searches linearly, because
 * there are few collectives. */
static const struct ws_report_side_collective *same_collective(const struct ws_report_side *side,
                                                               const struct ws_report_side_collective *one)
{
    const struct ws_report_side_collective *rows = side->collectives.data;
    for (size_t i = 0; i < side->collectives.count; i++)
        if (!strcmp(rows[i].name, one->name) && rows[i].ranks == one->ranks)
            return &rows[i];
    return NULL;
}

static int add_collectives(struct ws_comparison *comparison, const struct ws_samples *before,
                           const struct ws_samples *after)
{
    const struct ws_report_side_collective *first = comparison->before->collectives.data;
    const struct ws_report_side_collective *second = comparison->after->collectives.data;
    int status = 0;
    (void)before;
    (void)after;
    for (size_t i = 0; i < comparison->before->collectives.count && !status; i++)
        status = add_collective(comparison, &first[i], same_collective(comparison->after, &first[i]));
    for (size_t i = 0; i < comparison->after->collectives.count && !status; i++)
        if (!same_collective(comparison->before, &second[i]))
            status = add_collective(comparison, NULL, &second[i]);
    return status;
}

double ws_change_bus_rate(const struct ws_comparison *comparison, const struct ws_report_side_collective *collective)
{
    if (!collective)
        return 0;
    double time = collective->per[comparison->sampling].time.sum;
    return time > 0 ? collective->bytes[comparison->sampling] / time * collective->bus_factor : 0;
}

/* --- the comparison ---------------------------------------------------------------------------- */

static int compare_largest_first(const void *a, const void *b)
{
    const struct ws_change *x = a, *y = b;
    double first = fabs(x->after - x->before), second = fabs(y->after - y->before);
    if (first != second)
        return first < second ? 1 : -1;
    first = x->after + x->before;
    second = y->after + y->before;
    return first != second ? (first < second ? 1 : -1) : strcmp(x->label, y->label);
}

static const struct {
    int (*add)(struct ws_comparison *comparison, const struct ws_samples *before, const struct ws_samples *after);
    bool sorted;
} groups[WS_CHANGE_GROUP_COUNT] = {
    [WS_CHANGE_TIME] = { compare_add_times, false },
    [WS_CHANGE_PART] = { add_parts, true },
    [WS_CHANGE_LINE] = { add_lines, true },
    [WS_CHANGE_CLASS] = { compare_add_classes, true },
    [WS_CHANGE_KERNEL] = { compare_add_kernels, true },
    [WS_CHANGE_COLLECTIVE] = { add_collectives, true },
    [WS_CHANGE_AMOUNT] = { compare_add_amounts, false },
};

int ws_compare(struct ws_comparison *comparison, const struct ws_report_side *before,
               const struct ws_report_side *after, char *message, size_t capacity)
{
    bool both = before->per[WS_PER_STEP].count && after->per[WS_PER_STEP].count;
    *comparison = (struct ws_comparison){
        .before = before,
        .after = after,
        .sampling = both ? WS_PER_STEP : WS_PER_RECORDING,
        .pairs = WS_VECTOR(struct ws_pair),
        .changes = WS_VECTOR(struct ws_change),
    };
    if (!samples_of(comparison, before) || !samples_of(comparison, after)) {
        snprintf(message, capacity, "%s recording holds no device times: there is nothing to compare",
                 samples_of(comparison, before) ? "the second" : "the first");
        return -ENODATA;
    }
    for (size_t i = 0; i < WS_CHANGE_GROUP_COUNT; i++) {
        size_t first = comparison->begins[i] = comparison->changes.count;
        if (groups[i].add(comparison, &before->per[comparison->sampling], &after->per[comparison->sampling])) {
            snprintf(message, capacity, "out of memory");
            return -ENOMEM;
        }
        size_t count = comparison->changes.count - first;
        if (groups[i].sorted && count)
            qsort((struct ws_change *)comparison->changes.data + first, count, sizeof(struct ws_change),
                  compare_largest_first);
    }
    comparison->begins[WS_CHANGE_GROUP_COUNT] = comparison->changes.count;
    size_t kernels = comparison->begins[WS_CHANGE_KERNEL];
    if (ws_changes_find_alike((struct ws_change *)comparison->changes.data + kernels,
                              comparison->begins[WS_CHANGE_KERNEL + 1] - kernels)) {
        snprintf(message, capacity, "out of memory");
        return -ENOMEM;
    }
    return 0;
}

void ws_comparison_finish(struct ws_comparison *comparison)
{
    ws_vector_finish(&comparison->pairs);
    ws_vector_finish(&comparison->changes);
}

bool ws_comparison_is_partial(const struct ws_comparison *comparison)
{
    const struct ws_report_side *before = comparison->before, *after = comparison->after;
    return comparison->sampling == WS_PER_RECORDING &&
           (before->counted || after->counted || before->cut || after->cut);
}

bool ws_comparison_is_unequal(const struct ws_comparison *comparison)
{
    const char *before = comparison->before->placement, *after = comparison->after->placement;
    return *before && *after && strcmp(before, after) != 0;
}

const struct ws_change *ws_comparison_total(const struct ws_comparison *comparison)
{
    return comparison->changes.data; /* the first change is of the length of a step or recording */
}
