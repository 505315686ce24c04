/* The wrappers of cuBLAS's functions: what matrices a product is made of.
 *
 * A product becomes a range of the thread's time that holds the launches made for it. Its sizes and types are static
 * about it, so they are put into words once and found again in a small cache of the thread's. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/map.h"
#include "ops.h"
#include "registry.h"

#define EXPORTED(wrapper, symbol, version)                      \
    __asm__(".symver wrap_" #wrapper ", " #symbol "@" version); \
    __attribute__((visibility("default")))

/* The product that a call is, as its cache entry is found by. */
struct product {
    uint64_t m, n, k, batch;
    uint32_t function, a_type, b_type, compute;
    uint32_t epilogue;
};

static struct ws_map labels; /* hash of a text → its id; the registry's lock */

/* Hashes stand for texts and products: 64 bits of them, for thousands of things. Two words make one product of 128
 * bits, folded; the words' places are in it, so that neighbours that change places make another. */
static inline uint64_t fold(uint64_t a, uint64_t b, uint64_t place)
{
    uint64_t key = 0x9e3779b97f4a7c15u * (2 * place + 1);
    unsigned __int128 product = (unsigned __int128)(a ^ key) * (b ^ (key >> 7 | key << 57));
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Of an even number of words, the first of them at this place. */
HOT uint64_t hash_words(const uint64_t *words, size_t count, uint64_t place)
{
    uint64_t hash = 0;
    for (size_t i = 0; i < count; i += 2)
        hash ^= fold(words[i], words[i + 1], place + i);
    return hash;
}

static uint32_t label(const char *text)
{
    uint64_t hash = 1;
    for (const char *at = text; *at; at++)
        hash = fold(hash, (unsigned char)*at, 0);
    registry_lock();
    uint64_t *known = ws_map_put(&labels, hash ? hash : 1);
    if (known && !*known) {
        struct ws_label row = { .text = registry_text(text) };
        *known = row.text.length ? registry_add(&registry.label, &row) : 0;
    }
    uint32_t id = known ? (uint32_t)*known : 0;
    registry_unlock();
    return id;
}

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
    return label(text);
}

static __attribute__((noinline, cold)) void fill(struct product_entry *entry, const struct product *product,
                                                 uint64_t hash)
{
    int saved_errno = errno;
    *entry = (struct product_entry){ .hash = hash,
                                     .name = label(resolve_table[product->function].symbol),
                                     .inputs = describe(product) };
    errno = saved_errno;
}

static inline struct product_entry *place_of(struct shim_thread *thread, uint64_t hash)
{
    return &thread->products[hash >> 32 & (PRODUCT_CACHE - 1)];
}

static inline struct product_entry *find(struct shim_thread *thread, const struct product *product)
{
    uint64_t types = (uint64_t)product->a_type << 32 | product->b_type;
    uint64_t rest = (uint64_t)product->function << 32 | product->compute;
    uint64_t hash = fold(product->m, product->n, 0) ^ fold(product->k, product->batch, 2) ^ fold(types, rest, 4);
    hash |= 1;
    struct product_entry *entry = place_of(thread, hash);
    if (__builtin_expect(entry->hash != hash, 0))
        fill(entry, product, hash);
    return entry;
}

/* Attributes of layouts and of the descriptor, asked of the library itself. */
typedef ws_cublasStatus get_attribute(const void *of, ws_cublasEnum which, void *value, size_t size, size_t *written);

/* Where a wrapper goes on to. */
struct target {
    void *real;                         /* NULL: not looked for yet, or not there */
    get_attribute *of_layout, *of_desc; /* cublasLtMatmul's; NULL: not there */
};

/* version: the major one that the program is bound to, 0 where it looked the function up. */
static __attribute__((noinline, cold)) void *find_target(struct target *target, enum ws_function_id id,
                                                         unsigned version)
{
    int saved_errno = errno;
    void *real = version ? resolve_version(id, version) : resolve_find(id);
    if (id == WS_ID_cublasLtMatmul) {
        void *of_layout = resolve_in_library_of(real, "cublasLtMatrixLayoutGetAttribute");
        void *of_desc = resolve_in_library_of(real, "cublasLtMatmulDescGetAttribute");
        __atomic_store_n(&target->of_layout, (get_attribute *)of_layout, __ATOMIC_RELAXED);
        __atomic_store_n(&target->of_desc, (get_attribute *)of_desc, __ATOMIC_RELAXED);
    }
    __atomic_store_n(&target->real, real, __ATOMIC_RELEASE);
    errno = saved_errno;
    return real;
}

static uint64_t ask(get_attribute *get, const void *of, ws_cublasEnum which, size_t size)
{
    uint64_t value = 0; /* little-endian: a shorter one fills its low bytes */
    return get(of, which, &value, size, NULL) == WS_CUBLAS_STATUS_SUCCESS ? value : 0;
}

static __attribute__((noinline, cold)) void fill_lt(struct product_entry *entry, uint64_t hash,
                                                    struct product *product, get_attribute *of_layout,
                                                    bool transposed, const ws_cublasLtMatrixLayout *a,
                                                    const ws_cublasLtMatrixLayout *b,
                                                    const ws_cublasLtMatrixLayout *d)
{
    ws_cublasEnum length = transposed ? WS_CUBLASLT_MATRIX_LAYOUT_ROWS : WS_CUBLASLT_MATRIX_LAYOUT_COLS;
    product->m = ask(of_layout, d, WS_CUBLASLT_MATRIX_LAYOUT_ROWS, 8);
    product->n = ask(of_layout, d, WS_CUBLASLT_MATRIX_LAYOUT_COLS, 8);
    product->k = ask(of_layout, a, length, 8);
    product->batch = ask(of_layout, d, WS_CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, 4);
    product->a_type = (uint32_t)ask(of_layout, a, WS_CUBLASLT_MATRIX_LAYOUT_TYPE, 4);
    product->b_type = (uint32_t)ask(of_layout, b, WS_CUBLASLT_MATRIX_LAYOUT_TYPE, 4);
    fill(entry, product, hash);
    if (!product->m || !product->k)
        entry->inputs = 0; /* not known */
}

/* What a layout points to is not ours to understand, but it is of one size in all versions, and the same bytes are
 * the same layout. The descriptor grew from version to version: it is asked what matters, and not read. */
static inline struct product_entry *find_lt(struct shim_thread *thread, const struct target *target,
                                            const ws_cublasLtMatmulDesc *desc, const ws_cublasLtMatrixLayout *a,
                                            const ws_cublasLtMatrixLayout *b, const ws_cublasLtMatrixLayout *d)
{
    enum { LAYOUT = sizeof(a->data) / sizeof(a->data[0]) };
    get_attribute *of_layout = __atomic_load_n(&target->of_layout, __ATOMIC_RELAXED);
    get_attribute *of_desc = __atomic_load_n(&target->of_desc, __ATOMIC_RELAXED);
    if (!desc || !a || !b || !d || !of_layout || !of_desc)
        return NULL;
    uint64_t transposed = ask(of_desc, desc, WS_CUBLASLT_MATMUL_DESC_TRANSA, 4) != WS_CUBLAS_OP_N;
    struct product product = { .function = WS_ID_cublasLtMatmul,
                               .compute = (uint32_t)ask(of_desc, desc, WS_CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, 4),
                               .epilogue = (uint32_t)ask(of_desc, desc, WS_CUBLASLT_MATMUL_DESC_EPILOGUE, 4) };
    uint64_t hash = hash_words(a->data, LAYOUT, 0) ^ hash_words(b->data, LAYOUT, LAYOUT) ^
                    hash_words(d->data, LAYOUT, 2 * LAYOUT) ^
                    fold((uint64_t)product.compute << 32 | product.epilogue, transposed, 3 * LAYOUT);
    hash |= 1;
    struct product_entry *entry = place_of(thread, hash);
    if (__builtin_expect(entry->hash != hash, 0))
        fill_lt(entry, hash, &product, of_layout, transposed, a, b, d);
    return entry;
}

/* This thread, where the call is one that the program made and that is recorded. */
HOT struct shim_thread *product_begins(void)
{
    if (!(shim_phase() & SHIM_RECORDING))
        return NULL;
    struct shim_thread *thread = thread_self.thread ? thread_self.thread : thread_get();
    if (!thread || call_is_nested(thread) || thread->in_product)
        return NULL;
    thread->in_product = true;
    return thread;
}

HOT void product_ended(struct shim_thread *thread, const struct product_entry *entry, uint64_t begin, uint64_t end)
{
    thread->in_product = false;
    struct ws_ring_range *record = entry && entry->inputs ? ws_ring_reserve_one(&thread->ring) : NULL;
    if (!record)
        return;
    record->header = (struct ws_ring_header){ .kind = WS_RING_RANGE, .slots = 1, .shape = entry->inputs };
    record->name = entry->name;
    record->ticks_begin = begin;
    record->ticks_end = end;
    ws_ring_commit(&thread->ring, 1);
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
#define LT_PRODUCT(desc, a, b, d) find_lt(thread, &target, desc, a, b, d)

#define CUBLAS_WRAPPER(wrapper, symbol, name, version, parameters, arguments, product)      \
    EXPORTED(wrapper, symbol, name) ws_cublasStatus wrap_##wrapper parameters;              \
    ws_cublasStatus wrap_##wrapper parameters                                               \
    {                                                                                       \
        static struct target target;                                                        \
        const enum ws_function_id id = WS_ID_##symbol;                                      \
        ws_cublasStatus(*real) parameters =                                                 \
            (ws_cublasStatus(*) parameters)__atomic_load_n(&target.real, __ATOMIC_ACQUIRE); \
        if (__builtin_expect(!real, 0))                                                     \
            real = (ws_cublasStatus(*) parameters)find_target(&target, id, version);        \
        if (!real)                                                                          \
            return WS_CUBLAS_STATUS_NOT_INITIALIZED;                                        \
        struct shim_thread *thread = product_begins();                                      \
        if (!thread)                                                                        \
            return real arguments;                                                          \
        const struct product_entry *entry = product;                                        \
        uint64_t begin = ticks_now();                                                       \
        ws_cublasStatus status = real arguments;                                            \
        product_ended(thread, entry, begin, ticks_now());                                   \
        return status;                                                                      \
    }

/* Programs are bound to the symbols of one version of the library, and may hold two, each with handles of its own:
 * every version has wrappers that go on to it alone. The first is what look-ups are given, and binds to no program.
 */
#define CUBLAS_ROW(library, symbol, parameters, arguments, product)                                     \
    CUBLAS_WRAPPER(symbol, symbol, "WALLSHIM", 0, parameters, arguments, product)                       \
    CUBLAS_WRAPPER(symbol##_of_11, symbol, "lib" #library ".so.11", 11, parameters, arguments, product) \
    CUBLAS_WRAPPER(symbol##_of_12, symbol, "lib" #library ".so.12", 12, parameters, arguments, product) \
    CUBLAS_WRAPPER(symbol##_of_13, symbol, "lib" #library ".so.13", 13, parameters, arguments, product)
#include "cublas_table.h"
