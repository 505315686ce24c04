/* Places each kernel on the roofline of its GPU: FLOPs, bytes, arithmetic intensity, the limiting roof (peak or
 * memory bandwidth), and the share of this roof that the kernel reaches. The ridge is the arithmetic intensity at
 * which the two roofs meet.
 *
 * Each figure of a kernel comes from the first source in this list that gives the figure:
 * - counter: hardware counters, read at a few launches of the same kernel, grid and block (counter_cost.h). Reading
 *   counters slows these launches, so the counts are combined with the times of other launches of the kernel. If the
 *   counters missed some FLOPs, the sources shape and arguments are tried first. If these two fail, the counters give
 *   only the bytes.
 * - shape: the types and sizes of the inputs of the operator that launched the kernel (operators.h). If several
 *   kernels do an operator's work, each gets a share of the work in proportion to its time. A convolution counts the
 *   FLOPs of its definition. Winograd and FFT algorithms need fewer FLOPs, so their kernels may seem to exceed a
 *   roof.
 * - arguments: the kernel's own parameters (arguments.h). Parameters are recorded for few launches. If these launches
 *   all do the same work, the other launches with the same kernel, grid and stream are assumed to do the same work,
 *   and a note in the report says so. Otherwise the work of the other launches is not known.
 * - tokens: the number of tokens in an iteration of an inference server, read from the iteration's range
 *   (server_step.h). This number gives an upper limit of the arithmetic intensity of matrix kernels, because each
 *   weight is used at most once per token. If this limit is below the ridge, the matrix kernels are memory-bound;
 *   their FLOPs and bytes stay unknown.
 * - name: only the class of the kernel is known. Pointwise, norm, softmax, reduction, embedding, optimizer, copy,
 *   sort and random kernels, and products of a matrix and a vector, have too little arithmetic to reach the ridge of
 *   any GPU. Kernels of these classes are memory-bound if they take at least 10 µs on average. Their FLOPs and bytes
 *   stay unknown.
 *
 * A kernel is compute-bound if its arithmetic intensity reaches the ridge of its precision, else memory-bound. A
 * kernel is latency-bound if it reaches at most a fifth of its roof and is too small to fill the GPU. Too small means
 * that it has fewer blocks than the GPU has SMs, or takes less than 10 µs (a limit that other tools publish for short
 * kernels). The network limits communication kernels, so only their time is summed. If a kernel seems to exceed 105 %
 * of a roof, some assumption about its work is wrong. A kernel above the memory roof is called cached if its data
 * fits into the last-level cache. Any other kernel above a roof is called inconsistent, unless the errors of its
 * times explain the excess. For a GPU whose roofs were measured (calibrated), the limit is still 105 % of the roof in
 * the data sheet, because a measured roof is only the rate that one copy or GEMM reached.
 *
 * If the GPU is not known, a kernel has a class only if this class would be the same on every known GPU.
 *
 * All launches of a kernel name share one class. If counters or the name alone give the class, it covers all
 * launches. Otherwise it covers only the launches with known work, and the time of all other launches has no class.
 *
 * MFU (model FLOPs utilization) is the known FLOPs of a steady step, divided by the step's time and by the peak of
 * the precision that most FLOPs of matrix kernels use. The FLOPs include those of values that are computed again
 * (activation checkpointing, and the attention scores in the backward pass). The report also gives the share of
 * matrix work whose FLOPs are known, and the sources of these FLOPs. */
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

/* Does a kernel belong to a convolution algorithm (Winograd, FFT) that needs fewer FLOPs than the definition of a
 * convolution? UNSEEN: not determined yet. */
enum ws_shortcut {
    WS_SHORTCUT_UNSEEN,
    WS_SHORTCUT_NONE,
    WS_SHORTCUT_TAKEN,
};

/* All launches of kernels with one name. */
struct ws_roofline_row {
    uint32_t name; /* index into ws_model.names */
    uint64_t count;
    int64_t total;  /* ns of all launches */
    int64_t steady; /* ns of launches in steady steps, or of all launches if there are no steady steps */
    int64_t known;  /* ns of launches with known work (FLOPs and bytes) */
    /* ns of launches whose work is not known, but for which an upper limit of the arithmetic intensity is known */
    int64_t bounded;
    uint64_t known_count; /* launches with known work */
    double unsure;        /* ns by which `known` may be wrong because of errors in the kernels' times */
    int64_t small;        /* ns of launches with fewer blocks than SMs */
    /* ns of launches in a CUDA graph; traces of other profilers have no shapes for these launches */
    int64_t in_graphs;
    double flops; /* FLOPs of launches with known work; 0: not known */
    double bytes;
    /* upper limit of the arithmetic intensity, FLOPs per byte; set if only this limit is known */
    double intensity_most;
    enum ws_element element; /* element type of the last launch with known work */
    enum ws_precision precision;
    enum ws_work_source source;
    enum ws_roof_class class;
    int64_t classed; /* ns of launches that `class` covers; all other launches have no class */
    /* true: the peak FLOP rate limits the kernel; false: memory bandwidth limits it; set for latency-bound kernels
     * too */
    bool by_compute;
    /* shares of the peak FLOP rate and of the memory bandwidth that the kernel reaches; 0: not known */
    double of_compute, of_memory;
    bool inconsistent;
    enum ws_shortcut shortcut;
    bool cached;      /* the kernel exceeds the memory roof, but its data fits into the last-level cache */
    const char *note; /* text about assumptions behind these figures; NULL: none */
    struct ws_matmul_name matmul; /* for matrix kernels: what the kernel's name tells */
};

/* Returns the share of the limiting roof (peak or bandwidth) that the kernel reaches; 0: not known. */
static inline double ws_roofline_of_roof(const struct ws_roofline_row *row)
{
    return row->of_compute > row->of_memory ? row->of_compute : row->of_memory;
}

/* All GEMMs, or all attention operators, that have the same sizes and precision. */
struct ws_gemm_row {
    struct ws_operator_cost cost;
    /* index into ws_model.names of the kernel that takes more than half of `total`, if there is one */
    uint32_t name;
    struct ws_matmul_name matmul; /* what the name of this kernel tells */
    int64_t lead;                 /* ns: counter of the Boyer-Moore majority vote that finds `name` */
    uint64_t count;               /* number of launches of kernels that compute these GEMMs */
    int64_t total;                /* device time of all these kernels, ns */
    double unsure;                /* ns by which `total` may be wrong */
    int64_t ordinary;             /* ns of kernels that run on CUDA cores, by their names */
    double flops;                 /* sum of the FLOPs of all these kernels */
    /* ns of the kernels per steady step, or in the whole recording if there are no steady steps */
    int64_t steady;
    /* FLOPs per ns of the fastest aligned GEMM with half to twice the work; a lower bound, because the error of that
     * GEMM's time is added to its time. 0: there is no such GEMM */
    double alike;
    enum ws_precision precision;
};

/* Bytes that an operation of the device moves, computed from the inputs of the framework's operator that launched the
 * operation. 0: not known. */
struct ws_op_moved {
    float bytes;
    float written; /* bytes that the operation writes; they are part of `bytes` */
};

struct ws_counter_costs;

struct ws_track_roofline {
    struct ws_counter_costs *counts; /* costs from hardware counters; NULL: no counters were recorded */
    struct ws_gpu gpu;
    enum ws_gpu_match match;
    struct ws_vector rows;      /* struct ws_roofline_row, longest total time first */
    struct ws_vector gemms;     /* struct ws_gemm_row, longest total time first */
    struct ws_vector attention; /* struct ws_gemm_row, longest total time first */
    bool uses_tf32;             /* some GEMMs of the recording run as TF32 */
    /* bytes moved by each operation, by index in ws_track.order; NULL: not known for any operation */
    struct ws_op_moved *moved;
    int64_t total; /* ns of all kernels */
    int64_t by_class[WS_ROOF_CLASS_COUNT];
    size_t steps; /* number of steady steps; 0: figures per step are for the whole recording */
    /* ns of kernels by roofline class: per steady step, or in the recording */
    int64_t step_by_class[WS_ROOF_CLASS_COUNT];
    int64_t step_total;                 /* sum of step_by_class */
    double matmul_flops;                /* known FLOPs of all matrix kernels */
    int64_t matmul_known, matmul_total; /* ns of matrix kernels with known FLOPs; ns of all matrix kernels */
    /* ns of all matrix kernels by the cores that the kernels' names tell (enum ws_matmul_cores) */
    int64_t matmul_by_cores[WS_MATMUL_CORES_COUNT];
    int64_t matmul_in_graphs; /* ns of matrix kernels in CUDA graphs, whether their FLOPs are known or not */
    bool has_shapes;          /* the trace holds the inputs of operators */
    /* mean share of the peak FLOP rate that matrix kernels with known FLOPs reach, each at its precision; 0: not
     * known */
    double matmul_of_peak;
    enum ws_precision precision;             /* precision of most known FLOPs of matrix kernels */
    double step_flops;                       /* known FLOPs per steady step, or in the whole recording */
    double step_flops_from[WS_WORK_SOURCES]; /* `step_flops` by the source of the FLOPs */
    double step_length;                      /* mean duration of a steady step, or duration of the recording; ns */
    double mfu; /* step_flops divided by the FLOPs that the peak of `precision` allows in step_length. 0: not known,
                   for example if FLOPs are known for less than half of the time of matrix work */
};

extern const struct ws_analysis ws_analysis_roofline;

const char *ws_work_source_name(enum ws_work_source source); /* returns the source's name for JSON and tables */

/* Returns why the work of most matrix kernels is not known. The text is a clause that the caller puts into a
 * sentence, such as "the trace holds no shapes of most". */
const char *ws_roofline_why_unknown(const struct ws_report *report, size_t track);

/* Writes the share of each source in a step's FLOPs: "shape 98.1 %, arguments 1.9 %". */
void ws_roofline_flops_from(const struct ws_track_roofline *result, char *text, size_t capacity);

#endif
