#include "calibrate/blas.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* The versions of cuBLAS to try, newest first. A version that is too new for the driver fails when its handle is
 * created; the next version is then tried. Versions before 11 are not tried, because they have other compute
 * types. */
static const char *const versions[] = { "13", "12", "11" };

/* Where to look for a library: first in the loader's search path (""), then in the toolkit's folder. */
static const char *const folders[] = { "", "/usr/local/cuda/lib64/" };

/* These environment variables make cuBLAS compute in another precision than requested. */
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

/* A library that cannot be used stays loaded, because it may have started threads. */
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
             "no libcublas.so.13, .12 or .11: add its folder to LD_LIBRARY_PATH "
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

static ws_cublasStatus multiply_by_lt(const struct ws_blas *blas, const struct ws_blas_gemm *gemm, ws_CUstream stream)
{
    __typeof__(&blas->lt) lt = &blas->lt;
    ws_cublasLtMatmulDesc *desc = NULL;
    ws_cublasLtMatrixLayout *in = NULL, *out = NULL;
    const ws_cublasEnum transposed = WS_CUBLAS_OP_T;
    /* fp8 tensor cores reach their peak only with fast accumulation, which training and inference libraries use too.
     */
    const int8_t fast = 1;
    uint64_t size = (uint64_t)gemm->size;
    ws_cublasStatus status = lt->desc_create(&desc, gemm->compute, gemm->scale_type);
    if (status == WS_CUBLAS_STATUS_SUCCESS)
        status = lt->desc_set(desc, WS_CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof(transposed));
    if (status == WS_CUBLAS_STATUS_SUCCESS)
        status = lt->desc_set(desc, WS_CUBLASLT_MATMUL_DESC_FAST_ACCUM, &fast, sizeof(fast));
    if (status == WS_CUBLAS_STATUS_SUCCESS)
        status = lt->layout_create(&in, gemm->type, size, size, gemm->size);
    if (status == WS_CUBLAS_STATUS_SUCCESS)
        status = lt->layout_create(&out, gemm->result_type, size, size, gemm->size);
    if (status == WS_CUBLAS_STATUS_SUCCESS)
        status = lt->matmul(blas->lt_handle, desc, gemm->one, (const void *)gemm->a, in, (const void *)gemm->b, in,
                            gemm->zero, (const void *)gemm->c, out, (void *)gemm->c, out, NULL,
                            (void *)gemm->workspace, gemm->workspace_bytes, stream);
    if (out)
        lt->layout_destroy(out);
    if (in)
        lt->layout_destroy(in);
    if (desc)
        lt->desc_destroy(desc);
    return status;
}

ws_cublasStatus ws_blas_multiply(const struct ws_blas *blas, const struct ws_blas_gemm *gemm, ws_CUstream stream)
{
    if (gemm->by_lt)
        return multiply_by_lt(blas, gemm, stream);
    return blas->cublas.gemm(blas->handle, WS_CUBLAS_OP_T, WS_CUBLAS_OP_N, gemm->size, gemm->size, gemm->size,
                             gemm->one, (const void *)gemm->a, gemm->type, gemm->size, (const void *)gemm->b,
                             gemm->type, gemm->size, gemm->zero, (void *)gemm->c, gemm->result_type, gemm->size,
                             gemm->compute, WS_CUBLAS_GEMM_DEFAULT);
}
