#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/minmax.h"
#include "calibrate/blas.h"
#include "calibrate/measure.h"
#include "calibrate/repeat.h"

/* A size is the number of rows of the square matrices. WORKSPACE is the size in bytes that NVIDIA recommends for
 * cuBLASLt's workspace on Hopper. most_memory is in bytes. It has room for three fp32 matrices of 16384 × 16384;
 * allocate() takes less if little memory is free. */
enum { LEAST_SIZE = 512, USUAL_SIZE = 4096, LARGEST_SIZE = 16384, WORKSPACE = 32 << 20, BLOCK = 1 << 20 };
static const uint64_t most_memory = (uint64_t)3 << 30;

static const double one_64 = 1, zero_64 = 0;
static const float one_32 = 1, zero_32 = 0;
static const int32_t one_int = 1, zero_int = 0;

/* The GEMM measured at each precision. The 16-bit and 8-bit floating-point types accumulate in fp32, as in
 * frameworks. */
static const struct kind {
    enum ws_precision precision;
    ws_cublasEnum type, result_type, compute, scale_type;
    const void *one, *zero;
    uint32_t bytes, result_bytes;
    uint32_t mantissa;         /* bits of the mantissa; 0: an integer type */
    uint32_t bias;             /* exponent bias of the floating-point type */
    uint32_t least_capability; /* compute capability × 10; below it, cuBLAS silently uses another precision */
    bool by_lt;
} kinds[] = {
    { WS_PRECISION_FP64, WS_CUDA_R_64F, WS_CUDA_R_64F, WS_CUBLAS_COMPUTE_64F, WS_CUDA_R_64F, &one_64, &zero_64, 8, 8,
      52, 1023, 0, false },
    { WS_PRECISION_FP32, WS_CUDA_R_32F, WS_CUDA_R_32F, WS_CUBLAS_COMPUTE_32F, WS_CUDA_R_32F, &one_32, &zero_32, 4, 4,
      23, 127, 0, false },
    { WS_PRECISION_TF32, WS_CUDA_R_32F, WS_CUDA_R_32F, WS_CUBLAS_COMPUTE_32F_FAST_TF32, WS_CUDA_R_32F, &one_32,
      &zero_32, 4, 4, 23, 127, 80, false },
    { WS_PRECISION_FP16, WS_CUDA_R_16F, WS_CUDA_R_16F, WS_CUBLAS_COMPUTE_32F, WS_CUDA_R_32F, &one_32, &zero_32, 2, 2,
      10, 15, 0, false },
    { WS_PRECISION_BF16, WS_CUDA_R_16BF, WS_CUDA_R_16BF, WS_CUBLAS_COMPUTE_32F, WS_CUDA_R_32F, &one_32, &zero_32, 2,
      2, 7, 127, 80, false },
    { WS_PRECISION_INT8, WS_CUDA_R_8I, WS_CUDA_R_32I, WS_CUBLAS_COMPUTE_32I, WS_CUDA_R_32I, &one_int, &zero_int, 1, 4,
      0, 0, 0, false },
    { WS_PRECISION_FP8, WS_CUDA_R_8F_E4M3, WS_CUDA_R_16BF, WS_CUBLAS_COMPUTE_32F, WS_CUDA_R_32F, &one_32, &zero_32, 1,
      2, 3, 7, 0, true },
};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

struct gemms {
    struct ws_measuring *measuring;
    struct ws_blas blas;
    ws_CUdeviceptr memory;
    uint64_t bytes; /* bytes for matrices; the workspace follows the matrices */
    struct ws_blas_gemm gemm;
    ws_cublasStatus status;
};

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Returns the bits of a random number. A floating-point number has an absolute value from 1/16 to 1, so that a sum of
 * 16384 products does not overflow. */
static uint64_t random_number(const struct kind *kind, uint64_t *state)
{
    uint64_t random = next_random(state);
    if (!kind->mantissa)
        return random;
    uint64_t fraction = random & (((uint64_t)1 << kind->mantissa) - 1);
    uint64_t exponent = kind->bias - 1 - (random >> 60 & 3), sign = random >> 63;
    return sign << (8 * kind->bytes - 1) | exponent << kind->mantissa | fraction;
}

/* Fills the operands with random numbers, because the power draw depends on how many bits change from one number to
 * the next. With zeros the GPU would draw less power and keep a higher clock than with real data. */
static ws_CUresult fill(const struct gemms *gemms, const struct kind *kind, uint64_t bytes)
{
    const struct ws_driver *driver = &gemms->measuring->driver;
    uint64_t state = 0x9e3779b97f4a7c15U, filled = ws_min(bytes, BLOCK);
    unsigned char *block = malloc(BLOCK);
    if (!block)
        return WS_CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t at = 0; at < BLOCK; at += kind->bytes) {
        uint64_t number = random_number(kind, &state);
        memcpy(block + at, &number, kind->bytes); /* little-endian, like the GPU */
    }
    ws_CUresult result = driver->copy_to_device(gemms->memory, block, filled);
    free(block);
    while (filled < bytes && result == WS_CUDA_SUCCESS) {
        uint64_t more = bytes - filled < filled ? bytes - filled : filled;
        result = driver->copy(gemms->memory + filled, gemms->memory, more, driver->stream);
        filled += more;
    }
    return result;
}

static int gemms_run(void *user)
{
    struct gemms *gemms = user;
    gemms->status = ws_blas_multiply(&gemms->blas, &gemms->gemm, gemms->measuring->driver.stream);
    return gemms->status == WS_CUBLAS_STATUS_SUCCESS ? 0 : -ENOTSUP;
}

static uint64_t bytes_needed(const struct kind *kind, uint64_t size)
{
    return size * size * (2 * kind->bytes + kind->result_bytes);
}

/* Measures the GEMM at one size. Returns 0, or -errno if the GEMM failed. After a failure, larger sizes should not be
 * tried. */
static int measure_size(struct gemms *gemms, const struct kind *kind, int size, double budget_ns,
                        struct ws_ceiling *ceiling, double *once_ns)
{
    const struct ws_driver *driver = &gemms->measuring->driver;
    uint64_t matrix = (uint64_t)size * (uint64_t)size * kind->bytes;
    double flops = 2.0 * size * size * size;
    struct ws_repeated repeated;
    gemms->gemm = (struct ws_blas_gemm){ .type = kind->type,
                                         .result_type = kind->result_type,
                                         .compute = kind->compute,
                                         .scale_type = kind->scale_type,
                                         .one = kind->one,
                                         .zero = kind->zero,
                                         .by_lt = kind->by_lt,
                                         .size = size,
                                         .a = gemms->memory,
                                         .b = gemms->memory + matrix,
                                         .c = gemms->memory + 2 * matrix,
                                         .workspace = gemms->memory + gemms->bytes,
                                         .workspace_bytes = WORKSPACE };
    gemms->status = WS_CUBLAS_STATUS_SUCCESS;
    ws_measuring_says(gemms->measuring, ws_precision_name(kind->precision), (uint64_t)size, "²");
    ws_CUresult failed = fill(gemms, kind, 2 * matrix);
    int status =
        failed == WS_CUDA_SUCCESS ? ws_repeat(driver, gemms_run, gemms, flops, budget_ns, &repeated, &failed) : -EIO;
    if (!status) {
        ws_ceiling_raise(ceiling, &repeated.rate, (uint64_t)size);
        *once_ns = repeated.once_ns;
    } else if (gemms->status != WS_CUBLAS_STATUS_SUCCESS) {
        snprintf(ceiling->why_not, sizeof(ceiling->why_not), "%s returned %s", kind->by_lt ? "cuBLASLt" : "cuBLAS",
                 ws_blas_status(&gemms->blas, gemms->status));
    } else {
        snprintf(ceiling->why_not, sizeof(ceiling->why_not), "failed on the GPU with %s",
                 ws_driver_error(driver, failed));
    }
    return status;
}

static void gemms_measure(struct gemms *gemms, const struct kind *kind, double budget_ns, struct ws_ceiling *ceiling)
{
    const struct ws_gpu_facts *facts = &gemms->measuring->calibration->facts;
    int largest = LARGEST_SIZE, sizes = 1;
    double once_ns = 0, end = ws_measuring_left(gemms->measuring) - budget_ns;
    if (facts->cc_major * 10 + facts->cc_minor < kind->least_capability) {
        snprintf(ceiling->why_not, sizeof(ceiling->why_not), "not supported: compute capability %u.%u, below %u.%u",
                 facts->cc_major, facts->cc_minor, kind->least_capability / 10, kind->least_capability % 10);
        return;
    }
    if (kind->by_lt && !gemms->blas.lt_handle) {
        snprintf(ceiling->why_not, sizeof(ceiling->why_not),
                 "no libcublasLt of the same version as libcublas was found");
        return;
    }
    while (largest > LEAST_SIZE && bytes_needed(kind, (uint64_t)largest) > gemms->bytes)
        largest /= 2;
    int size = ws_min(largest, USUAL_SIZE);
    for (int n = size; n < largest; n *= 2)
        sizes++;
    for (; size <= largest; size *= 2, sizes--) {
        double left = ws_measuring_left(gemms->measuring) - end;
        /* A GEMM of twice the size takes eight times as long. At least four such GEMMs must fit in the remaining
         * time. */
        if (8 * once_ns * 4 > left && once_ns > 0)
            break;
        if (measure_size(gemms, kind, size, left / sizes, ceiling, &once_ns))
            break;
    }
}

/* Allocates half of the free memory, but at most most_memory. Allocates less if no block of that size is free. */
static int allocate(struct gemms *gemms)
{
    const struct ws_driver *driver = &gemms->measuring->driver;
    uint64_t half = gemms->measuring->calibration->memory_free / 2;
    gemms->bytes = ws_min(half, most_memory);
    gemms->bytes = gemms->bytes / 512 * 512; /* aligns the workspace, which follows the matrices */
    while (gemms->bytes >= bytes_needed(&kinds[0], LEAST_SIZE)) {
        if (driver->allocate(&gemms->memory, gemms->bytes + WORKSPACE) == WS_CUDA_SUCCESS)
            return 0;
        gemms->bytes = gemms->bytes / 1024 * 512;
    }
    return -ENOMEM;
}

static void say_why_not(struct ws_calibration *calibration, const char *why)
{
    for (int i = 0; i < KINDS; i++)
        snprintf(calibration->gemms[kinds[i].precision].why_not,
                 sizeof(calibration->gemms[kinds[i].precision].why_not), "%s", why);
}

void ws_measure_products(struct ws_measuring *measuring)
{
    struct ws_calibration *calibration = measuring->calibration;
    struct gemms gemms = { .measuring = measuring };
    char why[160];
    snprintf(calibration->gemms[WS_PRECISION_FP4].why_not, sizeof(calibration->gemms[WS_PRECISION_FP4].why_not),
             "not tried: its operands need scales for every block");
    ws_measuring_says(measuring, "cuBLAS", 0, "");
    if (ws_blas_open(&gemms.blas, measuring->driver.stream, why, sizeof(why))) {
        say_why_not(calibration, why);
    } else if (allocate(&gemms)) {
        say_why_not(calibration, "too little of the GPU's memory is free");
    } else {
        snprintf(calibration->blas, sizeof(calibration->blas), "cuBLAS %d.%d.%d", gemms.blas.version / 10000,
                 gemms.blas.version / 100 % 100, gemms.blas.version % 100);
        for (int i = 0; i < KINDS; i++)
            gemms_measure(&gemms, &kinds[i], ws_measuring_left(measuring) / (KINDS - i),
                          &calibration->gemms[kinds[i].precision]);
        measuring->driver.free(gemms.memory);
    }
    ws_blas_close(&gemms.blas);
}
