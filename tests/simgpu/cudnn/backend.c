/* The simulated cuDNN's graph interface. A descriptor keeps the attributes that the program sets in it. If an
 * attribute's value is itself a descriptor, the outer descriptor keeps a reference to it. So the program may destroy
 * the inner descriptor after it was set in the outer one, as with the real cuDNN. */
#include <stdlib.h>
#include <string.h>

#include "cudnn/work.h"

enum { MOST_ATTRIBUTES = 24 };

struct attribute {
    ws_cudnnEnum name, type;
    int64_t count;
    void *data;
};

struct descriptor {
    ws_cudnnEnum type;
    bool finalized;
    int holders;
    int count;
    struct attribute attributes[MOST_ATTRIBUTES];
};

static size_t size_of(ws_cudnnEnum type)
{
    switch (type) {
    case WS_CUDNN_TYPE_BOOLEAN:
        return 1;
    case WS_CUDNN_TYPE_INT64:
    case WS_CUDNN_TYPE_BACKEND_DESCRIPTOR:
        return 8;
    default:
        return 4;
    }
}

static void let_go(struct descriptor *descriptor);

static void drop(struct attribute *attribute)
{
    if (attribute->type == WS_CUDNN_TYPE_BACKEND_DESCRIPTOR)
        for (int64_t i = 0; i < attribute->count; i++)
            let_go(((struct descriptor **)attribute->data)[i]);
    free(attribute->data);
}

static void let_go(struct descriptor *descriptor)
{
    if (__atomic_sub_fetch(&descriptor->holders, 1, __ATOMIC_ACQ_REL))
        return;
    for (int i = 0; i < descriptor->count; i++)
        drop(&descriptor->attributes[i]);
    free(descriptor);
}

static const struct attribute *find(const struct descriptor *descriptor, ws_cudnnEnum name)
{
    for (int i = 0; i < descriptor->count; i++)
        if (descriptor->attributes[i].name == name)
            return &descriptor->attributes[i];
    return NULL;
}

static bool set(struct descriptor *descriptor, ws_cudnnEnum name, ws_cudnnEnum type, int64_t count, const void *data)
{
    struct attribute *place = (struct attribute *)find(descriptor, name);
    if (!place && descriptor->count == MOST_ATTRIBUTES)
        return false;
    struct attribute old = place ? *place : (struct attribute){ 0 };
    if (!place)
        place = &descriptor->attributes[descriptor->count++];
    *place = (struct attribute){ name, type, count, malloc((size_t)count * size_of(type)) };
    memcpy(place->data, data, (size_t)count * size_of(type));
    if (type == WS_CUDNN_TYPE_BACKEND_DESCRIPTOR)
        for (int64_t i = 0; i < count; i++)
            __atomic_add_fetch(&((struct descriptor **)place->data)[i]->holders, 1, __ATOMIC_RELAXED);
    drop(&old);
    return true;
}

CUDNN_API(cudnnBackendCreateDescriptor, ws_cudnnEnum type, ws_cudnnBackendDescriptor *made)
{
    struct descriptor *descriptor = calloc(1, sizeof(*descriptor));
    if (!descriptor)
        return WS_CUDNN_STATUS_NOT_INITIALIZED;
    descriptor->type = type;
    descriptor->holders = 1;
    *made = descriptor;
    return WS_CUDNN_STATUS_SUCCESS;
}

CUDNN_API(cudnnBackendDestroyDescriptor, ws_cudnnBackendDescriptor descriptor)
{
    let_go(descriptor);
    return WS_CUDNN_STATUS_SUCCESS;
}

CUDNN_API(cudnnBackendSetAttribute, ws_cudnnBackendDescriptor target, ws_cudnnEnum name, ws_cudnnEnum type,
          int64_t count, ws_cudnnPointer elements)
{
    struct descriptor *descriptor = target;
    if (!descriptor || descriptor->finalized || count < 1 || !elements)
        return WS_CUDNN_STATUS_BAD_PARAM;
    for (int64_t i = 0; type == WS_CUDNN_TYPE_BACKEND_DESCRIPTOR && i < count; i++)
        if (!((struct descriptor *const *)elements)[i]->finalized)
            return WS_CUDNN_STATUS_BAD_PARAM;
    return set(descriptor, name, type, count, elements) ? WS_CUDNN_STATUS_SUCCESS : WS_CUDNN_STATUS_BAD_PARAM;
}

static void copy_attributes(struct descriptor *to, const struct descriptor *from)
{
    for (int i = 0; i < from->count; i++)
        set(to, from->attributes[i].name, from->attributes[i].type, from->attributes[i].count,
            from->attributes[i].data);
    to->finalized = true;
}

/* Writes the result of a heuristic into `config`: one configuration, with one engine for the graph. */
static void give_result(const struct descriptor *heuristic, struct descriptor *config)
{
    const struct attribute *graph = find(heuristic, WS_CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
    ws_cudnnBackendDescriptor made;
    cudnnBackendCreateDescriptor(WS_CUDNN_BACKEND_ENGINE_DESCRIPTOR, &made);
    struct descriptor *engine = made;
    set(engine, WS_CUDNN_ATTR_ENGINE_OPERATION_GRAPH, WS_CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, graph->data);
    engine->finalized = true;
    set(config, WS_CUDNN_ATTR_ENGINECFG_ENGINE, WS_CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &engine);
    config->finalized = true;
    let_go(engine);
}

/* If the attribute is a descriptor, its attributes are copied into a descriptor that the caller has created. */
CUDNN_API(cudnnBackendGetAttribute, ws_cudnnDescriptor source, ws_cudnnEnum name, ws_cudnnEnum type,
          int64_t requested, int64_t *count, void *elements)
{
    const struct descriptor *descriptor = source;
    if (!descriptor->finalized)
        return WS_CUDNN_STATUS_BAD_PARAM;
    if (name == WS_CUDNN_ATTR_ENGINEHEUR_RESULTS) {
        if (requested > 0)
            give_result(descriptor, *(struct descriptor **)elements);
        *count = 1;
        return WS_CUDNN_STATUS_SUCCESS;
    }
    const struct attribute *attribute = find(descriptor, name);
    if (!attribute || attribute->type != type || requested < attribute->count)
        return WS_CUDNN_STATUS_BAD_PARAM;
    *count = attribute->count;
    for (int64_t i = 0; type == WS_CUDNN_TYPE_BACKEND_DESCRIPTOR && i < attribute->count; i++)
        copy_attributes(((struct descriptor **)elements)[i], ((struct descriptor **)attribute->data)[i]);
    if (type != WS_CUDNN_TYPE_BACKEND_DESCRIPTOR)
        memcpy(elements, attribute->data, (size_t)attribute->count * size_of(type));
    return WS_CUDNN_STATUS_SUCCESS;
}

CUDNN_API(cudnnBackendFinalize, ws_cudnnBackendDescriptor target)
{
    struct descriptor *descriptor = target;
    if (descriptor->finalized || (descriptor->type == WS_CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR &&
                                  !find(descriptor, WS_CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG)))
        return WS_CUDNN_STATUS_BAD_PARAM;
    descriptor->finalized = true;
    return WS_CUDNN_STATUS_SUCCESS;
}

/* ---- execution of a plan */

static const struct descriptor *held(const struct descriptor *descriptor, ws_cudnnEnum name)
{
    const struct attribute *attribute = descriptor ? find(descriptor, name) : NULL;
    return attribute && attribute->type == WS_CUDNN_TYPE_BACKEND_DESCRIPTOR ? *(struct descriptor **)attribute->data
                                                                            : NULL;
}

static int64_t size_at(const struct descriptor *tensor, int64_t place)
{
    const struct attribute *sizes = find(tensor, WS_CUDNN_ATTR_TENSOR_DIMENSIONS);
    return ((const int64_t *)sizes->data)[place < 0 ? sizes->count + place : place];
}

static double elements(const struct descriptor *tensor)
{
    const struct attribute *sizes = find(tensor, WS_CUDNN_ATTR_TENSOR_DIMENSIONS);
    double product = 1;
    for (int64_t i = 0; i < sizes->count; i++)
        product *= (double)((const int64_t *)sizes->data)[i];
    return product;
}

static ws_cudnnEnum type_of(const struct descriptor *tensor)
{
    return *(const ws_cudnnEnum *)find(tensor, WS_CUDNN_ATTR_TENSOR_DATA_TYPE)->data;
}

static bool is_set(const struct descriptor *tensor, ws_cudnnEnum name)
{
    const struct attribute *attribute = find(tensor, name);
    return attribute && *(const unsigned char *)attribute->data;
}

static int64_t uid_of(const struct descriptor *tensor)
{
    return *(const int64_t *)find(tensor, WS_CUDNN_ATTR_TENSOR_UNIQUE_ID)->data;
}

static double convolution_flops(const struct descriptor *filter, const struct descriptor *result)
{
    return 2 * elements(result) * elements(filter) / (double)size_at(filter, 0);
}

static double product_flops(const struct descriptor *operation)
{
    const struct descriptor *a = held(operation, WS_CUDNN_ATTR_OPERATION_MATMUL_ADESC);
    return 2 * elements(held(operation, WS_CUDNN_ATTR_OPERATION_MATMUL_CDESC)) * (double)size_at(a, -1);
}

/* Bytes of all tensors in memory; a tensor that several operations use counts once. */
static double bytes_of(const struct attribute *operations)
{
    int64_t seen[64];
    int seen_count = 0;
    double bytes = 0;
    for (int64_t i = 0; i < operations->count; i++) {
        const struct descriptor *operation = ((struct descriptor **)operations->data)[i];
        for (int j = 0; j < operation->count; j++) {
            const struct descriptor *tensor = held(operation, operation->attributes[j].name);
            bool again = false;
            if (!tensor || tensor->type != WS_CUDNN_BACKEND_TENSOR_DESCRIPTOR ||
                is_set(tensor, WS_CUDNN_ATTR_TENSOR_IS_VIRTUAL) || is_set(tensor, WS_CUDNN_ATTR_TENSOR_IS_BY_VALUE))
                continue;
            for (int k = 0; k < seen_count; k++)
                again |= seen[k] == uid_of(tensor);
            if (again || seen_count == 64)
                continue;
            seen[seen_count++] = uid_of(tensor);
            bytes += elements(tensor) * (double)sim_element_bytes(type_of(tensor));
        }
    }
    return bytes;
}

static ws_cudnnStatus execute(const struct attribute *operations, ws_CUstream stream)
{
    double flops = 0, bytes = bytes_of(operations);
    enum sim_work work = SIM_NORM;
    int products = 0;
    const struct descriptor *product = NULL;
    for (int64_t i = 0; i < operations->count; i++) {
        const struct descriptor *operation = ((struct descriptor **)operations->data)[i];
        switch (operation->type) {
        case WS_CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
            work = SIM_FORWARD;
            flops += convolution_flops(held(operation, WS_CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W),
                                       held(operation, WS_CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y));
            break;
        case WS_CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
            work = SIM_BACKWARD_DATA;
            flops += convolution_flops(held(operation, WS_CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W),
                                       held(operation, WS_CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY));
            break;
        case WS_CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR:
            work = SIM_BACKWARD_FILTER;
            flops += convolution_flops(held(operation, WS_CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW),
                                       held(operation, WS_CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY));
            break;
        case WS_CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
            work = ++products > 2 ? SIM_ATTENTION_BACKWARD : SIM_ATTENTION_FORWARD;
            flops += product_flops(operation);
            product = operation;
            break;
        default:
            break;
        }
    }
    if (products != 1)
        return sim_work(work, flops, bytes, stream);
    const struct descriptor *a = held(product, WS_CUDNN_ATTR_OPERATION_MATMUL_ADESC);
    uint64_t m = (uint64_t)size_at(a, -2), k = (uint64_t)size_at(a, -1);
    uint64_t n = (uint64_t)size_at(held(product, WS_CUDNN_ATTR_OPERATION_MATMUL_CDESC), -1);
    uint64_t batch = (uint64_t)elements(a) / m / k;
    return sim_matmul(batch, m, n, k, type_of(a), stream);
}

CUDNN_API(cudnnBackendExecute, ws_cudnnHandle handle, ws_cudnnBackendDescriptor plan, ws_cudnnBackendDescriptor pack)
{
    const struct descriptor *of = plan, *config = NULL, *graph = NULL;
    if (!handle || !of || !pack || !of->finalized || !((struct descriptor *)pack)->finalized)
        return WS_CUDNN_STATUS_BAD_PARAM;
    config = held(of, WS_CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
    graph = held(held(config, WS_CUDNN_ATTR_ENGINECFG_ENGINE), WS_CUDNN_ATTR_ENGINE_OPERATION_GRAPH);
    const struct attribute *operations = graph ? find(graph, WS_CUDNN_ATTR_OPERATIONGRAPH_OPS) : NULL;
    return operations ? execute(operations, ((struct sim_handle *)handle)->stream) : WS_CUDNN_STATUS_BAD_PARAM;
}
