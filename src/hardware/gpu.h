/* What GPUs can do at most: FLOP/s by precision, bytes/s of device memory, and the ridge between the two.
 *
 * Peaks are dense (no structured sparsity), at the boost clock, with fp32 accumulation where a chip is slower
 * with it, as frameworks ask for it. gpus.h holds the table, a source a row.
 */
#ifndef WALLSHIM_HARDWARE_GPU_H
#define WALLSHIM_HARDWARE_GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WS_PRECISIONS(X) \
    X(FP64, "fp64", 64)  \
    X(FP32, "fp32", 32)  \
    X(TF32, "tf32", 32)  \
    X(FP16, "fp16", 16)  \
    X(BF16, "bf16", 16)  \
    X(FP8, "fp8", 8)     \
    X(INT8, "int8", 8)   \
    X(FP4, "fp4", 4)

enum ws_precision {
#define WS_PRECISION(name, text, bits) WS_PRECISION_##name,
    WS_PRECISIONS(WS_PRECISION)
#undef WS_PRECISION
        WS_PRECISION_COUNT
};

/* Which units of the chip do the work. */
enum ws_cores { WS_CORES_ORDINARY, WS_CORES_TENSOR, WS_CORES_COUNT };

struct ws_gpu {
    const char *name;            /* the words of it that tell it from others: "H100 PCIe" */
    uint32_t cc_major, cc_minor; /* compute capability; AMD: as HIP reports it */
    uint32_t sms;                /* or compute units, of one device as the runtime sees it */
    uint32_t boost_mhz;          /* the clock the peaks are for */
    uint32_t l2_mib;             /* the last cache before the memory: of MI300X the Infinity Cache */
    uint32_t memory_gib;
    double bytes_per_ns;                                     /* of device memory: GB/s */
    double flops_per_ns[WS_PRECISION_COUNT][WS_CORES_COUNT]; /* GFLOP/s; 0: the units do not do it */
    const char *source;
    const char *calibrated;     /* when figures were measured on the GPU, "2026-11-21"; NULL: none were */
    uint32_t measured;          /* which: bits of precisions, and WS_GPU_MEASURED_BYTES */
    const struct ws_gpu *sheet; /* where some were: the data sheet's GPU that the others are of; NULL: not known */
};

#define WS_GPU_MEASURED_BYTES (1U << WS_PRECISION_COUNT)

/* What a trace knows of a device. Texts may be NULL, figures 0. */
struct ws_gpu_facts {
    const char *name;
    uint32_t cc_major, cc_minor;
    uint32_t sms;
    uint32_t clock_khz;
    uint32_t memory_clock_khz;
    uint32_t memory_bus_bits;
    uint64_t memory_bytes;
};

enum ws_gpu_match {
    WS_GPU_UNKNOWN,
    WS_GPU_BY_NAME,
    WS_GPU_BY_FIGURES,            /* it has no name, but all the figures of one */
    WS_GPU_GIVEN,                 /* somebody said so */
    WS_GPU_CALIBRATED,            /* measured on that very GPU */
    WS_GPU_CALIBRATED_ON_ANOTHER, /* measured on one of the same name */
    WS_GPU_BY_CAPABILITY, /* peaks of the table's chip of the same compute capability, scaled by SMs and clock;
                           * bandwidth from the memory's own clock and width */
};

/* Describes the device. The name decides where the table has it, else compute capability, SMs and clock. */
enum ws_gpu_match ws_gpu_find(const struct ws_gpu_facts *facts, struct ws_gpu *gpu);

/* The GPU of the table that a person means: "h100", "A100 80GB PCIe"; NULL when there is none. */
const struct ws_gpu *ws_gpu_named(const char *text);

/* Is a device of this name AMD's? Then it has compute units for multiprocessors, and its capability is that of HIP.
 */
bool ws_gpu_is_amd(const char *name);

/* All of the table. */
const struct ws_gpu *ws_gpu_table(size_t *count);

/* Highest FLOP/s at this precision in GFLOP/s, by whichever units are faster; 0: it cannot. */
double ws_gpu_peak(const struct ws_gpu *gpu, enum ws_precision precision);

/* FLOPs per byte where the roof of memory meets that of the precision: peak / bandwidth; 0: not known. */
double ws_gpu_ridge(const struct ws_gpu *gpu, enum ws_precision precision);

/* Was its peak, or the bandwidth of its memory, measured on the GPU itself? */
bool ws_gpu_peak_is_measured(const struct ws_gpu *gpu, enum ws_precision precision);
bool ws_gpu_bandwidth_is_measured(const struct ws_gpu *gpu);

/* What nothing can exceed: the data sheet's figures where those of the GPU were measured, else its own. A measured
 * ceiling is what copies and products came to: another kernel may come to somewhat more. */
double ws_gpu_limit(const struct ws_gpu *gpu, enum ws_precision precision);
double ws_gpu_bandwidth_limit(const struct ws_gpu *gpu);

const char *ws_precision_name(enum ws_precision precision);
uint32_t ws_precision_bits(enum ws_precision precision);

/* WS_PRECISION_COUNT when there is none of that name. */
enum ws_precision ws_precision_named(const char *text);

#endif
