/* One of the two sides of a comparison: a report's figures for one step.
 *
 * A sample is a steady step of a device (steps.h), so that a side's figures are means over the steady steps of
 * all its devices; or, where steps are not compared, the whole recording of a device. Devices on which nothing
 * ran are left out, and so are those without steady steps where steps are compared.
 *
 * Figures are ns a sample. A gap, which always ends where an operation begins, lies in one step, and so does an
 * operation: the one it begins in.
 */
#ifndef WALLSHIM_COMPARE_SIDE_H
#define WALLSHIM_COMPARE_SIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/registry.h"

/* X(NAME, key in JSON, what a report calls it): the parts that make up a step, without overlap. */
#define WS_SAMPLE_PARTS(X)                                       \
    WS_CAUSES(X)                                                 \
    X(COMM, "exposed_communication", , "communication, exposed") \
    X(MEMORY, "exposed_memory", , "copies, exposed")             \
    X(COMPUTE, "compute", , "compute")

enum ws_sample_part {
#define WS_SAMPLE_PART(name, key, wall, text) WS_SAMPLE_##name,
    WS_SAMPLE_PARTS(WS_SAMPLE_PART)
#undef WS_SAMPLE_PART
        WS_SAMPLE_PART_COUNT
};

/* A figure over all samples. */
struct ws_sum {
    double sum, squares;
    double error; /* of the sum, at most: what the times' stated errors allow */
};

/* Kernels and graphs by class: graphs come last. */
enum { WS_GRAPH_CLASS = WS_CLASS_COUNT, WS_SAMPLE_CLASSES };

struct ws_side_kernel {
    uint32_t name;  /* index into ws_model.names */
    uint32_t class; /* enum ws_kernel_class or WS_GRAPH_CLASS */
    uint64_t count; /* over all samples */
    struct ws_sum time;
    const struct ws_op_shape *shape; /* the one that most of the time went to */
};

struct ws_side {
    const struct ws_report *report;
    bool per_step;
    size_t samples;
    size_t devices;   /* that the samples are of */
    size_t left_out;  /* other devices on which something ran */
    uint64_t untimed; /* operations without device times */
    struct ws_sum length, busy, compute, comm, memory;
    struct ws_sum parts[WS_SAMPLE_PART_COUNT];
    struct ws_sum classes[WS_SAMPLE_CLASSES];
    struct ws_vector kernels; /* struct ws_side_kernel, by time, longest first */
};

/* Has any device of the report steady steps? */
bool ws_report_has_steps(const struct ws_report *report);

/* Returns 0 or -ENOMEM. The report outlives the side, which is to be finished in any case. */
int ws_side_init(struct ws_side *side, const struct ws_report *report, bool per_step);
void ws_side_finish(struct ws_side *side);

/* ns a sample. */
double ws_sum_mean(const struct ws_sum *sum, size_t samples);

/* Variance of the samples; 0 where there are not two of them. */
double ws_sum_variance(const struct ws_sum *sum, size_t samples);

#endif
