/* The peaks of GPUs: FLOP/s by precision, bytes/s of device memory, and the ridge: peak FLOP/s divided by peak
 * bytes/s.
 *
 * Peaks are dense (no structured sparsity) and at the boost clock. If accumulation in fp32 makes a chip slower, the
 * peak is the rate with fp32 accumulation, because frameworks accumulate in fp32. gpus.h holds the table, with a
 * source for each row. */
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

/* The kinds of cores: ordinary cores (SIMT), and tensor or matrix cores. */
enum ws_cores { WS_CORES_ORDINARY, WS_CORES_TENSOR, WS_CORES_COUNT };

struct ws_gpu {
    const char *name;            /* words that identify the GPU in a device's name: "H100 PCIe" */
    uint32_t cc_major, cc_minor; /* compute capability; for AMD, as HIP reports it */
    uint32_t sms;                /* SMs or compute units of one device, as the runtime sees it */
    uint32_t boost_mhz;          /* the clock that the peaks refer to */
    uint32_t l2_mib;             /* MiB of the last cache before memory: L2, or on MI300X the Infinity Cache */
    uint32_t memory_gib;
    double bytes_per_ns; /* device memory bandwidth in GB/s */
    double flops_per_ns[WS_PRECISION_COUNT]
                       [WS_CORES_COUNT]; /* GFLOP/s; 0: these cores do not support the precision */
    const char *source;
    const char *calibrated; /* date of the calibration, "2026-11-21"; NULL: not calibrated */
    uint32_t measured;      /* what was measured: bit n: peak of precision n; WS_GPU_MEASURED_BYTES: bandwidth */
    const struct ws_gpu
        *sheet; /* of a calibrated GPU, the table's row with the data sheet's figures; NULL: unknown */
};

#define WS_GPU_MEASURED_BYTES (1U << WS_PRECISION_COUNT)

/* What a trace says about a device. A text that the trace lacks is NULL. A number that the trace lacks is 0. */
struct ws_gpu_facts {
    const char *name;
    uint32_t cc_major, cc_minor;
    uint32_t sms;
    uint32_t clock_khz;
    uint32_t memory_clock_khz;
    uint32_t memory_bus_bits;
    uint64_t memory_bytes;
};

/* Where the peaks of a device come from. */
enum ws_gpu_match {
    WS_GPU_UNKNOWN,               /* no peaks are known */
    WS_GPU_BY_NAME,               /* a row of the table whose name fits the device's name */
    WS_GPU_BY_FIGURES,            /* no name, but a table row with equal capability, compute units and memory */
    WS_GPU_GIVEN,                 /* the user named the GPU, or gave a file with its peaks */
    WS_GPU_CALIBRATED,            /* measured on this GPU itself */
    WS_GPU_CALIBRATED_ON_ANOTHER, /* measured on a GPU of the same name */
    WS_GPU_BY_CAPABILITY, /* peaks of a chip of the same compute capability, scaled by SMs and clock; bandwidth from
                             the memory's clock and bus width */
};

/* Finds the peaks of the device: by its name, else by its compute units and memory size (AMD only), else from a chip
 * of the same compute capability. */
enum ws_gpu_match ws_gpu_find(const struct ws_gpu_facts *facts, struct ws_gpu *gpu);

/* Returns the table's GPU with this short name ("h100", "A100 80GB PCIe"), or NULL. */
const struct ws_gpu *ws_gpu_named(const char *text);

/* Returns whether a device of this name is made by AMD. An AMD device has compute units in place of SMs. Its compute
 * capability is the number that HIP reports. */
bool ws_gpu_is_amd(const char *name);

/* Returns all rows of the table. */
const struct ws_gpu *ws_gpu_table(size_t *count);

/* Returns the peak at this precision in GFLOP/s, of the faster kind of cores; 0: not supported. */
double ws_gpu_peak(const struct ws_gpu *gpu, enum ws_precision precision);

/* Returns the ridge, peak / bandwidth, in FLOPs per byte; 0: unknown. */
double ws_gpu_ridge(const struct ws_gpu *gpu, enum ws_precision precision);

/* Return whether the peak, or the memory bandwidth, was measured by a calibration. */
bool ws_gpu_peak_is_measured(const struct ws_gpu *gpu, enum ws_precision precision);
bool ws_gpu_bandwidth_is_measured(const struct ws_gpu *gpu);

/* Return a limit that no kernel can exceed, in GFLOP/s or GB/s. On a calibrated GPU the limit is the larger of the
 * measured figure and the data sheet's figure, because some kernels are a little faster than the measured GEMMs and
 * copies. */
double ws_gpu_limit(const struct ws_gpu *gpu, enum ws_precision precision);
double ws_gpu_bandwidth_limit(const struct ws_gpu *gpu);

const char *ws_precision_name(enum ws_precision precision);
uint32_t ws_precision_bits(enum ws_precision precision);

/* Returns the precision with this name, or WS_PRECISION_COUNT for an unknown name. */
enum ws_precision ws_precision_named(const char *text);

#endif
