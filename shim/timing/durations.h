/* How long kernels take, learned from the few launches that are measured: a mean and a spread for each kernel, grid
 * and block, whatever the stream. All times in ns. For the drain thread alone. */
#ifndef WALLSHIM_SHIM_TIMING_DURATIONS_H
#define WALLSHIM_SHIM_TIMING_DURATIONS_H

#include <stdint.h>

struct duration {
    float mean;
    float var;    /* of the mean, ns² */
    float spread; /* variance from launch to launch, ns² */
    float most;   /* before the first sample: the least upper bound of a launch's time; 0: none */
    uint16_t samples;
    int16_t apart;   /* samples in a row that were much longer (> 0) or much shorter */
    uint32_t in_run; /* its launches in the run that reconstruct.c works on */
};

/* The duration of launches with this shape's kernel, grid and block. Never NULL: where memory is short, all kernels
 * share one entry. */
struct duration *duration_of(uint32_t shape);

/* Takes in a sample: a launch took so long, measured with this variance (ns²). */
void duration_sample(struct duration *duration, double ns, double noise);

/* Takes in an upper bound of what a launch took. It counts until there is a sample. */
void duration_at_most(struct duration *duration, double ns);

/* How long a launch is expected to take. */
double duration_expected(const struct duration *duration);

/* The variance of that expectation (ns²), without the spread from launch to launch. */
double duration_unsure(const struct duration *duration);

#endif
