#include "cudnn/work.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simgpu.h"

enum { LATENCY_NS = 2500 };

static const char *const kernels[SIM_WORKS] = {
    [SIM_FORWARD] = "sm90_xmma_fprop_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize128x128x64_cudnn",
    [SIM_BACKWARD_DATA] = "sm80_xmma_dgrad_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize128x128x64_cudnn",
    [SIM_BACKWARD_FILTER] = "sm80_xmma_wgrad_implicit_gemm_indexed_f16f16_f16f32_f32_nhwckrsc_nhwc_cudnn",
    [SIM_ATTENTION_FORWARD] = "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_kernel0_0",
    [SIM_ATTENTION_BACKWARD] = "cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma_f16_knob_30_kernel0_0",
    [SIM_NORM] = "cudnn_generated_fort_native_ln_fwd_sm90_knob_3_kernel0_0",
    [SIM_TRANSFORM] = "nchwToNhwcKernel",
};

static struct {
    ws_CUresult (*cuModuleLoadData)(ws_CUmodule *, const void *);
    ws_CUresult (*cuModuleGetFunction)(ws_CUfunction *, ws_CUmodule, const char *);
    ws_CUresult (*cuLaunchKernel)(ws_CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                  ws_CUstream, void **, void **);
    ws_CUfunction functions[SIM_WORKS];
    struct simgpu_device device;
    bool found;
} driver;

static pthread_once_t once = PTHREAD_ONCE_INIT;

static uint64_t duration(void **parameters, const unsigned grid[3], const unsigned block[3])
{
    uint64_t ns;
    (void)grid;
    (void)block;
    memcpy(&ns, parameters[0], sizeof(ns));
    return ns;
}

static void run(void **parameters, const unsigned grid[3], const unsigned block[3])
{
    (void)parameters;
    (void)grid;
    (void)block;
}

static void find_driver(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    ws_CUresult (*get)(const char *, void **, int, uint64_t, ws_CUenum *) = NULL;
    int (*add)(const char *, simgpu_run, simgpu_duration) = NULL;
    void (*describe)(struct simgpu_device *) = NULL;
    ws_CUmodule module;
    char image[4096] = ".version 8.0\n.target sm_80\n.address_size 64\n";
    if (library) {
        get = (__typeof__(get))dlsym(library, "cuGetProcAddress_v2");
        add = (__typeof__(add))dlsym(library, "simgpuRegisterKernel");
        describe = (__typeof__(describe))dlsym(library, "simgpuDescribeDevice");
    }
    if (!get || !add || !describe)
        return;
    describe(&driver.device);
    for (int i = 0; i < SIM_WORKS; i++) {
        size_t used = strlen(image);
        add(kernels[i], run, duration);
        snprintf(image + used, sizeof(image) - used, ".visible .entry %s(.param .u64 p0)\n{\nret;\n}\n", kernels[i]);
    }
#define FIND(name)                                                                            \
    if (get(#name, (void **)&driver.name, 12000, 0, NULL) != WS_CUDA_SUCCESS || !driver.name) \
    return
    FIND(cuModuleLoadData);
    FIND(cuModuleGetFunction);
    FIND(cuLaunchKernel);
#undef FIND
    driver.found = driver.cuModuleLoadData(&module, image) == WS_CUDA_SUCCESS;
    for (int i = 0; i < SIM_WORKS && driver.found; i++)
        driver.found = driver.cuModuleGetFunction(&driver.functions[i], module, kernels[i]) == WS_CUDA_SUCCESS;
}

uint64_t sim_element_bytes(ws_cudnnEnum type)
{
    switch (type) {
    case WS_CUDNN_DATA_DOUBLE:
        return 8;
    case WS_CUDNN_DATA_FLOAT:
        return 4;
    case WS_CUDNN_DATA_HALF:
    case WS_CUDNN_DATA_BFLOAT16:
        return 2;
    case WS_CUDNN_DATA_INT8:
    case WS_CUDNN_DATA_FP8_E4M3:
        return 1;
    default:
        return 0;
    }
}

static bool launch(enum sim_work work, double ns, ws_CUstream stream)
{
    uint64_t whole = LATENCY_NS + (uint64_t)ns;
    void *parameters[] = { &whole };
    return driver.cuLaunchKernel(driver.functions[work], 512, 1, 1, 128, 1, 1, 0, stream, parameters, NULL) ==
           WS_CUDA_SUCCESS;
}

static void write_truth(enum sim_work work, double flops, double bytes)
{
    const char *path = getenv("SIMGPU_CUDNN");
    FILE *out = path ? fopen(path, "a") : NULL;
    if (!out)
        return;
    fprintf(out, "%s %.0f %.0f\n", kernels[work], flops, bytes);
    fclose(out);
}

/* The kernel reaches four fifths of the chip's peak FLOP/s or bandwidth, whichever limits it. */
ws_cudnnStatus sim_work(enum sim_work work, double flops, double bytes, ws_CUstream stream)
{
    pthread_once(&once, find_driver);
    if (!driver.found)
        return WS_CUDNN_STATUS_NOT_INITIALIZED;
    double compute = flops / driver.device.flops_per_ns, memory = bytes / driver.device.bytes_per_ns;
    write_truth(work, flops, bytes);
    bool done = work > SIM_BACKWARD_FILTER || launch(SIM_TRANSFORM, memory, stream);
    done = done && launch(work, (compute > memory ? compute : memory) / 0.8, stream);
    return done ? WS_CUDNN_STATUS_SUCCESS : WS_CUDNN_STATUS_NOT_INITIALIZED;
}

static struct {
    ws_cublasStatus (*cublasLtMatrixLayoutCreate)(ws_cublasLtMatrixLayout **, ws_cublasEnum, uint64_t, uint64_t,
                                                  int64_t);
    ws_cublasStatus (*cublasLtMatrixLayoutSetAttribute)(ws_cublasLtMatrixLayout *, ws_cublasEnum, const void *,
                                                        size_t);
    ws_cublasStatus (*cublasLtMatmulDescCreate)(ws_cublasLtMatmulDesc **, ws_cublasEnum, ws_cublasEnum);
    ws_cublasStatus (*cublasLtMatmul)(ws_cublasHandle, ws_cublasLtMatmulDesc *, ws_cublasPointer, ws_cublasPointer,
                                      ws_cublasLtMatrixLayout *, ws_cublasPointer, ws_cublasLtMatrixLayout *,
                                      ws_cublasPointer, ws_cublasPointer, ws_cublasLtMatrixLayout *, void *,
                                      ws_cublasLtMatrixLayout *, const void *, void *, size_t, ws_CUstream);
    bool found;
} lt;

static void find_lt(void)
{
    void *library = dlopen("libcublasLt.so.13", RTLD_NOW);
    if (!library)
        return;
#define FIND(name)                                        \
    lt.name = (__typeof__(lt.name))dlsym(library, #name); \
    if (!lt.name)                                         \
    return
    FIND(cublasLtMatrixLayoutCreate);
    FIND(cublasLtMatrixLayoutSetAttribute);
    FIND(cublasLtMatmulDescCreate);
    FIND(cublasLtMatmul);
#undef FIND
    lt.found = true;
}

/* cuBLASLt takes column-major matrices. A row-major matrix read column-major is its transpose, so this computes
 * Cᵀ = Bᵀ · Aᵀ. */
ws_cudnnStatus sim_matmul(uint64_t batch, uint64_t m, uint64_t n, uint64_t k, ws_cudnnEnum type, ws_CUstream stream)
{
    static pthread_once_t lt_once = PTHREAD_ONCE_INIT;
    static const float one = 1, zero = 0;
    const uint64_t sizes[3][2] = { { n, k }, { k, m }, { n, m } };
    const uint32_t batches = (uint32_t)batch;
    ws_cublasLtMatrixLayout *layouts[3] = { NULL, NULL, NULL };
    ws_cublasLtMatmulDesc *desc = NULL;
    pthread_once(&lt_once, find_lt);
    if (!lt.found || type != WS_CUDNN_DATA_HALF)
        return WS_CUDNN_STATUS_NOT_SUPPORTED;
    lt.cublasLtMatmulDescCreate(&desc, WS_CUBLAS_COMPUTE_32F, WS_CUDA_R_32F);
    for (int i = 0; i < 3; i++) {
        lt.cublasLtMatrixLayoutCreate(&layouts[i], WS_CUDA_R_16F, sizes[i][0], sizes[i][1], (int64_t)sizes[i][0]);
        lt.cublasLtMatrixLayoutSetAttribute(layouts[i], WS_CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batches,
                                            sizeof(batches));
    }
    ws_cublasStatus status = lt.cublasLtMatmul(NULL, desc, &one, NULL, layouts[0], NULL, layouts[1], &zero, NULL,
                                               layouts[2], NULL, layouts[2], NULL, NULL, 0, stream);
    for (int i = 0; i < 3; i++)
        free(layouts[i]);
    free(desc);
    return status == WS_CUBLAS_STATUS_SUCCESS ? WS_CUDNN_STATUS_SUCCESS : WS_CUDNN_STATUS_NOT_INITIALIZED;
}
