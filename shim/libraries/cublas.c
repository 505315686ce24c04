/* The wrappers of cuBLAS's functions. Each wrapper records which GEMM its call computes. */
#include <errno.h>

#include "shim/libraries/cublas_lt.h"
#include "shim/libraries/gemms.h"
#include "shim/libraries/library_calls.h"

/* The function that a wrapper calls. */
struct target {
    void *real;           /* the real function; NULL: not looked up yet, or not found */
    struct lt_library lt; /* for cublasLtMatmul: how to read descriptors of the library that contains `real` */
};

static __attribute__((noinline, cold)) void *find_target(struct target *target, enum ws_function_id id,
                                                         const char *bound)
{
    int saved_errno = errno;
    void *real = library_real(id, bound);
    if (real && id == WS_ID_cublasLtMatmul)
        lt_find_library(&target->lt, real);
    __atomic_store_n(&target->real, real, __ATOMIC_RELEASE);
    errno = saved_errno;
    return real;
}

#define GEMM(rows, columns, length, many, a, b, how)             \
    gemm_find(thread, &(struct gemm){ .m = (uint64_t)(rows),     \
                                      .n = (uint64_t)(columns),  \
                                      .k = (uint64_t)(length),   \
                                      .batch = (uint64_t)(many), \
                                      .function = id,            \
                                      .a_type = (uint32_t)(a),   \
                                      .b_type = (uint32_t)(b),   \
                                      .compute = (uint32_t)(how) })
#define LT_GEMM(desc, a, b, d) lt_gemm_label(thread, &target.lt, desc, a, b, d)

#define CUBLAS_WRAPPER(wrapper, symbol, bound, parameters, arguments, gemm)                 \
    EXPORTED_AS(wrapper, symbol, bound) ws_cublasStatus wrap_##wrapper parameters;          \
    ws_cublasStatus wrap_##wrapper parameters                                               \
    {                                                                                       \
        static struct target target;                                                        \
        const enum ws_function_id id = WS_ID_##symbol;                                      \
        ws_cublasStatus(*real) parameters =                                                 \
            (ws_cublasStatus(*) parameters)__atomic_load_n(&target.real, __ATOMIC_ACQUIRE); \
        if (__builtin_expect(!real, 0))                                                     \
            real = (ws_cublasStatus(*) parameters)find_target(&target, id, bound);          \
        if (!real)                                                                          \
            return WS_CUBLAS_STATUS_NOT_INITIALIZED;                                        \
        uintptr_t frame;                                                                    \
        struct shim_thread *thread = library_call_begins(&frame);                           \
        if (!thread)                                                                        \
            return real arguments;                                                          \
        const struct call_label *label = gemm;                                              \
        library_call_labelled(thread, label);                                               \
        uint64_t begin = ticks_now();                                                       \
        ws_cublasStatus status = real arguments;                                            \
        library_call_ended(thread, label, begin, ticks_now());                              \
        return status;                                                                      \
    }

/* Each function has four wrappers. dlsym returns the first wrapper. A program that is linked against version 11, 12
 * or 13 of the library calls one of the other wrappers. */
#define CUBLAS_ROW(library, symbol, parameters, arguments, gemm)                                 \
    CUBLAS_WRAPPER(symbol, symbol, "WALLSHIM", parameters, arguments, gemm)                      \
    CUBLAS_WRAPPER(symbol##_of_11, symbol, "lib" #library ".so.11", parameters, arguments, gemm) \
    CUBLAS_WRAPPER(symbol##_of_12, symbol, "lib" #library ".so.12", parameters, arguments, gemm) \
    CUBLAS_WRAPPER(symbol##_of_13, symbol, "lib" #library ".so.13", parameters, arguments, gemm)
#include "shim/hook/cublas_table.h"
