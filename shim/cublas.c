/* The wrappers of cuBLAS's functions: what matrices a product is made of. */
#include "cublas.h"

#include <errno.h>
#include <stdio.h>

static const char *type_name(uint32_t type)
{
    switch (type) {
    case WS_CUDA_R_64F:
        return "double";
    case WS_CUDA_R_32F:
        return "float";
    case WS_CUDA_R_16F:
        return "c10::Half";
    case WS_CUDA_R_16BF:
        return "c10::BFloat16";
    case WS_CUDA_R_8F_E4M3:
        return "c10::Float8_e4m3fn";
    case WS_CUDA_R_8F_E5M2:
        return "c10::Float8_e5m2";
    case WS_CUDA_R_8I:
        return "signed_char";
    default:
        return "-";
    }
}

static const char *compute_name(uint32_t compute)
{
    switch (compute) {
    case WS_CUBLAS_COMPUTE_16F:
        return " compute_16f";
    case WS_CUBLAS_COMPUTE_32F:
        return " compute_32f";
    case WS_CUBLAS_COMPUTE_64F:
        return " compute_64f";
    case WS_CUBLAS_COMPUTE_32I:
        return " compute_32i";
    case WS_CUBLAS_COMPUTE_32F_FAST_16F:
        return " compute_32f_fast_16f";
    case WS_CUBLAS_COMPUTE_32F_FAST_16BF:
        return " compute_32f_fast_16bf";
    case WS_CUBLAS_COMPUTE_32F_FAST_TF32:
        return " compute_32f_fast_tf32";
    default:
        return "";
    }
}

/* The words of FORMAT.md for an operator's inputs. */
static uint32_t describe(const struct product *product)
{
    char text[256], batch[24] = "", epilogue[24] = "";
    unsigned long long m = product->m, n = product->n, k = product->k;
    if (product->batch != 1)
        snprintf(batch, sizeof(batch), "%llu,", (unsigned long long)product->batch);
    if (product->epilogue > WS_CUBLASLT_EPILOGUE_DEFAULT)
        snprintf(epilogue, sizeof(epilogue), " epilogue_%u", product->epilogue);
    snprintf(text, sizeof(text), "%s[%s%llu,%llu] %s[%s%llu,%llu]%s%s", type_name(product->a_type), batch, m, k,
             type_name(product->b_type), batch, k, n, compute_name(product->compute), epilogue);
    return product_label(text);
}

static __attribute__((noinline, cold)) void fill(struct product_entry *entry, const struct product *product)
{
    int saved_errno = errno;
    *entry = (struct product_entry){
        .product = *product, .words = { product_label(resolve_table[product->function].symbol), describe(product) }
    };
    errno = saved_errno;
}

/* The two places where the thread may have it; entries are compared whole, so they need be no better than spread. */
HOT struct product_entry *places_of(struct shim_thread *thread, const struct product *product)
{
    uint64_t hash = (product->m + product->function) * 0x9e3779b97f4a7c15u ^
                    (product->n + product->a_type) * 0xc2b2ae3d27d4eb4fu ^
                    (product->k + product->batch * 0x10001) * 0x165667b19e3779f9u;
    return &thread->products[(hash * 0x9e3779b1u) >> 54 << 1];
}
_Static_assert(PRODUCT_CACHE == 2 << (64 - 54), "the hash's highest bits");

/* Neighbours are not compared one after the other: see shape_is in ops.h. */
HOT bool is_product(const struct product *a, const struct product *b)
{
    return a->m == b->m && a->a_type == b->a_type && a->n == b->n && a->compute == b->compute && a->k == b->k &&
           a->function == b->function && a->batch == b->batch && a->b_type == b->b_type && a->epilogue == b->epilogue;
}

HOT const struct product_words *find(struct shim_thread *thread, const struct product *product)
{
    struct product_entry *entry = places_of(thread, product);
    if (__builtin_expect(!is_product(&entry->product, product), 0)) {
        if (is_product(&entry[1].product, product))
            return &entry[1].words;
        entry[1] = entry[0];
        const struct product kept = *product; /* so that the product itself need never be in memory */
        fill(entry, &kept);
    }
    return &entry->words;
}

const struct product_words *cublas_product(struct shim_thread *thread, const struct product *product)
{
    return find(thread, product);
}

/* Where a wrapper goes on to. */
struct target {
    void *real;           /* NULL: not looked for yet, or not there */
    struct lt_library lt; /* cublasLtMatmul's */
};

static __attribute__((noinline, cold)) void *find_target(struct target *target, enum ws_function_id id,
                                                         const char *bound)
{
    int saved_errno = errno;
    void *real = product_real(id, bound);
    if (real && id == WS_ID_cublasLtMatmul)
        lt_find_library(&target->lt, real);
    __atomic_store_n(&target->real, real, __ATOMIC_RELEASE);
    errno = saved_errno;
    return real;
}

#define PRODUCT(rows, columns, length, many, a, b, how)        \
    find(thread, &(struct product){ .m = (uint64_t)(rows),     \
                                    .n = (uint64_t)(columns),  \
                                    .k = (uint64_t)(length),   \
                                    .batch = (uint64_t)(many), \
                                    .function = id,            \
                                    .a_type = (uint32_t)(a),   \
                                    .b_type = (uint32_t)(b),   \
                                    .compute = (uint32_t)(how) })
#define LT_PRODUCT(desc, a, b, d) lt_product(thread, &target.lt, desc, a, b, d)

#define CUBLAS_WRAPPER(wrapper, symbol, bound, parameters, arguments, product)              \
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
        struct shim_thread *thread = product_begins(&frame);                                \
        if (!thread)                                                                        \
            return real arguments;                                                          \
        const struct product_words *words = product;                                        \
        uint64_t begin = ticks_now();                                                       \
        ws_cublasStatus status = real arguments;                                            \
        product_ended(thread, words, begin, ticks_now());                                   \
        return status;                                                                      \
    }

/* The first is what look-ups are given, and binds to no program. */
#define CUBLAS_ROW(library, symbol, parameters, arguments, product)                                 \
    CUBLAS_WRAPPER(symbol, symbol, "WALLSHIM", parameters, arguments, product)                      \
    CUBLAS_WRAPPER(symbol##_of_11, symbol, "lib" #library ".so.11", parameters, arguments, product) \
    CUBLAS_WRAPPER(symbol##_of_12, symbol, "lib" #library ".so.12", parameters, arguments, product) \
    CUBLAS_WRAPPER(symbol##_of_13, symbol, "lib" #library ".so.13", parameters, arguments, product)
#include "cublas_table.h"
