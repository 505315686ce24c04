/* Follows the descriptors of cuDNN's graph interface, to know what a plan computes.
 *
 * A program sets tensors into operations, and operations into a graph. By way of heuristics, engines and engine
 * configurations, the graph becomes a plan. When a program sets one descriptor into another, cuDNN copies the
 * contents, and the program may destroy the first descriptor afterwards. So the shim copies the contents, too. A
 * graph gets its label (a text that tells what it computes) when its operations are set. When a program sets a
 * descriptor with a label into another descriptor, the other descriptor gets the same label. A program may also get
 * an attribute of a descriptor with a label, such as an engine configuration. If the attribute is itself a
 * descriptor, it gets the same label. A plan that the program loads from text has no label.
 *
 * All data in this file is guarded by one lock (LOCK_DESCRIPTORS). One table is an exception: the labels of plans are
 * read without the lock, because each execution of a plan reads them. */
#include "shim/libraries/cudnn.h"

#include <string.h>

#include "base/map.h"
#include "base/reserve.h"
#include "shim/state/lock.h"

enum { MOST_DESCRIPTORS = 1 << 17, MOST_DETAILS = 1 << 13, PLAN_ROWS = 1 << 12, PLANS_IN_ROW = 8 };

/* The contents of a tensor's or an operation's descriptor, as far as labels need them. */
union details {
    struct cudnn_tensor tensor;
    struct cudnn_operation operation;
    struct {
        ws_cudnnEnum compute;
        bool by_index;
    } how;         /* the contents of a descriptor that says how to convolve, multiply or compute pointwise */
    uint32_t next; /* used while this entry is free: number of the next free entry; 0: there is none */
};

/* The shim's knowledge of a descriptor. It fits into the 64 bits of a map's value. */
struct descriptor {
    uint32_t type : 8;  /* the descriptor's type plus one; 0: not known */
    uint32_t name : 24; /* call_label.name of the descriptor's label; 0: it has no label */
    /* The meaning depends on the type. For descriptors with a label: the label's call_label.inputs. For tensors and
     * operations: number of their entry in `details`. For variant packs: 1 if the pack overrides sizes. */
    uint32_t rest;
};

struct plan {
    _Atomic uint64_t key;   /* the plan's address; 0: the entry is free */
    _Atomic uint64_t label; /* the plan's label: a struct call_label */
};

static struct ws_map descriptors = { .limit = MOST_DESCRIPTORS };
static union details *details;
static uint32_t details_used, details_free; /* details_free: number of the first free entry; 0: none */
static struct plan plans[PLAN_ROWS][PLANS_IN_ROW];
static _Atomic bool packs_override; /* true once any variant pack has overridden sizes of a plan */

static bool has_details(uint32_t type)
{
    return type == WS_CUDNN_BACKEND_TENSOR_DESCRIPTOR || type == WS_CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR ||
           type == WS_CUDNN_BACKEND_MATMUL_DESCRIPTOR || type == WS_CUDNN_BACKEND_POINTWISE_DESCRIPTOR ||
           (type >= WS_CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR &&
            type != WS_CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR && type != WS_CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
}

static bool is_operation(uint32_t type)
{
    return has_details(type) && type >= WS_CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR &&
           type != WS_CUDNN_BACKEND_TENSOR_DESCRIPTOR && type != WS_CUDNN_BACKEND_MATMUL_DESCRIPTOR;
}

static bool hands_label_on(uint32_t type)
{
    return type == WS_CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR || type == WS_CUDNN_BACKEND_ENGINE_DESCRIPTOR ||
           type == WS_CUDNN_BACKEND_ENGINECFG_DESCRIPTOR || type == WS_CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR ||
           type == WS_CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR;
}

static uint64_t key_of(ws_cudnnDescriptor descriptor)
{
    return (uint64_t)(uintptr_t)descriptor;
}

/* ---- the table of plans: written under LOCK_DESCRIPTORS, read without it */

HOT struct plan *row_of(uint64_t key)
{
    return plans[(key * 0x9e3779b97f4a7c15u) >> 52];
}
_Static_assert(PLAN_ROWS == 1 << (64 - 52), "the hash's highest bits");

static void forget_plan(uint64_t key)
{
    struct plan *row = row_of(key);
    for (int i = 0; i < PLANS_IN_ROW; i++)
        if (atomic_load_explicit(&row[i].key, memory_order_relaxed) == key)
            atomic_store_explicit(&row[i].key, 0, memory_order_release);
}

/* Stores a plan's label. If the plan's row of the table is full, the plan gets no label. */
static void keep_plan(uint64_t key, struct call_label label)
{
    struct plan *row = row_of(key);
    uint64_t value;
    memcpy(&value, &label, sizeof(value));
    forget_plan(key);
    for (int i = 0; i < PLANS_IN_ROW; i++)
        if (!atomic_load_explicit(&row[i].key, memory_order_relaxed)) {
            atomic_store_explicit(&row[i].label, value, memory_order_relaxed);
            atomic_store_explicit(&row[i].key, key, memory_order_release);
            return;
        }
}

static struct descriptor descriptor_of(ws_cudnnDescriptor descriptor);

/* Does the variant pack override sizes? This function takes a lock, so it is called only in programs in which a pack
 * has overridden sizes. */
static __attribute__((noinline, cold)) bool overrides(ws_cudnnDescriptor pack)
{
    if (!lock_take(LOCK_DESCRIPTORS))
        return true;
    bool does = descriptor_of(pack).rest != 0;
    lock_release(LOCK_DESCRIPTORS);
    return does;
}

struct call_label cudnn_plan_label(ws_cudnnDescriptor plan, ws_cudnnDescriptor pack)
{
    struct plan *row = row_of(key_of(plan));
    struct call_label label = { 0 };
    uint64_t value = 0;
    for (int i = 0; i < PLANS_IN_ROW; i++)
        if (atomic_load_explicit(&row[i].key, memory_order_acquire) == key_of(plan)) {
            value = atomic_load_explicit(&row[i].label, memory_order_relaxed);
            break;
        }
    if (!plan ||
        (__builtin_expect(atomic_load_explicit(&packs_override, memory_order_relaxed), 0) && overrides(pack)))
        value = 0;
    memcpy(&label, &value, sizeof(label));
    return label;
}

/* ---- descriptors: these functions are called with LOCK_DESCRIPTORS held */

static struct descriptor descriptor_of(ws_cudnnDescriptor descriptor)
{
    struct descriptor found = { 0 };
    const uint64_t *value = descriptor ? ws_map_get(&descriptors, key_of(descriptor)) : NULL;
    if (value)
        memcpy(&found, value, sizeof(found));
    return found;
}

static void put(ws_cudnnDescriptor descriptor, struct descriptor value)
{
    uint64_t *place = ws_map_put(&descriptors, key_of(descriptor));
    if (place)
        memcpy(place, &value, sizeof(value));
}

static bool is_of(struct descriptor descriptor, ws_cudnnEnum type)
{
    return descriptor.type == (uint32_t)type + 1;
}

static union details *details_of(struct descriptor descriptor)
{
    bool has = descriptor.type && has_details(descriptor.type - 1) && descriptor.rest;
    return has ? &details[descriptor.rest] : NULL;
}

/* Takes a free entry of details and returns its number; 0: there is no room. */
static uint32_t take_details(void)
{
    if (!details)
        details = ws_reserve(MOST_DETAILS * sizeof(*details));
    uint32_t number = details_free;
    if (!details || (!number && details_used + 1 >= MOST_DETAILS))
        return 0;
    if (number)
        details_free = details[number].next;
    else
        number = ++details_used;
    memset(&details[number], 0, sizeof(details[number]));
    return number;
}

static void forget(ws_cudnnDescriptor descriptor)
{
    struct descriptor known = descriptor_of(descriptor);
    union details *of = details_of(known);
    if (of) {
        of->next = details_free;
        details_free = known.rest;
    }
    if (known.type)
        ws_map_remove(&descriptors, key_of(descriptor));
    if (is_of(known, WS_CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR))
        forget_plan(key_of(descriptor));
}

static void set_tensor(struct cudnn_tensor *tensor, ws_cudnnEnum name, int64_t count, const void *elements)
{
    switch (name) {
    case WS_CUDNN_ATTR_TENSOR_DATA_TYPE:
        memcpy(&tensor->type, elements, sizeof(tensor->type));
        break;
    case WS_CUDNN_ATTR_TENSOR_DIMENSIONS:
        tensor->rank = (uint8_t)(count <= WS_CUDNN_DIM_MAX ? count : 0);
        memcpy(tensor->size, elements, tensor->rank * sizeof(*tensor->size));
        break;
    case WS_CUDNN_ATTR_TENSOR_VECTOR_COUNT:
        tensor->vectors = *(const int64_t *)elements > 1;
        break;
    case WS_CUDNN_ATTR_TENSOR_UNIQUE_ID:
        memcpy(&tensor->uid, elements, sizeof(tensor->uid));
        break;
    case WS_CUDNN_ATTR_TENSOR_IS_VIRTUAL:
        tensor->is_virtual = *(const unsigned char *)elements;
        break;
    case WS_CUDNN_ATTR_TENSOR_IS_BY_VALUE:
        tensor->by_value = *(const unsigned char *)elements;
        break;
    case WS_CUDNN_ATTR_TENSOR_RAGGED_OFFSET_DESC:
        tensor->ragged = true;
        break;
    default:
        break;
    }
}

static void set_operand(struct cudnn_operation *operation, ws_cudnnEnum name, ws_cudnnDescriptor element)
{
    struct descriptor given = descriptor_of(element);
    const union details *of = details_of(given);
    uint32_t place = 0;
    if (!of)
        return;
    if (!is_of(given, WS_CUDNN_BACKEND_TENSOR_DESCRIPTOR)) {
        if (!is_operation(given.type - 1)) {
            operation->compute = of->how.compute;
            operation->by_index = of->how.by_index;
        }
        return;
    }
    while (place < operation->count && operation->operands[place].name != name)
        place++;
    if (place == CUDNN_OPERANDS)
        return;
    operation->count += place == operation->count;
    operation->operands[place].name = name;
    operation->operands[place].tensor = of->tensor;
}

static void set_details(struct descriptor descriptor, union details *of, ws_cudnnEnum name, ws_cudnnEnum type,
                        int64_t count, const void *elements)
{
    if (is_of(descriptor, WS_CUDNN_BACKEND_TENSOR_DESCRIPTOR))
        set_tensor(&of->tensor, name, count, elements);
    else if (name == WS_CUDNN_ATTR_CONVOLUTION_COMP_TYPE || name == WS_CUDNN_ATTR_MATMUL_COMP_TYPE)
        memcpy(&of->how.compute, elements, sizeof(of->how.compute));
    else if (is_of(descriptor, WS_CUDNN_BACKEND_POINTWISE_DESCRIPTOR) && name == WS_CUDNN_ATTR_POINTWISE_MODE)
        of->how.by_index = *(const ws_cudnnEnum *)elements == WS_CUDNN_POINTWISE_GEN_INDEX;
    else if (is_operation(descriptor.type - 1) && type == WS_CUDNN_TYPE_BACKEND_DESCRIPTOR)
        for (int64_t i = 0; i < count; i++)
            set_operand(&of->operation, name, ((const ws_cudnnDescriptor *)elements)[i]);
}

/* The label of a graph of these operations. It is empty if the shim does not know the contents of one of the
 * operations. */
static struct call_label label_of_operations(int64_t count, const ws_cudnnDescriptor *elements)
{
    enum { MOST = 256 };
    const struct cudnn_operation *operations[MOST];
    if (count > MOST)
        return (struct call_label){ 0 };
    for (int64_t i = 0; i < count; i++) {
        struct descriptor known = descriptor_of(elements[i]);
        const union details *of = known.type && is_operation(known.type - 1) ? details_of(known) : NULL;
        operations[i] = of ? &of->operation : NULL;
    }
    return cudnn_graph_label(operations, (size_t)count);
}

/* ---- what the wrappers note */

/* Takes LOCK_DESCRIPTORS, or else returns from the function that contains this macro. Nothing is noted before the
 * recording starts, nor in a forked child of a process that recorded. */
#define WITH_LOCK                                        \
    if (!shim_started() || !lock_take(LOCK_DESCRIPTORS)) \
        return;

void cudnn_created(ws_cudnnDescriptor descriptor, ws_cudnnEnum type)
{
    WITH_LOCK
    forget(descriptor); /* forgets an older descriptor at this address whose end the shim did not see */
    struct descriptor made = { .type = ((uint32_t)type + 1) & 0xff };
    if (has_details((uint32_t)type) && (made.rest = take_details()) != 0) {
        union details *of = &details[made.rest];
        if (is_operation((uint32_t)type)) {
            of->operation.type = type;
            of->operation.compute = -1;
        }
    }
    put(descriptor, made);
    lock_release(LOCK_DESCRIPTORS);
}

void cudnn_set(ws_cudnnDescriptor descriptor, ws_cudnnEnum name, ws_cudnnEnum type, int64_t count,
               const void *elements)
{
    WITH_LOCK
    struct descriptor known = descriptor_of(descriptor);
    union details *of = details_of(known);
    if (!known.type || count < 1 || !elements) {
        /* the descriptor is not known, or nothing is set */
    } else if (of) {
        set_details(known, of, name, type, count, elements);
    } else if (is_of(known, WS_CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR)) {
        if (name == WS_CUDNN_ATTR_VARIANT_PACK_OVERRIDE_SHAPES) {
            known.rest = 1;
            put(descriptor, known);
            atomic_store_explicit(&packs_override, true, memory_order_relaxed);
        }
    } else if (hands_label_on(known.type - 1) && type == WS_CUDNN_TYPE_BACKEND_DESCRIPTOR) {
        const ws_cudnnDescriptor *given = elements;
        struct call_label label = { 0 };
        if (name == WS_CUDNN_ATTR_OPERATIONGRAPH_OPS) {
            label = label_of_operations(count, given);
        } else {
            struct descriptor from = descriptor_of(given[0]);
            if (!from.type || !hands_label_on(from.type - 1))
                goto out;
            label = (struct call_label){ from.name, from.rest };
        }
        known.name = label.name & 0xffffff;
        known.rest = label.inputs;
        put(descriptor, known);
    }
out:
    lock_release(LOCK_DESCRIPTORS);
}

void cudnn_got(ws_cudnnDescriptor descriptor, ws_cudnnEnum type, int64_t count, void *elements)
{
    if (type != WS_CUDNN_TYPE_BACKEND_DESCRIPTOR || !elements)
        return;
    WITH_LOCK
    struct descriptor known = descriptor_of(descriptor);
    for (int64_t i = 0; known.type && hands_label_on(known.type - 1) && i < count; i++) {
        ws_cudnnDescriptor element = ((const ws_cudnnDescriptor *)elements)[i];
        struct descriptor given = descriptor_of(element);
        if (!given.type || !hands_label_on(given.type - 1))
            continue;
        given.name = known.name;
        given.rest = known.rest;
        put(element, given);
    }
    lock_release(LOCK_DESCRIPTORS);
}

void cudnn_finalized(ws_cudnnDescriptor descriptor)
{
    WITH_LOCK
    struct descriptor known = descriptor_of(descriptor);
    if (is_of(known, WS_CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR) && known.rest)
        keep_plan(key_of(descriptor), (struct call_label){ known.name, known.rest });
    lock_release(LOCK_DESCRIPTORS);
}

void cudnn_destroying(ws_cudnnDescriptor descriptor)
{
    WITH_LOCK
    forget(descriptor);
    lock_release(LOCK_DESCRIPTORS);
}
