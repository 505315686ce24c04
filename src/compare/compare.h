/* Compares two recordings of a program: which parts of a step take more or less time. The recordings are the two
 * sides of the comparison, `before` and `after`.
 *
 * Times and amounts are per step if both sides have steps, else per recording of a device (report_side.h). A change
 * is noise if chance, and the errors that the traces state for their times, can explain it. The part that chance
 * explains is the 95 % confidence interval of the difference of the two means. This interval is computed by Welch's
 * t-test from the spread of the steps. About one random change in twenty therefore counts as real. The errors that
 * the two traces state for their times are added to the interval. Other differences between two runs of the same
 * program (clocks, neighbours, placement) are not included.
 */
#ifndef WALLSHIM_COMPARE_COMPARE_H
#define WALLSHIM_COMPARE_COMPARE_H

#include <jansson.h>

#include "compare/match.h"
#include "compare/report_side.h"
#include "report/page.h"

enum ws_change_group {
    WS_CHANGE_TIME,       /* times of a step that may overlap each other: busy, compute, communication … */
    WS_CHANGE_PART,       /* the parts into which a step is divided, without overlap */
    WS_CHANGE_LINE,       /* idle time by its cause and by the line of code that caused it */
    WS_CHANGE_CLASS,      /* operations by class */
    WS_CHANGE_KERNEL,     /* kernels, copies and memsets by name */
    WS_CHANGE_COLLECTIVE, /* calls of a collective with a given number of ranks */
    WS_CHANGE_AMOUNT,     /* counted amounts: kernels, copies, bytes */
    WS_CHANGE_GROUP_COUNT
};

struct ws_change {
    enum ws_change_group group;
    const char *key;            /* name in JSON; for lines of code, the cause of the idle time; NULL: a kernel */
    const char *label;          /* name in the printed text; for lines of code, the place in the program */
    const char *unit;           /* only for amounts: their unit, "number" or "bytes" */
    double before, after;       /* mean over the steps (or recordings) of each side, in ns or in `unit` */
    double noise;               /* if the values differ by at most this amount, the change is noise */
    const struct ws_pair *pair; /* the kernel on both sides; NULL: the change is not of a kernel */
    const char *like;           /* for kernels: full name of another kernel with the same short name, or NULL */
    const struct ws_report_side_collective *collectives[2]; /* for collectives: [0] before, [1] after; NULL: absent */
};

struct ws_comparison {
    const struct ws_report_side *before, *after;
    enum ws_sampling sampling;
    struct ws_vector pairs; /* struct ws_pair */
    /* struct ws_change, ordered by group. In each group the largest change is first, except for times and amounts. */
    struct ws_vector changes;
    size_t begins[WS_CHANGE_GROUP_COUNT + 1]; /* index of the first change of each group */
};

/* Returns 0, -ENOMEM, or -ENODATA if a side holds no device times. After an error, message holds one line that names
 * the problem. Both sides must outlive the comparison. Call ws_comparison_finish in all cases. */
int ws_compare(struct ws_comparison *comparison, const struct ws_report_side *before,
               const struct ws_report_side *after, char *message, size_t capacity);

void ws_comparison_finish(struct ws_comparison *comparison);

/* Returns the change of the step time, or of the length of the recording. */
const struct ws_change *ws_comparison_total(const struct ws_comparison *comparison);

static inline bool ws_change_is_noise(const struct ws_change *change)
{
    double size = change->after > change->before ? change->after - change->before : change->before - change->after;
    return size <= change->noise;
}

/* Returns whether the value grew by more than `share` times the value of `before`, and by more than the noise. */
bool ws_change_is_regression(const struct ws_change *change, double share);

/* Return names for JSON. ws_pairing_name names a way to match kernels, ws_sample_class_name a class of operations. */
const char *ws_pairing_name(enum ws_pairing pairing);
const char *ws_sample_class_name(uint32_t of_class);

/* Returns the bus bandwidth of a collective on one side, in bytes/ns, or 0 if it is not known. */
double ws_change_bus_rate(const struct ws_comparison *comparison, const struct ws_report_side_collective *collective);

/* Rounds a time to whole ns, and clamps the result to ± INT64_MAX / 2. */
int64_t ws_change_ns(double ns);

/* Are whole recordings compared, and does one of them lack a part: calls that were only counted, or what was cut off?
 * Then neither the lengths of the recordings nor their amounts can be compared. */
bool ws_comparison_is_partial(const struct ws_comparison *comparison);

/* Do the recordings have different --event-placement? Then recording has cost the two runs different amounts. */
bool ws_comparison_is_unequal(const struct ws_comparison *comparison);

void ws_comparison_print(const struct ws_comparison *comparison, struct ws_page *page);

/* Returns the comparison as a JSON object, or NULL if memory runs out. */
json_t *ws_comparison_json(const struct ws_comparison *comparison);

#endif
