/* The wrappers of cuDNN's functions, and what the older interface's convolutions are given.
 *
 * Its descriptors are asked at every call: they are the library's own memory, and what changes them are many
 * functions. Each of three answers takes cuDNN 9.19 some 55 ns, more than all else a launch is recorded with, and
 * little beside the microseconds of such a call. */
#include "cudnn.h"

#include <errno.h>
#include <string.h>

#include "elf_lookup.h"

typedef ws_cudnnStatus get_tensor(ws_cudnnDescriptor tensor, int most, ws_cudnnEnum *type, int *rank, int *size,
                                  int *strides);
typedef ws_cudnnStatus get_filter(ws_cudnnDescriptor filter, int most, ws_cudnnEnum *type, ws_cudnnEnum *format,
                                  int *rank, int *size);

/* Where a wrapper goes on to. */
struct target {
    void *real;         /* NULL: not looked for yet, or not there */
    get_tensor *tensor; /* NULL: not there */
    get_filter *filter;
};

/* Both are in libcudnn, and in libcudnn_ops, which a program may be bound to beside libcudnn_cnn. */
static void *find_getter(const void *real, const char *symbol)
{
    struct elf_object object;
    void *found = resolve_in_library_of(real, symbol);
    return found || !elf_find_by_name("libcudnn_ops.so", &object) ? found : elf_symbol(&object, symbol);
}

static __attribute__((noinline, cold)) void *find_target(struct target *target, enum ws_function_id id,
                                                         const char *bound)
{
    int saved_errno = errno;
    void *real = product_real(id, bound);
    if (real) {
        void *tensor = find_getter(real, "cudnnGetTensorNdDescriptor");
        void *filter = find_getter(real, "cudnnGetFilterNdDescriptor");
        __atomic_store_n(&target->tensor, (get_tensor *)tensor, __ATOMIC_RELAXED);
        __atomic_store_n(&target->filter, (get_filter *)filter, __ATOMIC_RELAXED);
    }
    __atomic_store_n(&target->real, real, __ATOMIC_RELEASE);
    errno = saved_errno;
    return real;
}

/* Returns whether the sizes are such as an entry of the cache holds. */
static bool keep_sizes(uint32_t *key, ws_cudnnStatus status, ws_cudnnEnum type, int rank, const int *size)
{
    if (status != WS_CUDNN_STATUS_SUCCESS || rank < 3 || rank > CONVOLUTION_RANK)
        return false;
    key[0] = (uint32_t)type;
    key[1] = (uint32_t)rank;
    memcpy(&key[2], size, (size_t)rank * sizeof(*size));
    return true;
}

static bool ask_tensor(get_tensor *get, uint32_t *key, ws_cudnnDescriptor tensor)
{
    int rank = 0, size[WS_CUDNN_DIM_MAX], strides[WS_CUDNN_DIM_MAX];
    ws_cudnnEnum type = 0;
    ws_cudnnStatus status = get(tensor, WS_CUDNN_DIM_MAX, &type, &rank, size, strides);
    return keep_sizes(key, status, type, rank, size);
}

static bool ask_filter(get_filter *get, uint32_t *key, ws_cudnnDescriptor filter)
{
    int rank = 0, size[WS_CUDNN_DIM_MAX];
    ws_cudnnEnum type = 0, format;
    ws_cudnnStatus status = get(filter, WS_CUDNN_DIM_MAX, &type, &format, &rank, size);
    return keep_sizes(key, status, type, rank, size);
}

static struct cudnn_tensor tensor_of(const uint32_t *key, int64_t uid)
{
    struct cudnn_tensor tensor = { .uid = uid, .type = (ws_cudnnEnum)key[0], .rank = (uint8_t)key[1] };
    for (int i = 0; i < tensor.rank; i++)
        tensor.size[i] = (int)key[2 + i];
    return tensor;
}

static __attribute__((noinline, cold)) void fill(struct convolution_entry *entry, const uint32_t *key,
                                                 enum ws_function_id id)
{
    int saved_errno = errno;
    struct cudnn_tensor tensors[3];
    for (int i = 0; i < 3; i++)
        tensors[i] = tensor_of(key + i * CONVOLUTION_WORDS, i);
    memcpy(entry->key, key, sizeof(entry->key));
    entry->words =
        (struct product_words){ product_label(resolve_table[id].symbol), cudnn_convolution_words(tensors) };
    errno = saved_errno;
}

/* What is convolved, the filter, the result; each a tensor or its gradient. */
static struct product_words convolution_words(struct shim_thread *thread, const struct target *target,
                                              enum ws_function_id id, ws_cudnnDescriptor image,
                                              ws_cudnnDescriptor filter, ws_cudnnDescriptor result)
{
    uint32_t key[CONVOLUTION_KEY] = { 0 };
    get_tensor *of_tensor = __atomic_load_n(&target->tensor, __ATOMIC_RELAXED);
    get_filter *of_filter = __atomic_load_n(&target->filter, __ATOMIC_RELAXED);
    if (!image || !filter || !result || !of_tensor || !of_filter || !ask_tensor(of_tensor, key, image) ||
        !ask_filter(of_filter, key + CONVOLUTION_WORDS, filter) ||
        !ask_tensor(of_tensor, key + 2 * CONVOLUTION_WORDS, result))
        return (struct product_words){ 0 };
    uint64_t hash = key[3 * CONVOLUTION_WORDS] = id;
    for (uint64_t i = 0; i + 1 < CONVOLUTION_KEY; i += 2)
        hash += (key[i] + 0x2545f4914f6cdd1du * (i + 1)) * (key[i + 1] + 0x9e3779b97f4a7c15u * (i + 3));
    struct convolution_entry *entry = &thread->convolutions[(hash * 0x9e3779b97f4a7c15u) >> 57 << 1];
    if (__builtin_expect(memcmp(entry->key, key, sizeof(key)) != 0, 0)) {
        if (!memcmp(entry[1].key, key, sizeof(key)))
            return entry[1].words;
        entry[1] = entry[0];
        fill(entry, key, id);
    }
    return entry->words;
}
_Static_assert(CONVOLUTION_CACHE == 2 << (64 - 57), "the hash's highest bits");

#define CONVOLUTION(image, filter, result) convolution_words(thread, &target, id, image, filter, result)

#define CUDNN_REAL(wrapper, symbol, bound, parameters, missing)                        \
    static struct target target;                                                       \
    const enum ws_function_id id = WS_ID_##symbol;                                     \
    ws_cudnnStatus(*real) parameters =                                                 \
        (ws_cudnnStatus(*) parameters)__atomic_load_n(&target.real, __ATOMIC_ACQUIRE); \
    if (__builtin_expect(!real, 0))                                                    \
        real = (ws_cudnnStatus(*) parameters)find_target(&target, id, bound);          \
    if (!real)                                                                         \
        return missing;

#define CUDNN_WRAPPER(wrapper, symbol, bound, missing, parameters, arguments, computed) \
    EXPORTED_AS(wrapper, symbol, bound) ws_cudnnStatus wrap_##wrapper parameters;       \
    ws_cudnnStatus wrap_##wrapper parameters                                            \
    {                                                                                   \
        CUDNN_REAL(wrapper, symbol, bound, parameters, missing)                         \
        struct shim_thread *thread = product_begins();                                  \
        if (!thread)                                                                    \
            return real arguments;                                                      \
        const struct product_words words = computed;                                    \
        uint64_t begin = ticks_now();                                                   \
        ws_cudnnStatus status = real arguments;                                         \
        product_ended(thread, &words, begin, ticks_now());                              \
        return status;                                                                  \
    }

#define CUDNN_NOTED(wrapper, symbol, bound, missing, parameters, arguments, before, after) \
    EXPORTED_AS(wrapper, symbol, bound) ws_cudnnStatus wrap_##wrapper parameters;          \
    ws_cudnnStatus wrap_##wrapper parameters                                               \
    {                                                                                      \
        CUDNN_REAL(wrapper, symbol, bound, parameters, missing)                            \
        before;                                                                            \
        ws_cudnnStatus status = real arguments;                                            \
        int saved_errno = errno;                                                           \
        if (status == WS_CUDNN_STATUS_SUCCESS) {                                           \
            after;                                                                         \
        }                                                                                  \
        errno = saved_errno;                                                               \
        return status;                                                                     \
    }

/* The first is what look-ups are given, and binds to no program. cuDNN 8 had another number for "not initialized". */
#define CUDNN_BOUND(kind, part, symbol, ...)                                                                 \
    kind(symbol, symbol, "WALLSHIM", WS_CUDNN_STATUS_NOT_INITIALIZED, __VA_ARGS__)                           \
        kind(symbol##_of_8, symbol, "libcudnn.so.8", WS_CUDNN_8_STATUS_NOT_INITIALIZED, __VA_ARGS__)         \
            kind(symbol##_of_9, symbol, "libcudnn.so.9", WS_CUDNN_STATUS_NOT_INITIALIZED, __VA_ARGS__) kind( \
                symbol##_of_part_9, symbol, "libcudnn_" #part ".so.9", WS_CUDNN_STATUS_NOT_INITIALIZED, __VA_ARGS__)
#define CUDNN_ROW(part, symbol, ...) CUDNN_BOUND(CUDNN_WRAPPER, part, symbol, __VA_ARGS__)
#define CUDNN_FOLLOWED(part, symbol, ...) CUDNN_BOUND(CUDNN_NOTED, part, symbol, __VA_ARGS__)
#include "cudnn_table.h"
