/* The durations of kernels, learned from the few launches that are measured: a mean and a spread for each kernel,
 * grid and block, on any stream. All times are in ns. Only the drain thread uses this. */
#ifndef WALLSHIM_SHIM_TIMING_DURATIONS_H
#define WALLSHIM_SHIM_TIMING_DURATIONS_H

#include <stdint.h>

struct duration {
    float mean;
    float var;    /* variance of the mean, ns² */
    float spread; /* variance from launch to launch, ns² */
    float most;   /* before the first sample: the smallest upper bound of a launch's duration; 0: none */
    uint16_t samples;
    int16_t apart;   /* number of successive samples much longer (> 0) or much shorter (< 0) than the mean */
    uint32_t in_run; /* number of its launches in the run that reconstruct.c works on */
};

/* The duration of launches with this shape's kernel, grid and block. Never NULL: where memory is short, all kernels
 * share one entry. */
struct duration *duration_of(uint32_t shape);

/* Learns from a sample: a launch took `ns`, measured with the variance `noise` (ns²). */
void duration_sample(struct duration *duration, double ns, double noise);

/* Learns an upper bound of a launch's duration. The bound counts until there is a sample. */
void duration_at_most(struct duration *duration, double ns);

/* How long a launch is expected to take. */
double duration_expected(const struct duration *duration);

/* The variance of duration_expected (ns²), without the spread from launch to launch. */
double duration_unsure(const struct duration *duration);

#endif
