#include "calibrate/blas.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* Newest first: a cuBLAS that is newer than the driver can work with says so when a handle is made. Before 11 compute
 * types were something else. */
static const char *const versions[] = { "13", "12", "11" };

/* Where the loader looks, then where the toolkit is installed. */
static const char *const folders[] = { "", "/usr/local/cuda/lib64/" };

/* With these in the environment cuBLAS takes one precision for another. */
static const char *const overrides[] = { "NVIDIA_TF32_OVERRIDE", "CUBLAS_EMULATE_SINGLE_PRECISION",
                                         "CUBLAS_EMULATE_DOUBLE_PRECISION" };

static void *open_library(const char *name, const char *version)
{
    char path[128];
    void *library = NULL;
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]) && !library; i++) {
        snprintf(path, sizeof(path), "%s%s.so.%s", folders[i], name, version);
        library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
    return library;
}

#define FIND(member, name, parameters)                          \
    to->member = (__typeof__(to->member))dlsym(library, #name); \
    missing = to->member ? missing : #name;

static const char *find_cublas(struct ws_blas *blas, void *library)
{
    __typeof__(blas->cublas) *to = &blas->cublas;
    const char *missing = NULL;
    WS_BLAS_FUNCTIONS(FIND)
    blas->status_name = (const char *(*)(ws_cublasStatus))dlsym(library, "cublasGetStatusName");
    return missing;
}

static const char *find_lt(struct ws_blas *blas, void *library)
{
    __typeof__(blas->lt) *to = &blas->lt;
    const char *missing = NULL;
    WS_BLASLT_FUNCTIONS(FIND)
    return missing;
}
#undef FIND

const char *ws_blas_status(struct ws_blas *blas, ws_cublasStatus status)
{
    const char *name = blas->status_name ? blas->status_name(status) : NULL;
    if (!name)
        snprintf(blas->status_text, sizeof(blas->status_text), "status %d", status);
    return name ? name : blas->status_text;
}

/* A library that is there but does not work stays loaded: it may have threads. */
static int try_version(struct ws_blas *blas, const char *version, ws_CUstream stream, char *message, size_t capacity)
{
    void *library = open_library("libcublas", version);
    if (!library)
        return -ENOENT;
    const char *missing = find_cublas(blas, library);
    if (missing) {
        snprintf(message, capacity, "libcublas.so.%s has no %s", version, missing);
        return -ENOSYS;
    }
    ws_cublasStatus status = blas->cublas.create(&blas->handle);
    if (status != WS_CUBLAS_STATUS_SUCCESS) {
        blas->handle = NULL;
        snprintf(message, capacity, "libcublas.so.%s does not work with this driver, %s", version,
                 ws_blas_status(blas, status));
        return -ENOSYS;
    }
    blas->cublas.version(blas->handle, &blas->version);
    status = blas->cublas.set_stream(blas->handle, stream);
    if (status != WS_CUBLAS_STATUS_SUCCESS) {
        snprintf(message, capacity, "libcublas.so.%s: %s", version, ws_blas_status(blas, status));
        return -EIO;
    }
    void *lt = open_library("libcublasLt", version);
    if (!lt || find_lt(blas, lt) || blas->lt.create(&blas->lt_handle) != WS_CUBLAS_STATUS_SUCCESS)
        blas->lt_handle = NULL;
    return 0;
}

int ws_blas_open(struct ws_blas *blas, ws_CUstream stream, char *message, size_t capacity)
{
    int status = -ENOENT;
    *blas = (struct ws_blas){ 0 };
    for (size_t i = 0; i < sizeof(overrides) / sizeof(overrides[0]); i++)
        unsetenv(overrides[i]);
    snprintf(message, capacity,
             "no libcublas.so.13, .12 or .11: LD_LIBRARY_PATH may name its folder "
             "(with PyTorch: nvidia/cublas/lib or nvidia/cu13/lib in site-packages)");
    for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]) && status; i++) {
        ws_blas_close(blas);
        status = try_version(blas, versions[i], stream, message, capacity);
    }
    return status;
}

void ws_blas_close(struct ws_blas *blas)
{
    if (blas->lt_handle)
        blas->lt.destroy(blas->lt_handle);
    if (blas->handle)
        blas->cublas.destroy(blas->handle);
    *blas = (struct ws_blas){ 0 };
}

static ws_cublasStatus multiply_by_lt(const struct ws_blas *blas, const struct ws_blas_product *product,
                                      ws_CUstream stream)
{
    __typeof__(&blas->lt) lt = &blas->lt;
    ws_cublasLtMatmulDesc *desc = NULL;
    ws_cublasLtMatrixLayout *in = NULL, *out = NULL;
    const ws_cublasEnum transposed = WS_CUBLAS_OP_T;
    /* Tensor cores of fp8 reach their peak only so; training and inference libraries ask for it as well. */
    const int8_t fast = 1;
    uint64_t size = (uint64_t)product->size;
    ws_cublasStatus status = lt->desc_create(&desc, product->compute, product->scale_type);
    if (status == WS_CUBLAS_STATUS_SUCCESS)
        status = lt->desc_set(desc, WS_CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof(transposed));
    if (status == WS_CUBLAS_STATUS_SUCCESS)
        status = lt->desc_set(desc, WS_CUBLASLT_MATMUL_DESC_FAST_ACCUM, &fast, sizeof(fast));
    if (status == WS_CUBLAS_STATUS_SUCCESS)
        status = lt->layout_create(&in, product->type, size, size, product->size);
    if (status == WS_CUBLAS_STATUS_SUCCESS)
        status = lt->layout_create(&out, product->result_type, size, size, product->size);
    if (status == WS_CUBLAS_STATUS_SUCCESS)
        status =
            lt->matmul(blas->lt_handle, desc, product->one, (const void *)product->a, in, (const void *)product->b,
                       in, product->zero, (const void *)product->c, out, (void *)product->c, out, NULL,
                       (void *)product->workspace, product->workspace_bytes, stream);
    if (out)
        lt->layout_destroy(out);
    if (in)
        lt->layout_destroy(in);
    if (desc)
        lt->desc_destroy(desc);
    return status;
}

ws_cublasStatus ws_blas_multiply(const struct ws_blas *blas, const struct ws_blas_product *product,
                                 ws_CUstream stream)
{
    if (product->by_lt)
        return multiply_by_lt(blas, product, stream);
    return blas->cublas.gemm(blas->handle, WS_CUBLAS_OP_T, WS_CUBLAS_OP_N, product->size, product->size,
                             product->size, product->one, (const void *)product->a, product->type, product->size,
                             (const void *)product->b, product->type, product->size, product->zero,
                             (void *)product->c, product->result_type, product->size, product->compute,
                             WS_CUBLAS_GEMM_DEFAULT);
}
