/* Each kernel against the roofline of its GPU: FLOPs, bytes, intensity, which roof holds it and how near it comes.
 *
 * Where FLOPs and bytes come from is said with each figure, the first of these that is known:
 * - counter: the hardware's own, of a few launches of the same kernel, grid and block (counted.h). The launches that
 *   were counted have no ordinary times, so the figures are set against the times of the others. Where some of the
 *   FLOPs were not read, the sources below come first, and bytes alone are taken from counters;
 * - shape: the operator that launched the kernel, by the types and sizes it was given (operators.h). Where an
 *   operator's work is done by several kernels, each gets the share that its time has. A convolution counts as it is
 *   defined, even where Winograd's or Fourier's way takes fewer FLOPs: then it may come to more than a roof;
 * - arguments: the kernel's own parameters (arguments.h). They are kept of few launches: others of the same kernel,
 *   grid and stream are taken to be alike where all that are known are, and a note says so, else left unknown;
 * - name: nothing but the class of the kernel is known. Pointwise, norm, softmax, reduction, embedding, optimizer,
 *   copying, sorting and random kernels do too little arithmetic for any ridge, so they are memory-bound where they
 *   run for 10 µs or longer on average; no FLOPs or bytes are claimed.
 *
 * The class: compute-bound where the intensity reaches the ridge of the kernel's precision, else memory-bound; but
 * latency-bound where it comes to less than a fifth of its roof and is too small to fill the chip: blocks for fewer
 * than its multiprocessors, or less than 10 µs long (the limit that peers publish for short kernels). Communication
 * has the network for a roof and is only counted. Above 105 % of a roof, the data sheet's where that of the GPU was
 * measured (a measured one is what a copy or a product reached, not what nothing can), something is not as it was
 * taken to be: such a kernel is named as inconsistent, unless the errors of its times explain it, or, where what it
 * moves fits in the last cache before the memory, as served by it.
 *
 * MFU counts the FLOPs that were executed and are known, those of work done again (checkpointing, the scores in
 * attention's backward) among them, over the time of a steady step at the peak of the precision that most of them are
 * in. What share of the matrix work is known is said with it, and where from.
 */
#ifndef WALLSHIM_ANALYSIS_ROOFLINE_H
#define WALLSHIM_ANALYSIS_ROOFLINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/matmul_name.h"
#include "analysis/operators.h"
#include "analysis/registry.h"
#include "base/vector.h"
#include "hardware/gpu.h"

enum ws_roof_class {
    WS_ROOF_UNKNOWN,
    WS_ROOF_COMPUTE,
    WS_ROOF_MEMORY,
    WS_ROOF_LATENCY,
    WS_ROOF_COMMUNICATION,
    WS_ROOF_CLASS_COUNT
};

enum ws_work_source {
    WS_WORK_NONE,
    WS_WORK_NAME,
    WS_WORK_ARGUMENTS,
    WS_WORK_SHAPE,
    WS_WORK_COUNTER,
    WS_WORK_SOURCES
};

/* Does it convolve with fewer FLOPs than the definition has, or help to? */
enum ws_shortcut {
    WS_SHORTCUT_UNSEEN,
    WS_SHORTCUT_NONE,
    WS_SHORTCUT_TAKEN,
};

/* A kernel by name. */
struct ws_roofline_row {
    uint32_t name; /* index into ws_model.names */
    uint64_t count;
    int64_t total;  /* ns of all of them */
    int64_t steady; /* ns of those in steady steps; all where there are none */
    int64_t known;  /* ns of those whose work is known */
    double unsure;  /* ns by which these may be off, all together */
    int64_t small;  /* ns of those with fewer blocks than multiprocessors */
    double flops;   /* of those known; 0: not known */
    double bytes;
    double intensity_most;   /* where only a bound of it is known */
    enum ws_element element; /* of what was known last */
    enum ws_precision precision;
    enum ws_work_source source;
    enum ws_roof_class class;
    double of_compute, of_memory; /* achieved share of each roof; 0: not known */
    bool inconsistent;
    enum ws_shortcut shortcut;
    bool cached;                  /* above the roof of memory, but what it moves fits in a cache */
    const char *note;             /* what was taken for granted; NULL: nothing */
    struct ws_matmul_name matmul; /* what its name tells, where it is matrix work */
};

/* Matrix products, or attention, of the same sizes. */
struct ws_product_row {
    struct ws_operator_cost cost;
    uint32_t name;                /* of the kernel that did most of it, where one did more than half */
    struct ws_matmul_name matmul; /* what that name tells */
    int64_t lead;                 /* ns by which it leads: used while they are counted */
    uint64_t count;               /* kernels */
    int64_t total;                /* ns of them */
    int64_t ordinary;             /* ns of those whose names tell that ordinary cores computed, not tensor cores */
    double flops;                 /* of all of them */
    int64_t steady;               /* ns of those of a steady step; of the recording where there are none */
    double alike; /* FLOPs a ns that the best of about as much work and good sizes reaches; 0: there is none */
    enum ws_precision precision;
};

/* What an operation moves, by what its operator was given. 0: not known. */
struct ws_op_moved {
    float bytes;
    float written; /* of these */
};

struct ws_counts;

struct ws_track_roofline {
    struct ws_counts *counts; /* NULL: nothing was counted */
    struct ws_gpu gpu;
    enum ws_gpu_match match;
    struct ws_vector rows;      /* struct ws_roofline_row, by total time, longest first */
    struct ws_vector products;  /* struct ws_product_row, the same */
    struct ws_vector attention; /* struct ws_product_row, the same */
    bool uses_tf32;             /* some products are multiplied so */
    struct ws_op_moved *moved;  /* by place in the track's order; NULL: nothing is known of any */
    int64_t total;              /* ns of all kernels */
    int64_t by_class[WS_ROOF_CLASS_COUNT];
    size_t steps;                                   /* steady ones; 0: there are none, the recording stands for one */
    int64_t step_by_class[WS_ROOF_CLASS_COUNT];     /* ns of kernels of a steady step, or of the recording */
    int64_t step_total;                             /* the sum of these */
    double matmul_flops;                            /* of kernels of matrix work whose FLOPs are known */
    int64_t matmul_known, matmul_total;             /* their time, and that of all */
    int64_t matmul_by_cores[WS_MATMUL_CORES_COUNT]; /* ns of all, as their names tell; by enum ws_matmul_cores */
    double matmul_of_peak; /* of those known: FLOPs over time, each at the peak of its precision; 0: not known */
    enum ws_precision precision;             /* that most of the known FLOPs are in */
    double step_flops;                       /* of a steady step, or of the recording */
    double step_flops_from[WS_WORK_SOURCES]; /* the same by enum ws_work_source */
    double step_length;                      /* ns of that: the mean of the steady steps */
    double mfu;                              /* of the time of that, at the peak of the precision; 0: not known */
};

extern const struct ws_analysis ws_analysis_roofline;

const char *ws_roof_class_name(enum ws_roof_class class);
/* Where the FLOPs of a step are known from: "shape 98.1 %, arguments 1.9 %". */
void ws_roofline_flops_from(const struct ws_track_roofline *result, char *text, size_t capacity);

const char *ws_work_source_name(enum ws_work_source source);

#endif
