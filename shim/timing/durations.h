/* The durations of operations, learned from the few operations that are measured: a mean and a spread for each
 * combination of kernel, grid and block, for each graph, and for copies and memsets of one size class
 * (objects/shapes.h). A duration holds for all streams. All times are in ns. Only the drain thread uses these
 * functions, except duration_wanted and duration_is_known. */
#ifndef WALLSHIM_SHIM_TIMING_DURATIONS_H
#define WALLSHIM_SHIM_TIMING_DURATIONS_H

#include <stdbool.h>
#include <stdint.h>

struct duration {
    float mean;
    float var;    /* variance of the mean, ns² */
    float spread; /* variance from launch to launch, ns² */
    float call;   /* usual time of a short launching call, ns; 0: no call yet */
    float most;   /* before the first sample: the smallest upper bound of a launch's duration, ns; 0: none */
    /* Square (ns²) of the deviation of the latest sample far from the mean, reduced by later samples near the mean;
     * 0: there was no such sample lately. */
    float doubt;
    float step; /* ns; sum of the latest successive changes of the duration in one direction */
    /* Square (ns²) of the largest recent change of the duration; 0: the duration did not change twice lately. */
    float change;
    /* deviation: of the last sample, in standard deviations. trend: mean product of successive deviations. */
    float deviation, trend;
    uint16_t samples, since_change; /* number of samples: in all, and since the last change */
    int16_t apart; /* number of successive samples much longer (> 0) or much shorter (< 0) than the mean */
    /* More than 0: a recent sample was far from the mean. Each further sample makes this 1 less. */
    uint8_t far_lately;
    bool changed; /* the kernel's duration changed lately */
    /* the duration of copies, memsets, a graph or a collective, so it tells nothing about other kernels */
    bool other;
    bool gated; /* a launch of the kernel was measured behind a gate (gates.h) */
    /* For runs.c. A line is a stream's computed times, a run is a sequence of operations in the stream without a
     * pause. */
    uint32_t line;     /* number of the line or run whose launches `launches` counts */
    uint32_t launches; /* number of the kernel's launches in the line or run with the number `line` */
    uint32_t walked;   /* number of the kernel's launches in a run before the operation that is being examined */
};

/* The duration of launches of this shape (kernel, grid and block …), in any stream. Never NULL: all kernels for which
 * there was no memory share one entry. */
struct duration *duration_of(uint32_t shape);

/* Like duration_of, for copies and memsets of this shape that move `bytes`, and for launches of graphs. */
struct duration *duration_of_other(uint32_t shape, uint64_t bytes);

enum sample {
    SAMPLE_EXACT,  /* only the kernel itself can have made the sample long */
    SAMPLE_LIKELY, /* something may have disturbed the measurement */
    /* The launch's start was not measured, so the sample only tells whether the duration has changed. */
    SAMPLE_ROUGH,
};

/* Learns from a sample: a launch took `ns`, measured with the variance `noise` (ns²). */
void duration_sample(struct duration *duration, double ns, double noise, enum sample kind);

/* The kernel's launches take `by` ns more or less than before. After a second change, further changes are expected
 * until many samples show no change. */
void duration_changed(struct duration *duration, double by);

/* The kernel's launches perhaps take `by` ns more or less than before. */
void duration_doubt(struct duration *duration, double by);

/* The kernel's launches took as long as expected. */
void duration_as_expected(struct duration *duration);

/* How many more launches of a kernel are to be measured (samples). */
enum samples_wanted {
    WANT_FIRST_SAMPLES, /* few launches were measured so far, so the next samples come soon */
    WANT_FEW_SAMPLES,
    WANT_MANY_SAMPLES, /* the mean is not exact yet */
    /* as WANT_MANY_SAMPLES, and launches take so different times that chains of measured ends are enough
     * (calls/measure.h) */
    WANT_ENDS,
};

/* duration_want_more notes, after a sample, how many more are wanted of the shape's kernel, in all streams.
 * duration_wanted returns the last note, and may be called by any thread. It sometimes returns WANT_FIRST_SAMPLES for
 * a kernel with another note: kernels share the memory for notes. */
void duration_want_more(uint32_t shape);
enum samples_wanted duration_wanted(uint32_t shape);

/* Like duration_sample, for the operations of duration_of_other. */
void duration_sample_other(uint32_t shape, uint64_t bytes, double ns, double noise, enum sample kind);

/* Was duration_sample_other called for copies and memsets of this shape and size class (objects/shapes.h), or for
 * this graph (class 0)? May be called by any thread. Sometimes returns false although the function was called: shapes
 * share the memory for this answer. */
bool duration_is_known(uint32_t shape, uint32_t size_class);

/* Learns an upper bound of a launch's duration. The bound is used until the kernel has a sample. */
void duration_at_most(struct duration *duration, double ns);

/* The launching call took `took` ns. Returns by how much this is longer than usual for the kernel, ns; 0: about as
 * long as usual. Something delayed the thread in a long call, before or after the launch reached the device. */
double duration_call_excess(struct duration *duration, double took);

/* Do the kernel's launches take times that differ by many microseconds? */
bool duration_varies_widely(const struct duration *duration);

/* Is an event after a launch enough to measure how long the launch took? The begin is computed, with the variance
 * `begin_var` (ns²). The event arrived at the device `late` ns after the begin: the end of a launch that is shorter
 * is not seen, so most launches of the kernel must be longer. Such a measurement is less exact than one with an event
 * before the launch, so the launches must differ much more than its error. */
bool duration_needs_no_begin(const struct duration *duration, double begin_var, double late);

/* Do all launches of the kernel take about the same time? */
bool duration_is_steady(const struct duration *duration);

/* How long a launch of the kernel is expected to take, ns. */
double duration_expected(const struct duration *duration);

/* The variance of duration_expected (ns²), without the spread from launch to launch. */
double duration_unsure(const struct duration *duration);

/* Like duration_unsure, but on the assumption that the duration has not changed since the last measurement. */
double duration_var(const struct duration *duration);

#endif
