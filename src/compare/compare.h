/* Two recordings of a program against each other: what a step takes longer or less time for.
 *
 * Figures are compared per step where both sides have steps, else per recording of a device (side.h). A change is
 * called noise where it is no larger than what chance and the stated errors of the times may have made: the 95 %
 * confidence of the difference of the two means by Welch's t-test, from the spread of the steps, so that about one
 * change in twenty is taken for real without being so; and the errors of both sides on top. What else differs
 * between two runs of the same program (clocks, neighbours, placement) is not in it.
 */
#ifndef WALLSHIM_COMPARE_COMPARE_H
#define WALLSHIM_COMPARE_COMPARE_H

#include <jansson.h>

#include "analysis/page.h"
#include "compare/match.h"
#include "compare/side.h"

enum ws_change_group {
    WS_CHANGE_TIME,       /* of a step; they overlap */
    WS_CHANGE_PART,       /* the parts that make it up */
    WS_CHANGE_LINE,       /* idle time by cause and line of code */
    WS_CHANGE_CLASS,      /* operations by class */
    WS_CHANGE_KERNEL,     /* kernels, copies and memsets by name */
    WS_CHANGE_COLLECTIVE, /* calls of a collective among so many ranks */
    WS_CHANGE_AMOUNT,     /* what is counted */
    WS_CHANGE_GROUP_COUNT
};

struct ws_change {
    enum ws_change_group group;
    const char *key;                                 /* in JSON; of lines the cause; NULL for kernels */
    const char *label;                               /* in text; of lines where */
    const char *unit;                                /* in JSON, of amounts: number, bytes */
    double before, after;                            /* a step; ns, or what the unit says */
    double noise;                                    /* a change of no more than this may be none */
    const struct ws_pair *pair;                      /* kernels */
    const char *like;                                /* kernels: the name of another with the same title, or NULL */
    const struct ws_side_collective *collectives[2]; /* collectives: before and after, NULL where there is none */
};

struct ws_comparison {
    const struct ws_side *before, *after;
    enum ws_sampling sampling;
    struct ws_vector pairs;   /* struct ws_pair */
    struct ws_vector changes; /* struct ws_change, by group; the largest first but for times and amounts */
    size_t begins[WS_CHANGE_GROUP_COUNT + 1]; /* of groups in changes */
};

/* Returns 0; -ENODATA with one line in message where one of them holds no device times; -ENOMEM. Both sides
 * outlive the comparison, which is to be finished in any case. */
int ws_compare(struct ws_comparison *comparison, const struct ws_side *before, const struct ws_side *after,
               char *message, size_t capacity);

void ws_comparison_finish(struct ws_comparison *comparison);

/* The change of the step time, or of the recording's. */
const struct ws_change *ws_comparison_total(const struct ws_comparison *comparison);

static inline bool ws_change_is_noise(const struct ws_change *change)
{
    double size = change->after > change->before ? change->after - change->before : change->before - change->after;
    return size <= change->noise;
}

/* Is it longer by more than this share of the time before, and not by chance? */
bool ws_change_is_regression(const struct ws_change *change, double share);

const char *ws_pairing_name(enum ws_pairing pairing); /* in JSON */
const char *ws_sample_class_name(uint32_t of_class);

/* Bus bandwidth of one side of the change, bytes/ns; 0: not known. */
double ws_change_bus_rate(const struct ws_comparison *comparison, const struct ws_side_collective *collective);

/* Whole ns, within what integers hold. */
int64_t ws_change_ns(double ns);

void ws_comparison_print(const struct ws_comparison *comparison, struct ws_page *page);

/* An object, or NULL when memory is out. */
json_t *ws_comparison_json(const struct ws_comparison *comparison);

#endif
