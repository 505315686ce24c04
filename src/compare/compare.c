#include "compare/compare.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

static const char *const match_names[WS_PAIRING_COUNT] = {
    [WS_PAIRED_BY_NAME] = "name", [WS_PAIRED_BY_NUMBERS] = "numbers",
    [WS_PAIRED_BY_STEM] = "stem", [WS_PAIRED_BY_SHAPE] = "shape",
    [WS_UNPAIRED] = "none",
};

const char *ws_pairing_name(enum ws_pairing match)
{
    return match_names[match];
}

const char *ws_sample_class_name(uint32_t class)
{
    return class == WS_GRAPH_CLASS ? "graph" : ws_kernel_class_name(class);
}

const char *ws_pair_name(const struct ws_side *side, const struct ws_side_kernel *kernel)
{
    return kernel ? ws_model_name(side->report->model, kernel->name)->text : NULL;
}

/* --- one change -------------------------------------------------------------------------------- */

/* Student's t for 97.5 %, by degrees of freedom; above the table within 0.01. */
static double students_t(double degrees)
{
    static const double table[] = { 12.71, 12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26 };
    size_t whole = degrees > 0 ? (size_t)degrees : 0;
    return whole < sizeof(table) / sizeof(table[0]) ? table[whole] : 1.96 + 2.6 / degrees;
}

/* What chance makes of the difference of two means, after Welch. A side of one sample is taken to vary as the other
 * does. */
static double chance(const struct ws_sum *before, size_t first, const struct ws_sum *after, size_t second)
{
    double variance[2] = { ws_sum_variance(before, first), ws_sum_variance(after, second) };
    double count[2] = { (double)first, (double)second };
    if (first < 2)
        variance[0] = variance[1];
    if (second < 2)
        variance[1] = variance[0];
    double x = variance[0] / count[0], y = variance[1] / count[1], degrees = 0;
    if (x + y <= 0)
        return 0;
    degrees += first > 1 ? x * x / (count[0] - 1) : 0;
    degrees += second > 1 ? y * y / (count[1] - 1) : 0;
    return students_t((x + y) * (x + y) / degrees) * sqrt(x + y);
}

/* What a change may be off by: see compare.h. */
static double noise_of(const struct ws_comparison *comparison, const struct ws_sum *before,
                       const struct ws_sum *after)
{
    size_t first = comparison->before.samples, second = comparison->after.samples;
    double spread = comparison->per_step ? chance(before, first, after, second) : 0;
    return spread + before->error / (double)first + after->error / (double)second;
}

static struct ws_change *add(struct ws_comparison *comparison, enum ws_change_group group,
                             const struct ws_sum *before, const struct ws_sum *after)
{
    struct ws_change *change = ws_vector_push(&comparison->changes);
    if (change)
        *change = (struct ws_change){
            .group = group,
            .before = ws_sum_mean(before, comparison->before.samples),
            .after = ws_sum_mean(after, comparison->after.samples),
            .noise = noise_of(comparison, before, after),
        };
    return change;
}

static int add_named(struct ws_comparison *comparison, enum ws_change_group group, const char *key, const char *label,
                     const struct ws_sum *before, const struct ws_sum *after)
{
    bool total = comparison->changes.count == 0; /* there is always a length */
    if (!before->sum && !after->sum && !total)
        return 0;
    struct ws_change *change = add(comparison, group, before, after);
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

/* --- what is compared -------------------------------------------------------------------------- */

static int add_times(struct ws_comparison *comparison)
{
    const struct ws_side *before = &comparison->before, *after = &comparison->after;
    const struct {
        const char *key, *label;
        const struct ws_sum *before, *after;
    } times[] = {
        { "length", comparison->per_step ? "step" : "recording", &before->length, &after->length },
        { "busy", "busy", &before->busy, &after->busy },
        { "compute", "compute", &before->compute, &after->compute },
        { "comm", "communication", &before->comm, &after->comm },
        { "memory", "copies and memsets", &before->memory, &after->memory },
    };
    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
        if (add_named(comparison, WS_CHANGE_TIME, times[i].key, times[i].label, times[i].before, times[i].after))
            return -ENOMEM;
    return 0;
}

static int add_parts(struct ws_comparison *comparison)
{
    static const char *const keys[] = {
#define KEY(name, key, wall, text) key,
        WS_SAMPLE_PARTS(KEY)
#undef KEY
    };
    static const char *const labels[] = {
#define LABEL(name, key, wall, text) text " gaps",
        WS_CAUSES(LABEL)
#undef LABEL
            "exposed communication",
        "exposed copies",
        "compute",
    };
    for (int part = 0; part < WS_SAMPLE_PART_COUNT; part++)
        if (add_named(comparison, WS_CHANGE_PART, keys[part], labels[part], &comparison->before.parts[part],
                      &comparison->after.parts[part]))
            return -ENOMEM;
    return 0;
}

static int add_classes(struct ws_comparison *comparison)
{
    for (uint32_t class = 0; class < WS_SAMPLE_CLASSES; class ++)
        if (add_named(comparison, WS_CHANGE_CLASS, ws_sample_class_name(class), ws_sample_class_name(class),
                      &comparison->before.classes[class], &comparison->after.classes[class]))
            return -ENOMEM;
    return 0;
}

static int add_kernels(struct ws_comparison *comparison)
{
    static const struct ws_sum none = { 0 };
    if (ws_pair_kernels(&comparison->before, &comparison->after, &comparison->pairs))
        return -ENOMEM;
    const struct ws_pair *pairs = comparison->pairs.data;
    for (size_t i = 0; i < comparison->pairs.count; i++) {
        struct ws_change *change = add(comparison, WS_CHANGE_KERNEL, pairs[i].before ? &pairs[i].before->time : &none,
                                       pairs[i].after ? &pairs[i].after->time : &none);
        if (!change)
            return -ENOMEM;
        change->pair = &pairs[i];
        change->label = pairs[i].after ? ws_pair_name(&comparison->after, pairs[i].after)
                                       : ws_pair_name(&comparison->before, pairs[i].before);
    }
    return 0;
}

/* --- the comparison ---------------------------------------------------------------------------- */

static int largest_first(const void *a, const void *b)
{
    const struct ws_change *x = a, *y = b;
    double first = fabs(x->after - x->before), second = fabs(y->after - y->before);
    if (first != second)
        return first < second ? 1 : -1;
    first = x->after + x->before;
    second = y->after + y->before;
    return first != second ? (first < second ? 1 : -1) : (x->pair > y->pair) - (x->pair < y->pair);
}

static int add_all(struct ws_comparison *comparison)
{
    int (*const groups[])(struct ws_comparison *) = { add_times, add_parts, add_classes, add_kernels };
    for (size_t group = 0; group < WS_CHANGE_GROUP_COUNT; group++) {
        size_t first = comparison->begins[group] = comparison->changes.count;
        if (groups[group](comparison))
            return -ENOMEM;
        size_t count = comparison->changes.count - first;
        if (group != WS_CHANGE_TIME && count)
            qsort((struct ws_change *)comparison->changes.data + first, count, sizeof(struct ws_change),
                  largest_first);
    }
    comparison->begins[WS_CHANGE_GROUP_COUNT] = comparison->changes.count;
    return 0;
}

int ws_compare(struct ws_comparison *comparison, const struct ws_report *before, const struct ws_report *after,
               char *message, size_t capacity)
{
    *comparison = (struct ws_comparison){
        .per_step = ws_report_has_steps(before) && ws_report_has_steps(after),
        .pairs = WS_VECTOR(struct ws_pair),
        .changes = WS_VECTOR(struct ws_change),
    };
    snprintf(message, capacity, "out of memory");
    int status = ws_side_init(&comparison->before, before, comparison->per_step);
    status = status ? status : ws_side_init(&comparison->after, after, comparison->per_step);
    if (status)
        return status;
    if (!comparison->before.samples || !comparison->after.samples) {
        snprintf(message, capacity, "%s holds no device times: there is nothing to compare",
                 comparison->before.samples ? "the second recording" : "the first recording");
        return -ENODATA;
    }
    return add_all(comparison);
}

void ws_comparison_finish(struct ws_comparison *comparison)
{
    ws_side_finish(&comparison->before);
    ws_side_finish(&comparison->after);
    ws_vector_finish(&comparison->pairs);
    ws_vector_finish(&comparison->changes);
}

const struct ws_change *ws_comparison_total(const struct ws_comparison *comparison)
{
    return comparison->changes.data; /* the first of the times is the length */
}
