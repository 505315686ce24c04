/* Adds up the time of kernels, lines of code and collectives over samples, which are steps or whole recordings. There
 * is one tally (struct ws_tally) for each kernel, line of code or kind of collective. A tally adds up the times
 * within one sample first, so that the spread between samples is known.
 */
#ifndef WALLSHIM_COMPARE_TALLY_H
#define WALLSHIM_COMPARE_TALLY_H

#include "compare/report_side.h"

struct ws_tally {
    double now, count; /* time in ns, and number of occurrences, in the current sample */
    double error;      /* largest possible error of the time in `now` */
    bool touched;      /* the kernel, line or collective occurs in the current sample */
    struct ws_repeated per[WS_SAMPLING_COUNT];
};

struct ws_tallies {
    struct ws_tally *items;
    uint32_t *touched; /* indices of the items that occur in the current sample */
    size_t touched_count;
};

static inline void ws_tally_add(struct ws_tallies *tallies, uint32_t index, double length, double error)
{
    struct ws_tally *tally = &tallies->items[index];
    if (!tally->touched) {
        tally->touched = true;
        tallies->touched[tallies->touched_count++] = index;
    }
    tally->now += length;
    tally->count++;
    tally->error += error;
}

/* Returns 0 or -ENOMEM. */
int ws_tallies_init(struct ws_tallies *tallies, size_t count);
void ws_tallies_finish(struct ws_tallies *tallies);

/* Ends the current sample. Adds its amounts to per[WS_PER_RECORDING], and also to per[WS_PER_STEP] if the sample is a
 * steady step (a typical iteration, steps.h). */
void ws_tallies_flush(struct ws_tallies *tallies, bool steady);

static inline void ws_sum_add(struct ws_sum *sum, double value, double error)
{
    sum->sum += value;
    sum->squares += value * value;
    sum->error += error;
}

#endif
