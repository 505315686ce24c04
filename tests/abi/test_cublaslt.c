/* Tests how the shim reads the descriptors of cublasLtMatmul, with descriptors of the real library: test_cublaslt
 * LIBRARY.
 *
 * Descriptors need no GPU. The shim's cublas_lt.c is linked in unchanged; stubs in this file replace the functions
 * that it calls in the rest of the shim. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "shim/libraries/cublas_lt.h"
#include "shim/libraries/gemms.h"

static void *library;
static struct gemm last;
static unsigned asked;
static struct call_label label = { 1, 1 };
static int failures;

void *resolve_in_library_of(const void *real, const char *symbol)
{
    (void)real;
    return dlsym(library, symbol);
}

const struct call_label *gemm_label(struct shim_thread *thread, const struct gemm *gemm)
{
    (void)thread;
    last = *gemm;
    asked++;
    return &label;
}

static void expect(bool holds, const char *what)
{
    if (!holds) {
        printf("FAILED: %s\n", what);
        failures++;
    }
}

static struct shim_thread *thread;
static struct lt_library lt;
static ws_cublasLtMatmulDesc *desc;
static ws_cublasLtMatrixLayout *layouts[3];

/* Does the shim recognize the product of the descriptors? If `new` is true, the shim must call gemm_label once, with
 * these values. If it is false, the shim must find the label in its cache, without calling gemm_label. */
static bool is(bool new, uint64_t m, uint64_t n, uint64_t k, ws_cublasEnum compute, unsigned epilogue)
{
    unsigned before = asked;
    bool found = lt_gemm_label(thread, &lt, desc, layouts[0], layouts[1], layouts[2]) != NULL;
    if (asked - before != new)
        return false;
    return found &&
           (!new || (last.m == m && last.n == n && last.k == k && last.batch == 1 && last.a_type == WS_CUDA_R_16BF &&
                     last.compute == (unsigned)compute && last.epilogue == epilogue));
}

int main(int argc, char **argv)
{
    library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
    if (!library) {
        printf("skipped: %s\n", dlerror());
        return 77;
    }
    ws_cublasStatus (*create)(ws_cublasLtMatmulDesc **, ws_cublasEnum, ws_cublasEnum);
    ws_cublasStatus (*set)(ws_cublasLtMatmulDesc *, ws_cublasEnum, const void *, size_t);
    ws_cublasStatus (*set_layout)(ws_cublasLtMatrixLayout *, ws_cublasEnum, const void *, size_t);
    ws_cublasStatus (*create_layout)(ws_cublasLtMatrixLayout **, ws_cublasEnum, uint64_t, uint64_t, int64_t);
    ws_cublasStatus (*destroy)(ws_cublasLtMatmulDesc *);
    destroy = (__typeof__(destroy))dlsym(library, "cublasLtMatmulDescDestroy");
    create = (__typeof__(create))dlsym(library, "cublasLtMatmulDescCreate");
    set = (__typeof__(set))dlsym(library, "cublasLtMatmulDescSetAttribute");
    set_layout = (__typeof__(set_layout))dlsym(library, "cublasLtMatrixLayoutSetAttribute");
    create_layout = (__typeof__(create_layout))dlsym(library, "cublasLtMatrixLayoutCreate");
    thread = calloc(1, sizeof(*thread));
    if (!create || !destroy || !set || !set_layout || !create_layout || !thread)
        return 1;
    lt_find_library(&lt, dlsym(library, "cublasLtMatmul"));
    expect(lt.of_layout && lt.of_desc, "attributes can be asked");
    expect(lt.in_words, "the first words of a descriptor say what matters of it");

    create(&desc, WS_CUBLAS_COMPUTE_32F, WS_CUDA_R_32F);
    create_layout(&layouts[0], WS_CUDA_R_16BF, 512, 384, 512); /* A as stored, before its transposition: k × m */
    create_layout(&layouts[1], WS_CUDA_R_16BF, 512, 256, 512);
    create_layout(&layouts[2], WS_CUDA_R_16BF, 384, 256, 384);
    set(desc, WS_CUBLASLT_MATMUL_DESC_TRANSA, &(int){ WS_CUBLAS_OP_T }, sizeof(int));
    expect(is(true, 384, 256, 512, WS_CUBLAS_COMPUTE_32F, WS_CUBLASLT_EPILOGUE_DEFAULT), "a gemm is understood");
    expect(is(false, 0, 0, 0, 0, 0), "and known the next time");
    set(desc, WS_CUBLASLT_MATMUL_DESC_EPILOGUE, &(int){ WS_CUBLASLT_EPILOGUE_BIAS }, sizeof(int));
    expect(is(true, 384, 256, 512, WS_CUBLAS_COMPUTE_32F, WS_CUBLASLT_EPILOGUE_BIAS), "another epilogue is seen");
    set(desc, WS_CUBLASLT_MATMUL_DESC_BIAS_POINTER, &(void *){ desc }, sizeof(void *));
    expect(is(true, 384, 256, 512, WS_CUBLAS_COMPUTE_32F, WS_CUBLASLT_EPILOGUE_BIAS), "with a bias elsewhere");
    set_layout(layouts[2], WS_CUBLASLT_MATRIX_LAYOUT_COLS, &(uint64_t){ 128 }, sizeof(uint64_t));
    expect(is(true, 384, 128, 512, WS_CUBLAS_COMPUTE_32F, WS_CUBLASLT_EPILOGUE_BIAS),
           "other sizes at the same place");
    destroy(desc);
    create(&desc, WS_CUBLAS_COMPUTE_32F_FAST_TF32, WS_CUDA_R_32F);
    expect(is(true, 384, 128, 512, WS_CUBLAS_COMPUTE_32F_FAST_TF32, WS_CUBLASLT_EPILOGUE_DEFAULT), "another type");
    lt.in_words = false;
    expect(is(true, 384, 128, 512, WS_CUBLAS_COMPUTE_32F_FAST_TF32, WS_CUBLASLT_EPILOGUE_DEFAULT), "asked instead");
    expect(is(false, 0, 0, 0, 0, 0), "which is known the next time, too");
    struct lt_library other = lt;
    expect(lt_gemm_label(thread, &other, desc, layouts[0], layouts[1], layouts[2]) && last.m == 384 && asked == 7,
           "the same words are another library's");
    printf("%d failed\n", failures);
    return failures != 0;
}
