/* How long kernels take, learned from the few that are measured: a mean and a spread for each kernel, grid and block,
 * whatever stream they are launched into. All times in ns. The drain's own. */
#ifndef WALLSHIM_SHIM_TIMING_DURATIONS_H
#define WALLSHIM_SHIM_TIMING_DURATIONS_H

#include <stdint.h>

struct duration {
    float mean;
    float var;    /* of the mean, ns² */
    float spread; /* variance from launch to launch, ns² */
    float most;   /* the shortest time in which one was seen to end, before the first sample; 0: none */
    uint16_t samples;
    int16_t apart;   /* samples in a row that were much longer (> 0) or much shorter */
    uint32_t in_run; /* launches, while a run is looked at */
};

/* The duration of launches with this shape's kernel, grid and block. Never NULL: where memory is short, all kernels
 * share one entry. */
struct duration *duration_of(uint32_t shape);

/* A launch took so long, measured with this variance. */
void duration_sample(struct duration *duration, double ns, double noise);

/* A launch took this at most. It counts until there is a sample. */
void duration_at_most(struct duration *duration, double ns);

/* What a launch takes, as far as is known. */
double duration_expected(const struct duration *duration);

/* The variance of that beside the spread. */
double duration_unsure(const struct duration *duration);

#endif
