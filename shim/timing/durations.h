/* The durations of kernels, learned from the few launches that are measured: a mean and a spread for each kernel,
 * grid and block, on any stream. All times are in ns. Only the drain thread uses this. */
#ifndef WALLSHIM_SHIM_TIMING_DURATIONS_H
#define WALLSHIM_SHIM_TIMING_DURATIONS_H

#include <stdbool.h>
#include <stdint.h>

struct duration {
    float mean;
    float var;    /* variance of the mean, ns² */
    float spread; /* variance from launch to launch, ns² */
    float most;   /* before the first sample: the smallest upper bound of a launch's duration; 0: none */
    float change; /* ns²; the square of the last change of its duration; 0: it did not change twice lately */
    uint16_t samples, since_change; /* number of samples, and of those since that change */
    int16_t apart; /* number of successive samples much longer (> 0) or much shorter (< 0) than the mean */
    bool changed;  /* its duration changed lately */
    bool gated;    /* a launch was measured behind a gate */
    /* For reconstruct.c: */
    uint32_t line;     /* the line whose launches are counted */
    uint32_t launches; /* its launches in that line */
    uint32_t walked;   /* its launches up to an operation of that line */
};

/* The duration of launches with this shape's kernel, grid and block. Never NULL: where memory is short, all kernels
 * share one entry. */
struct duration *duration_of(uint32_t shape);

/* Learns from a sample: a launch took `ns`, measured with the variance `noise` (ns²). */
void duration_sample(struct duration *duration, double ns, double noise);

/* The kernel's launches take `by` ns more or less than before. After a second change, further ones are expected until
 * many samples show none. */
void duration_changed(struct duration *duration, double by);

/* Learns an upper bound of a launch's duration. The bound counts until there is a sample. */
void duration_at_most(struct duration *duration, double ns);

/* Do all launches take about the same time? */
bool duration_is_steady(const struct duration *duration);

/* How long a launch is expected to take. */
double duration_expected(const struct duration *duration);

/* The variance of duration_expected (ns²), without the spread from launch to launch. */
double duration_unsure(const struct duration *duration);

#endif
