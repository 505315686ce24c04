/* Places each kernel on the roofline of its GPU: FLOPs, bytes, arithmetic intensity, the roof that limits it and the
 * share of that roof that it reaches.
 *
 * Each figure has a source. The first known source counts:
 * - counter: hardware counters, read at a few launches of the same kernel, grid and block (counter_cost.h). These
 * launches have no normal times, so the figures are combined with the times of other launches. If some of the FLOPs
 * were not read, the sources below are tried first, and counters give only the bytes.
 * - shape: the types and sizes of the operator that launched the kernel (operators.h). If several kernels do an
 * operator's work, each gets a share by its time. A convolution counts with the FLOPs of its definition. Winograd and
 * FFT algorithms need fewer FLOPs, so with these the kernel may seem to exceed a roof.
 * - arguments: the kernel's own parameters (arguments.h). They are recorded for few launches. Other launches of the
 * same kernel, grid and stream are assumed to do the same work if all recorded ones do, and a note says so. Else
 * their work is not known.
 * - tokens: the range of an inference server's iteration gives the number of tokens (server_step.h). It limits the
 * FLOPs per byte of matrix kernels. If the limit is below the ridge, they are memory-bound; they get no FLOPs or
 * bytes.
 * - name: only the class of the kernel is known. Pointwise, norm, softmax, reduction, embedding, optimizer, copy,
 * sort and random kernels, and products of a matrix and a vector, have too little arithmetic to reach the ridge of
 * any GPU. They are memory-bound if they take at least 10 µs on average. They get no FLOPs or bytes.
 *
 * The class is compute-bound if the arithmetic intensity reaches the ridge of the kernel's precision, else
 * memory-bound. A kernel is latency-bound if it reaches less than a fifth of its roof and is too small to fill the
 * GPU: it has fewer blocks than the GPU has SMs, or takes less than 10 µs (a limit that other tools publish for short
 * kernels). Communication is limited by the network and only counted. If a kernel seems to exceed 105 % of a roof,
 * some assumption is wrong. If it exceeds the roof of memory, and its data fits into the last-level cache, it is
 * called cached. Otherwise it is called inconsistent, unless the errors of its times explain the excess. For a
 * calibrated GPU the 105 % refer to the roof of the data sheet, because a measured roof is only what one copy or GEMM
 * reached.
 *
 * If the GPU is not known, a kernel has a class only if it would have the same one on every known GPU.
 *
 * The class of a name counts for its launches whose work is known. The time of its other launches is not known,
 * unless the name alone gives the class.
 *
 * MFU is the FLOPs that ran and are known, including recomputed ones (checkpointing, the scores in attention's
 * backward), divided by the time of a steady step and by the peak of the precision of most FLOPs. The report also
 * gives the share of matrix work with known FLOPs, and their sources.
 */
#ifndef WALLSHIM_ANALYSIS_ROOFLINE_ROOFLINE_H
#define WALLSHIM_ANALYSIS_ROOFLINE_ROOFLINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/cost/operators.h"
#include "analysis/kernels/matmul_name.h"
#include "base/vector.h"
#include "hardware/gpu.h"
#include "report/analysis.h"

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
    WS_WORK_TOKENS,
    WS_WORK_ARGUMENTS,
    WS_WORK_SHAPE,
    WS_WORK_COUNTER,
    WS_WORK_SOURCES
};

/* Does the kernel belong to a convolution algorithm (Winograd, FFT) that needs fewer FLOPs than the definition? */
enum ws_shortcut {
    WS_SHORTCUT_UNSEEN,
    WS_SHORTCUT_NONE,
    WS_SHORTCUT_TAKEN,
};

/* The kernels of one name. */
struct ws_roofline_row {
    uint32_t name; /* index into ws_model.names */
    uint64_t count;
    int64_t total;   /* ns of all launches */
    int64_t steady;  /* ns of launches in steady steps; all if there are no steps */
    int64_t known;   /* ns of launches with known work */
    int64_t bounded; /* ns of other launches of which `intensity_most` is known */
    double unsure;   /* sum of the errors of `known`, in ns */
    int64_t small;   /* ns of launches with fewer blocks than SMs */
    double flops;    /* FLOPs of launches with known work; 0: not known */
    double bytes;
    double intensity_most;   /* upper limit of the arithmetic intensity, if only that is known */
    enum ws_element element; /* element type of the last launch with known work */
    enum ws_precision precision;
    enum ws_work_source source;
    enum ws_roof_class class;
    int64_t classed; /* ns of launches that the class is known for; that of all others is not known */
    bool by_compute; /* compute limits it, else memory; also of latency-bound kernels, which reach neither roof */
    double of_compute, of_memory; /* share of each roof that the kernel reaches; 0: not known */
    bool inconsistent;
    enum ws_shortcut shortcut;
    bool cached;                  /* above the memory roof, but its data fits into a cache */
    const char *note;             /* assumptions made; NULL: none */
    struct ws_matmul_name matmul; /* what the name tells of matrix kernels */
};

/* The share that the kernel reaches of the roof that limits it; 0: not known. */
static inline double ws_roofline_of_roof(const struct ws_roofline_row *row)
{
    return row->of_compute > row->of_memory ? row->of_compute : row->of_memory;
}

/* GEMMs, or attention, with the same sizes. */
struct ws_gemm_row {
    struct ws_operator_cost cost;
    uint32_t name;                /* the kernel with more than half of the time, if there is one */
    struct ws_matmul_name matmul; /* what `name` tells */
    int64_t lead;                 /* ns by which `name` leads in the vote for the kernel with most of the time */
    uint64_t count;               /* number of kernels */
    int64_t total;                /* ns of all kernels */
    double unsure;                /* ns that `total` may be off by */
    int64_t ordinary;             /* ns of kernels whose names say that they run on ordinary cores */
    double flops;                 /* sum over all kernels */
    int64_t steady;               /* ns per steady step; for the recording if there are no steps */
    double alike; /* lower bound of the best FLOPs per ns of aligned GEMMs with similar work: each is taken to last as
                     long as the errors of its times allow; 0: no such GEMM */
    enum ws_precision precision;
};

/* Bytes that an operation moves, as the inputs of its operator give them. 0: not known. */
struct ws_op_moved {
    float bytes;
    float written; /* bytes written; `bytes` includes them */
};

struct ws_counter_costs;

struct ws_track_roofline {
    struct ws_counter_costs *counts; /* NULL: no counters */
    struct ws_gpu gpu;
    enum ws_gpu_match match;
    struct ws_vector rows;      /* struct ws_roofline_row, longest total time first */
    struct ws_vector gemms;     /* struct ws_gemm_row, longest total time first */
    struct ws_vector attention; /* struct ws_gemm_row, longest total time first */
    bool uses_tf32;             /* some GEMMs run as TF32 */
    struct ws_op_moved *moved;  /* by index in the track's order; NULL: nothing known */
    int64_t total;              /* ns of all kernels */
    int64_t by_class[WS_ROOF_CLASS_COUNT];
    size_t steps; /* number of steady steps; 0: figures per step are for the recording */
    int64_t step_by_class[WS_ROOF_CLASS_COUNT]; /* ns of kernels per steady step, or in the recording */
    int64_t step_total;                         /* sum of step_by_class */
    double matmul_flops;                        /* of matrix kernels with known FLOPs */
    int64_t matmul_known, matmul_total;         /* ns of matrix kernels with known FLOPs, and of all matrix kernels */
    int64_t matmul_by_cores[WS_MATMUL_CORES_COUNT]; /* ns of all matrix kernels by enum ws_matmul_cores, from their
                                                       names */
    double matmul_of_peak; /* mean share of the peak of their precision that matrix kernels with known FLOPs reach; 0:
                              not known */
    enum ws_precision precision;             /* precision of most known FLOPs */
    double step_flops;                       /* FLOPs per steady step, or in the recording */
    double step_flops_from[WS_WORK_SOURCES]; /* step_flops by enum ws_work_source */
    double step_length;                      /* ns: mean steady step, or the recording */
    double mfu; /* step_flops as a share of what the peak of `precision` allows in step_length; 0: not known */
};

extern const struct ws_analysis ws_analysis_roofline;

const char *ws_work_source_name(enum ws_work_source source); /* in JSON and in tables */

/* Writes the sources of a step's FLOPs: "shape 98.1 %, arguments 1.9 %". */
void ws_roofline_flops_from(const struct ws_track_roofline *result, char *text, size_t capacity);

#endif
