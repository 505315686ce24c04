/* Finds out which GEMM a call of cublasLtMatmul computes, from the descriptors that are passed to the call.
 *
 * A layout or a descriptor is a plain array of words. cublasLt.h does not say what the words mean. Only functions of
 * cuBLASLt can tell, and a call of them takes longer than all other work of recording a launch. Layouts and
 * descriptors with equal contents mean the same GEMM, so the shim caches the library's answers. The cache's key is
 * the contents of the layouts and of the descriptor, in 8-byte words. Addresses cannot be the key, because programs
 * reuse an address with other contents. A descriptor may contain a pointer (to a bias). The same GEMM then gets one
 * entry for each pointer.
 *
 * A layout has had the same size since CUDA 11.0. A descriptor had 11 words in CUDA 11.0, 23 in 12.0 and 32 in 13.0.
 * So the first 11 words of a descriptor can always be read, and only these words are in the key. Each version of the
 * library is tested once: do the first 11 words contain the compute type and the epilogue? If not, the library is
 * asked for both at every call. */
#include "shim/libraries/cublas_lt.h"

#include <errno.h>
#include <string.h>

#include "shim/hook/resolve.h"
#include "shim/libraries/gemms.h"

_Static_assert(sizeof(ws_cublasLtMatrixLayout) == LT_LAYOUT_WORDS * sizeof(uint64_t), "as caches.h has it");
_Static_assert(sizeof(((struct lt_entry *)0)->key) % 16 == 0, "compared in pairs");

typedef uint64_t pair __attribute__((vector_size(16), aligned(8), may_alias));

static uint64_t ask(cublas_get_attribute *get, const void *of, ws_cublasEnum which, size_t size)
{
    uint64_t value = 0; /* little-endian: a shorter value fills the low bytes */
    return get(of, which, &value, size, NULL) == WS_CUBLAS_STATUS_SUCCESS ? value : 0;
}

/* Do the first LT_DESC_WORDS words of a descriptor contain its compute type and epilogue? Creates a descriptor with
 * both, copies its first words, and checks whether the library reads both from the copy. */
static bool words_say(const struct lt_library *library, const void *real, ws_cublasEnum compute,
                      ws_cublasEnum epilogue)
{
    ws_cublasStatus (*create)(ws_cublasLtMatmulDesc **, ws_cublasEnum, ws_cublasEnum);
    ws_cublasStatus (*set)(ws_cublasLtMatmulDesc *, ws_cublasEnum, const void *, size_t);
    ws_cublasStatus (*destroy)(ws_cublasLtMatmulDesc *);
    create = (__typeof__(create))resolve_in_library_of(real, "cublasLtMatmulDescCreate");
    set = (__typeof__(set))resolve_in_library_of(real, "cublasLtMatmulDescSetAttribute");
    destroy = (__typeof__(destroy))resolve_in_library_of(real, "cublasLtMatmulDescDestroy");
    ws_cublasLtMatmulDesc *desc = NULL;
    uint64_t copy[128] = { 0 }; /* longer than any descriptor */
    if (!create || !set || !destroy || create(&desc, compute, WS_CUDA_R_32F) != WS_CUBLAS_STATUS_SUCCESS || !desc)
        return false;
    bool is_set = set(desc, WS_CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, 4) == WS_CUBLAS_STATUS_SUCCESS;
    memcpy(copy, desc->data, LT_DESC_WORDS * sizeof(*copy));
    destroy(desc);
    return is_set && ask(library->of_desc, copy, WS_CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, 4) == (unsigned)compute &&
           ask(library->of_desc, copy, WS_CUBLASLT_MATMUL_DESC_EPILOGUE, 4) == (unsigned)epilogue;
}

void lt_find_library(struct lt_library *library, const void *real)
{
    struct lt_library found = {
        .of_layout = (cublas_get_attribute *)resolve_in_library_of(real, "cublasLtMatrixLayoutGetAttribute"),
        .of_desc = (cublas_get_attribute *)resolve_in_library_of(real, "cublasLtMatmulDescGetAttribute"),
    };
    found.in_words = found.of_desc && words_say(&found, real, WS_CUBLAS_COMPUTE_32F, WS_CUBLASLT_EPILOGUE_BIAS) &&
                     words_say(&found, real, WS_CUBLAS_COMPUTE_32F_FAST_TF32, WS_CUBLASLT_EPILOGUE_RELU);
    __atomic_store_n(&library->in_words, found.in_words, __ATOMIC_RELAXED);
    __atomic_store_n(&library->of_layout, found.of_layout, __ATOMIC_RELAXED);
    __atomic_store_n(&library->of_desc, found.of_desc, __ATOMIC_RELAXED);
}

/* Continues a hash with these words. The hash may be weak, because a look-up also compares the entry's whole key. To
 * save time, callers pass only the first words of a layout. In all known versions of cuBLASLt these words contain the
 * matrix's sizes. */
HOT uint64_t mix(uint64_t hash, const uint64_t *words, size_t count)
{
#pragma GCC unroll 8
    for (size_t i = 0; i + 1 < count; i += 2)
        hash += (words[i] + 0x2545f491u * (i + 1)) * (words[i + 1] + 0x4f6cdd1du * (i + 3));
    return hash;
}

/* The first of the two places in the thread's cache where the call's entry may be. */
HOT struct lt_entry *places_of(struct shim_thread *thread, const uint64_t *desc, const ws_cublasLtMatrixLayout *a,
                               const ws_cublasLtMatrixLayout *d)
{
    uint64_t hash = mix(mix(mix(desc[LT_DESC_WORDS - 1], d->data, 4) * 31, a->data, 4) * 31, desc, LT_DESC_WORDS);
    return &thread->lt_gemms[(hash * 0x9e3779b97f4a7c15u) >> 55 << 1];
}
_Static_assert(LT_CACHE == 2 << (64 - 55), "the hash's highest bits");

/* Compares `count` words of a and b, two at a time; count must be even. Returns zero if all words are equal. */
HOT pair differ(const uint64_t *a, const uint64_t *b, size_t count)
{
    pair difference = { 0 };
#pragma GCC unroll 8
    for (size_t i = 0; i < count; i += 2)
        difference |= *(const pair *)(a + i) ^ *(const pair *)(b + i);
    return difference;
}

/* The parts of a call's key, in the order of lt_entry.key: the layouts, the descriptor, the library. */
struct parts {
    const uint64_t *a, *b, *d, *desc;
    uint64_t library;
};
enum { AT_B = LT_LAYOUT_WORDS, AT_D = 2 * LT_LAYOUT_WORDS, AT_DESC = 3 * LT_LAYOUT_WORDS, AT_LIBRARY = LT_WORDS - 1 };

HOT bool is_entry(const struct lt_entry *entry, const struct parts *parts)
{
    const uint64_t *key = entry->key;
    pair difference = differ(key, parts->a, LT_LAYOUT_WORDS) | differ(key + AT_B, parts->b, LT_LAYOUT_WORDS) |
                      differ(key + AT_D, parts->d, LT_LAYOUT_WORDS) |
                      differ(key + AT_DESC, parts->desc, LT_DESC_WORDS - 1);
    return !(difference[0] | difference[1] | (key[AT_LIBRARY - 1] ^ parts->desc[LT_DESC_WORDS - 1]) |
             (key[AT_LIBRARY] ^ parts->library));
}

/* Asks the library which GEMM the call computes, and stores key and label in the cache entry. Matrix A may be
 * transposed: one of its two sizes is m, and the other is k. */
static __attribute__((noinline, cold)) void fill(struct shim_thread *thread, struct lt_entry *entry,
                                                 const struct parts *parts, cublas_get_attribute *get,
                                                 uint32_t compute, uint32_t epilogue)
{
    int saved_errno = errno;
    uint64_t m = ask(get, parts->d, WS_CUBLASLT_MATRIX_LAYOUT_ROWS, 8);
    uint64_t a_rows = ask(get, parts->a, WS_CUBLASLT_MATRIX_LAYOUT_ROWS, 8);
    uint64_t a_cols = ask(get, parts->a, WS_CUBLASLT_MATRIX_LAYOUT_COLS, 8);
    struct gemm gemm = {
        .function = WS_ID_cublasLtMatmul,
        .m = m,
        .n = ask(get, parts->d, WS_CUBLASLT_MATRIX_LAYOUT_COLS, 8),
        .k = a_rows == m ? a_cols : a_rows,
        .batch = ask(get, parts->d, WS_CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, 4),
        .a_type = (uint32_t)ask(get, parts->a, WS_CUBLASLT_MATRIX_LAYOUT_TYPE, 4),
        .b_type = (uint32_t)ask(get, parts->b, WS_CUBLASLT_MATRIX_LAYOUT_TYPE, 4),
        .compute = compute,
        .epilogue = epilogue,
    };
    bool known = gemm.m && gemm.k && (a_rows == m || a_cols == m);
    const struct call_label *label = known ? gemm_label(thread, &gemm) : NULL;
    memcpy(entry->key, parts->a, LT_LAYOUT_WORDS * sizeof(uint64_t));
    memcpy(entry->key + AT_B, parts->b, LT_LAYOUT_WORDS * sizeof(uint64_t));
    memcpy(entry->key + AT_D, parts->d, LT_LAYOUT_WORDS * sizeof(uint64_t));
    memcpy(entry->key + AT_DESC, parts->desc, LT_DESC_WORDS * sizeof(uint64_t));
    entry->key[AT_LIBRARY] = parts->library;
    entry->label = label ? *label : (struct call_label){ 0 };
    errno = saved_errno;
}

const struct call_label *lt_gemm_label(struct shim_thread *thread, const struct lt_library *library,
                                       const ws_cublasLtMatmulDesc *desc, const ws_cublasLtMatrixLayout *a,
                                       const ws_cublasLtMatrixLayout *b, const ws_cublasLtMatrixLayout *d)
{
    cublas_get_attribute *of_layout = __atomic_load_n(&library->of_layout, __ATOMIC_RELAXED);
    cublas_get_attribute *of_desc = __atomic_load_n(&library->of_desc, __ATOMIC_RELAXED);
    if (!desc || !a || !b || !d || !of_layout || !of_desc)
        return NULL;
    uint64_t asked[LT_DESC_WORDS];
    const uint64_t *words = desc->data;
    uint64_t whose = (uint64_t)(uintptr_t)library;
    if (__builtin_expect(!__atomic_load_n(&library->in_words, __ATOMIC_RELAXED), 0)) {
        whose++; /* marks keys that have the library's answers (`asked`) in place of the descriptor's words */
        memset(asked, 0, sizeof(asked));
        asked[0] = ask(of_desc, desc, WS_CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, 4);
        asked[1] = ask(of_desc, desc, WS_CUBLASLT_MATMUL_DESC_EPILOGUE, 4);
        words = asked;
    }
    struct lt_entry *entry = places_of(thread, words, a, d);
    const struct parts parts = { a->data, b->data, d->data, words, whose };
    if (__builtin_expect(!is_entry(entry, &parts), 0)) {
        if (is_entry(entry + 1, &parts))
            return &entry[1].label;
        entry[1] = entry[0];
        fill(thread, entry, &parts, of_layout, (uint32_t)ask(of_desc, desc, WS_CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, 4),
             (uint32_t)ask(of_desc, desc, WS_CUBLASLT_MATMUL_DESC_EPILOGUE, 4));
    }
    return &entry->label;
}
