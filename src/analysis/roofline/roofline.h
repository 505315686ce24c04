/* Places each kernel on the roofline of its GPU: FLOPs, bytes, arithmetic intensity, the limiting roof, and the share
 * of this roof that the kernel reaches.
 *
 * Each figure comes from one source, the first of this list that gives it:
 * - counter: hardware counters, read at a few launches of the same kernel, grid and block (counter_cost.h). Reading
 * counters slows these launches, so the counts are combined with the times of other launches. If some FLOPs were not
 * counted, shape and arguments are tried first; if both fail, the counters give only the bytes.
 * - shape: the types and sizes of the operator that launched the kernel (operators.h). If several kernels do an
 * operator's work, each gets a share by its time. A convolution counts the FLOPs of its definition. Winograd and FFT
 * algorithms need fewer FLOPs, so their kernels may seem to exceed a roof.
 * - arguments: the kernel's own parameters (arguments.h). They are recorded for few launches. If these launches all
 * do the same work, the other launches of the kernel, grid and stream are assumed to do it too, and a note says so.
 * Otherwise the work of the other launches is not known.
 * - tokens: the number of tokens in an iteration of an inference server, read from the iteration's range
 * (server_step.h). This number limits the arithmetic intensity of matrix kernels. If the limit is below the ridge,
 * these kernels are memory-bound; their FLOPs and bytes stay unknown.
 * - name: only the class of the kernel is known. Pointwise, norm, softmax, reduction, embedding, optimizer, copy,
 * sort and random kernels, and products of a matrix and a vector, have too little arithmetic to reach the ridge of
 * any GPU. They are memory-bound if they take at least 10 µs on average. Their FLOPs and bytes stay unknown.
 *
 * The class is compute-bound if the arithmetic intensity reaches the ridge of the kernel's precision, else
 * memory-bound. A kernel is latency-bound if it reaches less than a fifth of its roof and is too small to fill the
 * GPU: it has fewer blocks than the GPU has SMs, or takes less than 10 µs (a limit that other tools publish for short
 * kernels). The network limits communication kernels, so only their time is summed. If a kernel seems to exceed 105 %
 * of a roof, some assumption is wrong. A kernel above the memory roof is called cached if its data fits into the
 * last-level cache. Any other kernel above a roof is called inconsistent, unless the errors of its times explain the
 * excess. For a calibrated GPU, the limit is 105 % of the data sheet's roof, because a measured roof is only the rate
 * that one copy or GEMM reached.
 *
 * If the GPU is not known, a kernel has a class only if this class would be the same on every known GPU.
 *
 * All launches of a kernel name share one class. The class covers only the launches with known work, unless counters
 * or the name alone give the class. The time of all other launches has no class.
 *
 * MFU (model FLOPs utilization) is the known FLOPs of a steady step, divided by the step's time and by the peak of
 * the precision that most FLOPs use. The FLOPs include recomputed ones (checkpointing, the scores in attention's
 * backward). The report also gives the share of matrix work whose FLOPs are known, and the sources of these FLOPs.
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
    int64_t total;     /* ns of all launches */
    int64_t steady;    /* ns of launches in steady steps; all if there are no steps */
    int64_t known;     /* ns of launches with known work */
    int64_t bounded;   /* ns of launches without known work, but with an `intensity_most` */
    double unsure;     /* sum of the errors of `known`, in ns */
    int64_t small;     /* ns of launches with fewer blocks than SMs */
    int64_t in_graphs; /* ns of launches with a CUDA graph: other profilers record no shapes for these launches */
    double flops;      /* FLOPs of launches with known work; 0: not known */
    double bytes;
    double intensity_most;   /* upper limit of the arithmetic intensity, if only this limit is known */
    enum ws_element element; /* element type of the last launch with known work */
    enum ws_precision precision;
    enum ws_work_source source;
    enum ws_roof_class class;
    int64_t classed;              /* ns of launches that `class` covers; all other launches have no class */
    bool by_compute;              /* the limiting roof is compute, else memory; also set for latency-bound kernels */
    double of_compute, of_memory; /* share of each roof that the kernel reaches; 0: not known */
    bool inconsistent;
    enum ws_shortcut shortcut;
    bool cached;                  /* above the memory roof, but its data fits into a cache */
    const char *note;             /* assumptions made; NULL: none */
    struct ws_matmul_name matmul; /* for matrix kernels: facts from the name */
};

/* The share of the limiting roof that the kernel reaches; 0: not known. */
static inline double ws_roofline_of_roof(const struct ws_roofline_row *row)
{
    return row->of_compute > row->of_memory ? row->of_compute : row->of_memory;
}

/* GEMMs, or attention, with the same sizes. */
struct ws_gemm_row {
    struct ws_operator_cost cost;
    uint32_t name;                /* the kernel that takes more than half of the time, if any does */
    struct ws_matmul_name matmul; /* facts from the name of this kernel */
    int64_t lead;                 /* ns: counter of the Boyer-Moore majority vote that finds `name` */
    uint64_t count;               /* number of kernel launches */
    int64_t total;                /* ns of all kernels */
    double unsure;                /* error of `total`, ns */
    int64_t ordinary;             /* ns of kernels that run on ordinary (CUDA) cores, by their names */
    double flops;                 /* sum over all kernels */
    int64_t steady;               /* ns per steady step; for the recording if there are no steps */
    double alike; /* FLOPs per ns of the fastest aligned GEMM with similar work, with the errors of its times added to
                     its time; 0: no such GEMM */
    enum ws_precision precision;
};

/* Bytes that an operation moves, computed from the inputs of its operator. 0: not known. */
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
    double matmul_flops;                        /* FLOPs of all matrix kernels, as far as they are known */
    int64_t matmul_known, matmul_total;         /* ns of matrix kernels with known FLOPs, and of all matrix kernels */
    int64_t matmul_by_cores[WS_MATMUL_CORES_COUNT]; /* ns of all matrix kernels by enum ws_matmul_cores, from their
                                                       names */
    int64_t matmul_in_graphs; /* ns of matrix kernels in CUDA graphs; FLOPs of some may be known */
    bool has_shapes;          /* the trace holds the inputs of operators */
    double matmul_of_peak; /* mean share of the peak of their precision that matrix kernels with known FLOPs reach; 0:
                              not known */
    enum ws_precision precision;             /* precision of most known FLOPs */
    double step_flops;                       /* FLOPs per steady step, or in the recording */
    double step_flops_from[WS_WORK_SOURCES]; /* step_flops by enum ws_work_source */
    double step_length;                      /* ns: mean steady step, or the recording */
    double mfu; /* step_flops divided by the FLOPs that the peak of `precision` allows in step_length. 0: not known,
                   for example if FLOPs are known for less than half of the time of matrix work */
};

extern const struct ws_analysis ws_analysis_roofline;

const char *ws_work_source_name(enum ws_work_source source); /* in JSON and in tables */

/* Why the work of most matrix kernels is not known, as the rest of a sentence: "the trace holds no shapes of most".
 */
const char *ws_roofline_why_unknown(const struct ws_report *report, size_t track);

/* Writes the sources of a step's FLOPs: "shape 98.1 %, arguments 1.9 %". */
void ws_roofline_flops_from(const struct ws_track_roofline *result, char *text, size_t capacity);

#endif
