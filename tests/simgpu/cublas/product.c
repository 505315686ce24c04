#include "cublas/product.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simgpu.h"

enum { MOST_COMPUTED = 1 << 22, LATENCY_NS = 2500, PARAMETERS = sizeof(struct sim_product) / sizeof(uint64_t) };

/* One row for each type of the inputs: the lowest compute capability that supports the type, bytes of an element,
 * peak TFLOP/s of an H100, and the name of cuBLAS's kernel. For another chip, the TFLOP/s are scaled by that chip's
 * peak. */
static const struct kernel {
    uint32_t type;
    int least_capability;
    double bytes, tflops;
    const char *name;
    enum simgpu_precision precision;
    bool tensor;
} kernels[] = {
    { WS_CUDA_R_32F, 0, 4, 66.9,
      "sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize128x128x8_stage3_warpsize2x4x1_ffma_cublas", SIMGPU_FP32,
      false },
    { SIM_TYPE_TF32, 80, 4, 494.7,
      "sm80_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize128x128x32_stage3_warpsize2x2x1_tensor16x8x8_cublas",
      SIMGPU_TF32, true },
    { WS_CUDA_R_64F, 0, 8, 66.9, "sm90_xmma_gemm_f64f64_f64f64_f64_nn_n_tilesize128x64x16_cublas", SIMGPU_FP64,
      true },
    { WS_CUDA_R_16F, 0, 2, 989.4, "sm90_xmma_gemm_f16f16_f16f32_f32_nn_n_tilesize128x128x64_cublas", SIMGPU_FP16,
      true },
    { WS_CUDA_R_16BF, 80, 2, 989.4, "sm90_xmma_gemm_bf16bf16_bf16f32_f32_nn_n_tilesize128x128x64_cublas", SIMGPU_BF16,
      true },
    { WS_CUDA_R_8F_E4M3, 89, 1, 1978.9, "sm90_xmma_gemm_e4m3bf16_e4m3f32_f32_tn_n_tilesize128x128x128_cublas",
      SIMGPU_FP8, true },
    { WS_CUDA_R_8I, 72, 1, 1978.9, "sm90_xmma_gemm_i8i32_i8i32_i32_tn_n_tilesize128x128x128_cublas", SIMGPU_INT8,
      true },
};
enum { KERNELS = sizeof(kernels) / sizeof(kernels[0]) };
static const double h100_flops_per_ns = 989000;

static struct {
    ws_CUresult (*cuModuleLoadData)(ws_CUmodule *, const void *);
    ws_CUresult (*cuModuleGetFunction)(ws_CUfunction *, ws_CUmodule, const char *);
    ws_CUresult (*cuLaunchKernel)(ws_CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                  ws_CUstream, void **, void **);
    ws_CUfunction functions[KERNELS];
    struct simgpu_device device;
    bool found;
} driver;

static double flops_of(const struct sim_product *product)
{
    return 2.0 * (double)product->m * (double)product->n * (double)product->k * (double)product->batch;
}

static void read_parameters(struct sim_product *product, void **parameters)
{
    uint64_t *words = (uint64_t *)product;
    for (int i = 0; i < PARAMETERS; i++)
        memcpy(&words[i], parameters[i], sizeof(words[i]));
}

static const struct kernel *kernel_of(uint64_t type)
{
    for (int i = 0; i < KERNELS; i++)
        if (kernels[i].type == type)
            return &kernels[i];
    return NULL;
}

/* The kernel reaches four fifths of the chip's peak FLOP/s or bandwidth, whichever limits it. */
static uint64_t duration(void **parameters, const unsigned grid[3], const unsigned block[3])
{
    struct sim_product product;
    (void)grid;
    (void)block;
    read_parameters(&product, parameters);
    const struct kernel *kernel = kernel_of(product.type);
    double elements = (double)(product.m * product.k + product.k * product.n + product.m * product.n);
    double compute = flops_of(&product) / (kernel->tflops * 1e3 * driver.device.flops_per_ns / h100_flops_per_ns);
    double memory = elements * (double)product.batch * kernel->bytes / driver.device.bytes_per_ns;
    return LATENCY_NS + (uint64_t)((compute > memory ? compute : memory) / 0.8);
}

static void count(void **parameters, const unsigned grid[3], const unsigned block[3], struct simgpu_work *work)
{
    struct sim_product product;
    (void)grid;
    (void)block;
    read_parameters(&product, parameters);
    const struct kernel *kernel = kernel_of(product.type);
    double read = (double)(product.m * product.k + product.k * product.n) * (double)product.batch * kernel->bytes;
    work->bytes_read = (uint64_t)read;
    work->bytes_written = (uint64_t)((double)(product.m * product.n * product.batch) * kernel->bytes);
    (kernel->tensor ? work->tensor : work->flops)[kernel->precision] = (uint64_t)flops_of(&product);
}

/* C = A · B with column-major matrices, as in cuBLAS; alpha is 1 and beta 0. */
static void run(void **parameters, const unsigned grid[3], const unsigned block[3])
{
    struct sim_product product;
    (void)grid;
    (void)block;
    read_parameters(&product, parameters);
    if ((product.type != WS_CUDA_R_32F && product.type != SIM_TYPE_TF32) || product.batch != 1 || !product.c ||
        flops_of(&product) > MOST_COMPUTED)
        return;
    const float *a = (const float *)(uintptr_t)product.a, *b = (const float *)(uintptr_t)product.b;
    float *c = (float *)(uintptr_t)product.c;
    for (uint64_t column = 0; column < product.n; column++)
        for (uint64_t row = 0; row < product.m; row++) {
            float sum = 0;
            for (uint64_t i = 0; i < product.k; i++)
                sum += a[product.transposed & 1 ? row * product.lda + i : i * product.lda + row] *
                       b[product.transposed & 2 ? i * product.ldb + column : column * product.ldb + i];
            c[column * product.ldc + row] = sum;
        }
}

static char *make_image(void)
{
    char *image;
    size_t size;
    FILE *out = open_memstream(&image, &size);
    fprintf(out, ".version 8.0\n.target sm_80\n.address_size 64\n");
    for (int i = 0; i < KERNELS; i++) {
        fprintf(out, ".visible .entry %s(", kernels[i].name);
        for (int parameter = 0; parameter < PARAMETERS; parameter++)
            fprintf(out, "%s.param .u64 p%d", parameter ? ", " : "", parameter);
        fprintf(out, ")\n{\nret;\n}\n");
    }
    return fclose(out) ? NULL : image;
}

static void find_driver(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    ws_CUresult (*get)(const char *, void **, int, uint64_t, ws_CUenum *);
    int (*add)(const char *, simgpu_run, simgpu_duration);
    int (*add_work)(const char *, simgpu_count);
    ws_CUmodule module;
    get = library ? (ws_CUresult(*)(const char *, void **, int, uint64_t, ws_CUenum *))dlsym(library,
                                                                                             "cuGetProcAddress_v2")
                  : NULL;
    add = library ? (int (*)(const char *, simgpu_run, simgpu_duration))dlsym(library, "simgpuRegisterKernel") : NULL;
    void (*describe)(struct simgpu_device *) =
        library ? (void (*)(struct simgpu_device *))dlsym(library, "simgpuDescribeDevice") : NULL;
    add_work = library ? (int (*)(const char *, simgpu_count))dlsym(library, "simgpuRegisterWork") : NULL;
    if (!get || !add || !add_work || !describe)
        return;
    describe(&driver.device);
    for (int i = 0; i < KERNELS; i++) {
        add(kernels[i].name, run, duration);
        add_work(kernels[i].name, count);
    }
#define FIND(name)                                                                            \
    if (get(#name, (void **)&driver.name, 12000, 0, NULL) != WS_CUDA_SUCCESS || !driver.name) \
    return
    FIND(cuModuleLoadData);
    FIND(cuModuleGetFunction);
    FIND(cuLaunchKernel);
#undef FIND
    char *image = make_image();
    driver.found = image && driver.cuModuleLoadData(&module, image) == WS_CUDA_SUCCESS;
    for (int i = 0; i < KERNELS && driver.found; i++)
        driver.found = driver.cuModuleGetFunction(&driver.functions[i], module, kernels[i].name) == WS_CUDA_SUCCESS;
    free(image);
}

static void write_truth(const struct sim_product *product, const struct kernel *kernel)
{
    const char *path = getenv("SIMGPU_PRODUCTS");
    FILE *out = path ? fopen(path, "a") : NULL;
    if (!out)
        return;
    fprintf(out, "%s %llu %llu %llu %llu %.0f\n", kernel->name, (unsigned long long)product->m,
            (unsigned long long)product->n, (unsigned long long)product->k, (unsigned long long)product->batch,
            flops_of(product));
    fclose(out);
}

ws_cublasStatus sim_product_launch(const struct sim_product *product, ws_CUstream stream)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_driver);
    const struct kernel *kernel = kernel_of(product->type);
    if (!driver.found || !kernel)
        return WS_CUBLAS_STATUS_NOT_INITIALIZED;
    if (driver.device.capability < kernel->least_capability)
        return WS_CUBLAS_STATUS_NOT_SUPPORTED;
    struct sim_product copy = *product;
    void *parameters[PARAMETERS];
    for (int i = 0; i < PARAMETERS; i++)
        parameters[i] = (uint64_t *)&copy + i;
    unsigned tiles_m = (unsigned)((product->m + 127) / 128), tiles_n = (unsigned)((product->n + 127) / 128);
    write_truth(product, kernel);
    ws_CUresult result = driver.cuLaunchKernel(driver.functions[kernel - kernels], tiles_m, tiles_n,
                                               (unsigned)product->batch, 128, 1, 1, 0, stream, parameters, NULL);
    return result == WS_CUDA_SUCCESS ? WS_CUBLAS_STATUS_SUCCESS : WS_CUBLAS_STATUS_NOT_INITIALIZED;
}
