/* The wrappers of cuDNN's functions, and the labels of convolutions that are called through cuDNN's older interface.
 * A label tells the name and the inputs of a call.
 *
 * The older interface's descriptors are in the library's own memory. So the shim asks the library for a descriptor's
 * contents when a thread first uses the descriptor, and when the program may have changed it since. A convolution has
 * three descriptors. Asking for one of them takes about 55 ns (cuDNN 9.19), longer than all other work of recording a
 * launch. */
#include "shim/libraries/cudnn.h"

#include <errno.h>
#include <string.h>

#include "shim/hook/elf_lookup.h"

typedef ws_cudnnStatus get_tensor(ws_cudnnDescriptor tensor, int most, ws_cudnnEnum *type, int *rank, int *size,
                                  int *strides);
typedef ws_cudnnStatus get_filter(ws_cudnnDescriptor filter, int most, ws_cudnnEnum *type, ws_cudnnEnum *format,
                                  int *rank, int *size);

/* The functions that a wrapper calls. */
struct target {
    void *real;         /* the real function; NULL: not looked up yet, or not found */
    get_tensor *tensor; /* cudnnGetTensorNdDescriptor; NULL: not found */
    get_filter *filter; /* cudnnGetFilterNdDescriptor; NULL: not found */
};

/* Finds a function that reads a descriptor's contents. The function is in libcudnn and in libcudnn_ops. Both
 * libraries are searched, because a program may be linked against libcudnn_cnn and libcudnn_ops without libcudnn. */
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
    void *real = library_real(id, bound);
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

/* ask_tensor and ask_filter read a descriptor. Both functions return true if the descriptor's contents fit into a
 * cache entry. Of `size`, they set as many elements as the tensor has dimensions. */
static bool ask_tensor(get_tensor *get, ws_cudnnDescriptor descriptor, struct convolution_tensor *tensor)
{
    ws_cudnnEnum type = 0;
    int strides[CONVOLUTION_RANK];
    tensor->rank = 0;
    ws_cudnnStatus status = get(descriptor, CONVOLUTION_RANK, &type, &tensor->rank, tensor->size, strides);
    tensor->type = (uint32_t)type;
    return status == WS_CUDNN_STATUS_SUCCESS && tensor->rank >= 3 && tensor->rank <= CONVOLUTION_RANK;
}

static bool ask_filter(get_filter *get, ws_cudnnDescriptor descriptor, struct convolution_tensor *filter)
{
    ws_cudnnEnum type = 0, format;
    filter->rank = 0;
    ws_cudnnStatus status = get(descriptor, CONVOLUTION_RANK, &type, &format, &filter->rank, filter->size);
    filter->type = (uint32_t)type;
    return status == WS_CUDNN_STATUS_SUCCESS && filter->rank >= 3 && filter->rank <= CONVOLUTION_RANK;
}

/* Compares the sizes one by one. cuDNN has just stored the sizes one by one. A load of several sizes at once would
 * have to wait until these stores have reached the processor's cache. */
static inline bool same_tensor(const struct convolution_tensor *one, const struct convolution_tensor *other)
{
    if (one->type != other->type || one->rank != other->rank)
        return false;
    for (int i = 0; i < one->rank; i++)
        if (one->size[i] != other->size[i])
            return false;
    return true;
}

static inline bool is_of(const struct convolution_entry *entry, const struct convolution_tensor *tensors,
                         enum ws_function_id id)
{
    return entry->function == id && same_tensor(&entry->tensors[0], &tensors[0]) &&
           same_tensor(&entry->tensors[1], &tensors[1]) && same_tensor(&entry->tensors[2], &tensors[2]);
}

static __attribute__((noinline, cold)) void fill(struct convolution_entry *entry,
                                                 const struct convolution_tensor *tensors, enum ws_function_id id)
{
    int saved_errno = errno;
    struct cudnn_tensor known[3];
    *entry = (struct convolution_entry){ .function = id };
    for (int i = 0; i < 3; i++) {
        const struct convolution_tensor *from = &tensors[i];
        known[i] = (struct cudnn_tensor){ .uid = i, .type = (ws_cudnnEnum)from->type, .rank = (uint8_t)from->rank };
        entry->tensors[i] = (struct convolution_tensor){ .type = from->type, .rank = from->rank };
        for (int at = 0; at < from->rank; at++)
            known[i].size[at] = entry->tensors[i].size[at] = from->size[at];
    }
    entry->label = (struct call_label){ library_label(resolve_table[id].symbol), cudnn_convolution_label(known) };
    errno = saved_errno;
}

/* A hash of the filter's and the result's sizes. The input's sizes are left out, because most convolutions already
 * differ in the other sizes. */
static inline uint64_t hash_of(const struct convolution_tensor *filter, const struct convolution_tensor *result,
                               enum ws_function_id id)
{
    static const uint64_t odd[CONVOLUTION_RANK] = { 0x9e3779b97f4a7c15u, 0x2545f4914f6cdd1du, 0xbf58476d1ce4e5b9u,
                                                    0x94d049bb133111ebu, 0xd6e8feb86659fd93u, 0xff51afd7ed558ccdu };
    int rank = filter->rank < result->rank ? filter->rank : result->rank;
    uint64_t hash = id;
    for (int i = 0; i < rank; i++)
        hash += ((uint64_t)(uint32_t)filter->size[i] << 32 | (uint32_t)result->size[i]) * odd[i];
    return hash;
}

/* How often the program set descriptors, counted by a hash of the descriptor's address. Two descriptors with the same
 * hash share a count. The only effect is that the shim asks the library about these descriptors more often than
 * needed. */
enum { CHANGE_PLACES = 1024 };
static _Atomic uint32_t changes[CHANGE_PLACES];

static inline uint64_t hash_of_address(const void *descriptor)
{
    return (uint64_t)(uintptr_t)descriptor * 0x9e3779b97f4a7c15u;
}

static inline _Atomic uint32_t *changes_of(const void *descriptor)
{
    return &changes[hash_of_address(descriptor) >> 54];
}
_Static_assert(CHANGE_PLACES == 1 << (64 - 54), "the hash's highest bits");

static void describes(const void *descriptor)
{
    atomic_fetch_add_explicit(changes_of(descriptor), 1, memory_order_acq_rel);
}

static struct call_label label_by_sizes(struct shim_thread *thread, const struct target *target,
                                        enum ws_function_id id, const void *const descriptors[3])
{
    struct convolution_tensor tensors[3];
    get_tensor *of_tensor = __atomic_load_n(&target->tensor, __ATOMIC_RELAXED);
    get_filter *of_filter = __atomic_load_n(&target->filter, __ATOMIC_RELAXED);
    if (!descriptors[0] || !descriptors[1] || !descriptors[2] || !of_tensor || !of_filter ||
        !ask_tensor(of_tensor, descriptors[0], &tensors[0]) || !ask_filter(of_filter, descriptors[1], &tensors[1]) ||
        !ask_tensor(of_tensor, descriptors[2], &tensors[2]))
        return (struct call_label){ 0 };
    struct convolution_entry *entry = &thread->convolutions[hash_of(&tensors[1], &tensors[2], id) >> 57 << 1];
    if (__builtin_expect(!is_of(entry, tensors, id), 0)) {
        if (is_of(entry + 1, tensors, id))
            return entry[1].label;
        entry[1] = entry[0];
        fill(entry, tensors, id);
    }
    return entry->label;
}
_Static_assert(CONVOLUTION_CACHE == 2 << (64 - 57), "the hash's highest bits");

static inline bool is_seen(const struct convolution_seen *seen, enum ws_function_id id,
                           const void *const descriptors[3], const uint32_t changed[3])
{
    return seen->function == id && seen->descriptors[0] == descriptors[0] && seen->descriptors[1] == descriptors[1] &&
           seen->descriptors[2] == descriptors[2] && seen->changes[0] == changed[0] &&
           seen->changes[1] == changed[1] && seen->changes[2] == changed[2];
}

/* The label of a convolution call. image: the tensor that is convolved. image, filter and result may each be a
 * gradient. */
static struct call_label convolution_label(struct shim_thread *thread, const struct target *target,
                                           enum ws_function_id id, ws_cudnnDescriptor image,
                                           ws_cudnnDescriptor filter, ws_cudnnDescriptor result)
{
    const void *const descriptors[3] = { image, filter, result };
    /* the counts are read before the descriptors: if a descriptor changes in between, the next call notices the
     * change */
    uint32_t changed[3];
    for (int i = 0; i < 3; i++)
        changed[i] = atomic_load_explicit(changes_of(descriptors[i]), memory_order_acquire);
    uint64_t hash = hash_of_address(image) + 3 * hash_of_address(filter) + 5 * hash_of_address(result) + id;
    struct convolution_seen *seen = &thread->convolutions_seen[hash * 0x2545f4914f6cdd1du >> 56 << 1];
    if (__builtin_expect(is_seen(seen, id, descriptors, changed), 1))
        return seen->label;
    if (is_seen(seen + 1, id, descriptors, changed))
        return seen[1].label;
    seen[1] = seen[0];
    *seen = (struct convolution_seen){ { image, filter, result },
                                       { changed[0], changed[1], changed[2] },
                                       id,
                                       label_by_sizes(thread, target, id, descriptors) };
    return seen->label;
}
_Static_assert(CONVOLUTIONS_SEEN == 2 << (64 - 56), "the hash's highest bits");

#define CHANGES(descriptor) describes(descriptor)
#define CONVOLUTION(image, filter, result) convolution_label(thread, &target, id, image, filter, result)

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
        uintptr_t frame;                                                                \
        struct shim_thread *thread = library_call_begins(&frame);                       \
        if (!thread)                                                                    \
            return real arguments;                                                      \
        const struct call_label label = computed;                                       \
        library_call_labelled(thread, &label);                                          \
        uint64_t begin = ticks_now();                                                   \
        ws_cudnnStatus status = real arguments;                                         \
        library_call_ended(thread, &label, begin, ticks_now());                         \
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

/* Each function has four wrappers. dlsym returns the first wrapper. A program that is linked against libcudnn.so.8,
 * libcudnn.so.9 or a part of cuDNN 9 calls one of the other wrappers. The status "not initialized" has another number
 * in cuDNN 8 than in cuDNN 9. */
#define CUDNN_BOUND(kind, part, symbol, ...)                                                                 \
    kind(symbol, symbol, "WALLSHIM", WS_CUDNN_STATUS_NOT_INITIALIZED, __VA_ARGS__)                           \
        kind(symbol##_of_8, symbol, "libcudnn.so.8", WS_CUDNN_8_STATUS_NOT_INITIALIZED, __VA_ARGS__)         \
            kind(symbol##_of_9, symbol, "libcudnn.so.9", WS_CUDNN_STATUS_NOT_INITIALIZED, __VA_ARGS__) kind( \
                symbol##_of_part_9, symbol, "libcudnn_" #part ".so.9", WS_CUDNN_STATUS_NOT_INITIALIZED, __VA_ARGS__)
#define CUDNN_ROW(part, symbol, ...) CUDNN_BOUND(CUDNN_WRAPPER, part, symbol, __VA_ARGS__)
#define CUDNN_FOLLOWED(part, symbol, ...) CUDNN_BOUND(CUDNN_NOTED, part, symbol, __VA_ARGS__)
#include "shim/hook/cudnn_table.h"
