/* Convolutions, attention and matrix products of many sizes through cuDNN, by its older interface and by its graphs.
 * A test compares the sums of their FLOPs and bytes with the report. Some execution plans are destroyed, are not
 * finalized, or are executed with other sizes. */
#include "program.h"

#include <dlfcn.h>
#include <pthread.h>

#include "abi/cudnn.h"

ws_cudnnStatus cudnnCreate(ws_cudnnHandle *handle);
ws_cudnnStatus cudnnSetStream(ws_cudnnHandle handle, ws_CUstream stream);
ws_cudnnStatus cudnnCreateTensorDescriptor(void **descriptor);
ws_cudnnStatus cudnnCreateFilterDescriptor(void **descriptor);
ws_cudnnStatus cudnnCreateConvolutionDescriptor(void **descriptor);
#define CUDNN_ROW(part, symbol, parameters, ...) ws_cudnnStatus symbol parameters;
#include "shim/hook/cudnn_table.h"

/* All launches together need at most 512 events. The shim makes that many soon after its start, but may make further
 * events too late. Then some kernels may have no times, and the report's figures leave these kernels out. */
enum { STEPS = 10, THREADS = 4, EACH = 10, OPERANDS = 4 };
enum {
    FORWARD = WS_CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
    BACKWARD_DATA = WS_CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
    BACKWARD_FILTER = WS_CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR
};

typedef ws_cudnnBackendDescriptor descriptor;

static ws_cudnnHandle handle;

/* ---- cuDNN's older interface */

static void convolve(int direction, int rank, const int *image_size, const int *filter_size, const int *result_size)
{
    static void *image, *filter, *result, *how; /* all calls use the same descriptors, with different contents */
    int strides[5] = { 1, 1, 1, 1, 1 };
    if (!image) {
        cudnnCreateTensorDescriptor(&image);
        cudnnCreateTensorDescriptor(&result);
        cudnnCreateFilterDescriptor(&filter);
        cudnnCreateConvolutionDescriptor(&how);
    }
    cudnnSetTensorNdDescriptor(image, WS_CUDNN_DATA_HALF, rank, image_size, strides);
    cudnnSetTensorNdDescriptor(result, WS_CUDNN_DATA_HALF, rank, result_size, strides);
    cudnnSetFilterNdDescriptor(filter, WS_CUDNN_DATA_HALF, WS_CUDNN_TENSOR_NCHW, rank, filter_size);
    for (int again = 0; again < 2 && direction == FORWARD; again++)
        cudnnConvolutionForward(handle, NULL, image, NULL, filter, NULL, how, 1, NULL, 0, NULL, result, NULL);
    if (direction == FORWARD)
        return;
    if (direction == BACKWARD_DATA)
        cudnnConvolutionBackwardData(handle, NULL, filter, NULL, result, NULL, how, 1, NULL, 0, NULL, image, NULL);
    else
        cudnnConvolutionBackwardFilter(handle, NULL, image, NULL, result, NULL, how, 1, NULL, 0, NULL, filter, NULL);
}

static void convolve_all(void)
{
    for (int direction = FORWARD; direction <= BACKWARD_DATA; direction++)
        convolve(direction, 4, (int[]){ 16, 64, 56, 56 }, (int[]){ 128, 64, 3, 3 }, (int[]){ 16, 128, 28, 28 });
    convolve(FORWARD, 4, (int[]){ 8, 256, 14, 14 }, (int[]){ 256, 8, 3, 3 }, (int[]){ 8, 256, 14, 14 });
    convolve(FORWARD, 5, (int[]){ 2, 32, 16, 28, 28 }, (int[]){ 64, 32, 3, 3, 3 }, (int[]){ 2, 64, 16, 28, 28 });
}

/* ---- graphs */

static int64_t last_uid;

static descriptor make(ws_cudnnEnum type)
{
    descriptor made = NULL;
    cudnnBackendCreateDescriptor(type, &made);
    return made;
}

static void set_one(descriptor to, ws_cudnnEnum name, descriptor element)
{
    cudnnBackendSetAttribute(to, name, WS_CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &element);
}

static descriptor tensor(bool in_memory, int64_t rank, const int64_t *size)
{
    descriptor made = make(WS_CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    ws_cudnnEnum type = WS_CUDNN_DATA_HALF;
    bool is_virtual = !in_memory;
    last_uid++;
    cudnnBackendSetAttribute(made, WS_CUDNN_ATTR_TENSOR_DATA_TYPE, WS_CUDNN_TYPE_DATA_TYPE, 1, &type);
    cudnnBackendSetAttribute(made, WS_CUDNN_ATTR_TENSOR_DIMENSIONS, WS_CUDNN_TYPE_INT64, rank, size);
    cudnnBackendSetAttribute(made, WS_CUDNN_ATTR_TENSOR_UNIQUE_ID, WS_CUDNN_TYPE_INT64, 1, &last_uid);
    cudnnBackendSetAttribute(made, WS_CUDNN_ATTR_TENSOR_IS_VIRTUAL, WS_CUDNN_TYPE_BOOLEAN, 1, &is_virtual);
    cudnnBackendFinalize(made);
    return made;
}
#define SIZE(...)                                                     \
    sizeof((int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t), (int64_t[]) \
    {                                                                 \
        __VA_ARGS__                                                   \
    }

/* A kind of operation: the attributes for its three tensors (`operands`), and the attribute for a further descriptor
 * (`how`), which itself gets the attribute `how_name` with the value `how_value`. */
struct kind {
    ws_cudnnEnum type, operands[3], how, how_type, how_name, how_value_type;
    ws_cudnnEnum how_value;
};
#define BY_TYPE(name) WS_CUDNN_ATTR_##name##_COMP_TYPE, WS_CUDNN_TYPE_DATA_TYPE, WS_CUDNN_DATA_FLOAT
static const struct kind forward = { FORWARD,
                                     { WS_CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
                                       WS_CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
                                       WS_CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y },
                                     WS_CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
                                     WS_CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR,
                                     BY_TYPE(CONVOLUTION) },
                         backward_data = { BACKWARD_DATA,
                                           { WS_CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
                                             WS_CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
                                             WS_CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY },
                                           WS_CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
                                           WS_CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR,
                                           BY_TYPE(CONVOLUTION) },
                         backward_filter = { BACKWARD_FILTER,
                                             { WS_CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
                                               WS_CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
                                               WS_CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY },
                                             WS_CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
                                             WS_CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR,
                                             BY_TYPE(CONVOLUTION) },
                         matmul = { WS_CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR,
                                    { WS_CUDNN_ATTR_OPERATION_MATMUL_ADESC, WS_CUDNN_ATTR_OPERATION_MATMUL_BDESC,
                                      WS_CUDNN_ATTR_OPERATION_MATMUL_CDESC },
                                    WS_CUDNN_ATTR_OPERATION_MATMUL_DESC,
                                    WS_CUDNN_BACKEND_MATMUL_DESCRIPTOR,
                                    BY_TYPE(MATMUL) };
#define POINTWISE(mode)                                                                             \
    {                                                                                               \
        WS_CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR,                                            \
            { WS_CUDNN_ATTR_OPERATION_POINTWISE_XDESC, WS_CUDNN_ATTR_OPERATION_POINTWISE_BDESC,     \
              WS_CUDNN_ATTR_OPERATION_POINTWISE_YDESC },                                            \
            WS_CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, WS_CUDNN_BACKEND_POINTWISE_DESCRIPTOR, \
            WS_CUDNN_ATTR_POINTWISE_MODE, WS_CUDNN_TYPE_POINTWISE_MODE, mode                        \
    }
static const struct kind add_relu = POINTWISE(WS_CUDNN_POINTWISE_RELU_FWD),
                         index_of = POINTWISE(WS_CUDNN_POINTWISE_GEN_INDEX);

static descriptor operation(const struct kind *kind, descriptor a, descriptor b, descriptor c)
{
    descriptor made = make(kind->type), how = make(kind->how_type), operands[3] = { a, b, c };
    cudnnBackendSetAttribute(how, kind->how_name, kind->how_value_type, 1, &kind->how_value);
    cudnnBackendFinalize(how);
    set_one(made, kind->how, how);
    cudnnBackendDestroyDescriptor(how);
    for (int i = 0; i < 3; i++)
        if (operands[i])
            set_one(made, kind->operands[i], operands[i]);
    cudnnBackendFinalize(made);
    return made;
}

/* Makes an execution plan as cuDNN's frontends do: a heuristic gives the configuration of an engine, and the
 * descriptors from which the plan was made are destroyed. */
static descriptor plan_of(int count, descriptor *operations, bool finalize)
{
    descriptor graph = make(WS_CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    descriptor heuristic = make(WS_CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    descriptor given = make(WS_CUDNN_BACKEND_ENGINECFG_DESCRIPTOR), engine = make(WS_CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    descriptor config = make(WS_CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    descriptor plan = make(WS_CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    int64_t found = 0;
    cudnnBackendSetAttribute(graph, WS_CUDNN_ATTR_OPERATIONGRAPH_OPS, WS_CUDNN_TYPE_BACKEND_DESCRIPTOR, count,
                             operations);
    for (int i = 0; i < count; i++)
        cudnnBackendDestroyDescriptor(operations[i]);
    cudnnBackendFinalize(graph);
    set_one(heuristic, WS_CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
    cudnnBackendFinalize(heuristic);
    cudnnBackendDestroyDescriptor(graph);
    cudnnBackendGetAttribute(heuristic, WS_CUDNN_ATTR_ENGINEHEUR_RESULTS, WS_CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &found,
                             &given);
    cudnnBackendGetAttribute(given, WS_CUDNN_ATTR_ENGINECFG_ENGINE, WS_CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &found,
                             &engine);
    set_one(config, WS_CUDNN_ATTR_ENGINECFG_ENGINE, engine);
    cudnnBackendFinalize(config);
    set_one(plan, WS_CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config);
    if (finalize)
        cudnnBackendFinalize(plan);
    cudnnBackendDestroyDescriptor(heuristic);
    cudnnBackendDestroyDescriptor(given);
    cudnnBackendDestroyDescriptor(engine);
    cudnnBackendDestroyDescriptor(config);
    return plan;
}

static descriptor plan_of_one(const struct kind *kind, descriptor a, descriptor b, descriptor c)
{
    descriptor made = operation(kind, a, b, c);
    cudnnBackendDestroyDescriptor(a);
    cudnnBackendDestroyDescriptor(b);
    cudnnBackendDestroyDescriptor(c);
    return plan_of(1, &made, true);
}

static ws_cudnnStatus execute(descriptor plan)
{
    descriptor pack = make(WS_CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    cudnnBackendFinalize(pack);
    ws_cudnnStatus status = cudnnBackendExecute(handle, plan, pack);
    cudnnBackendDestroyDescriptor(pack);
    return status;
}

/* Makes a plan for a convolution and a pointwise operation. The result of the convolution itself is never in device
 * memory. */
static descriptor convolution_with_bias(void)
{
    descriptor x = tensor(true, SIZE(32, 64, 28, 28)), w = tensor(true, SIZE(64, 64, 3, 3));
    descriptor made = tensor(false, SIZE(32, 64, 28, 28)), bias = tensor(true, SIZE(1, 64, 1, 1));
    descriptor y = tensor(true, SIZE(32, 64, 28, 28));
    descriptor operations[] = { operation(&forward, x, w, made), operation(&add_relu, made, bias, y) };
    return plan_of(2, operations, true);
}

/* Makes a plan for attention. Its scores and probabilities are never in device memory. masked: the first pointwise
 * operation generates indices, as for a mask, in place of a ReLU. */
static descriptor attention(bool masked)
{
    descriptor q = tensor(true, SIZE(4, 16, 512, 64)), k = tensor(true, SIZE(4, 16, 64, 512));
    descriptor v = tensor(true, SIZE(4, 16, 512, 64)), o = tensor(true, SIZE(4, 16, 512, 64));
    descriptor scores = tensor(false, SIZE(4, 16, 512, 512)), weights = tensor(false, SIZE(4, 16, 512, 512));
    descriptor stats = tensor(true, SIZE(4, 16, 512, 1));
    descriptor operations[] = { operation(&matmul, q, k, scores),
                                operation(masked ? &index_of : &add_relu, scores, NULL, weights),
                                operation(&add_relu, weights, NULL, stats), operation(&matmul, weights, v, o) };
    return plan_of(4, operations, true);
}

/* The backward pass of attention has five products: the scores again, and the gradients of V, of the weights, of K
 * and of Q. */
static descriptor attention_backward(void)
{
    descriptor q = tensor(true, SIZE(2, 8, 256, 128)), k = tensor(true, SIZE(2, 8, 256, 128));
    descriptor v = tensor(true, SIZE(2, 8, 128, 256)), dy = tensor(true, SIZE(2, 8, 256, 128));
    descriptor kt = tensor(true, SIZE(2, 8, 128, 256)), o = tensor(true, SIZE(2, 8, 256, 128));
    descriptor dq = tensor(true, SIZE(2, 8, 256, 128)), dk = tensor(true, SIZE(2, 8, 256, 128));
    descriptor dv = tensor(true, SIZE(2, 8, 256, 128));
    descriptor s = tensor(false, SIZE(2, 8, 256, 256)), p = tensor(false, SIZE(2, 8, 256, 256));
    descriptor dp = tensor(false, SIZE(2, 8, 256, 256)), ds = tensor(false, SIZE(2, 8, 256, 256));
    descriptor operations[] = { operation(&matmul, q, kt, s),    operation(&add_relu, s, NULL, p),
                                operation(&matmul, p, dy, dv),   operation(&matmul, dy, v, dp),
                                operation(&add_relu, dp, o, ds), operation(&matmul, ds, q, dk),
                                operation(&matmul, ds, k, dq) };
    return plan_of(7, operations, true);
}

static void *execute_often(void *plan)
{
    for (int i = 0; i < EACH; i++)
        execute(plan);
    return NULL;
}

/* Makes, executes and destroys one plan after another. A new descriptor may get the address of a destroyed
 * descriptor, and the shim must not mix up the two. */
static void recycle(void)
{
    for (int64_t channels = 32; channels <= 128; channels *= 2) {
        descriptor plan = plan_of_one(&forward, tensor(true, SIZE(8, channels, 32, 32)),
                                      tensor(true, SIZE(32, channels, 1, 1)), tensor(true, SIZE(8, 32, 32, 32)));
        execute(plan);
        cudnnBackendDestroyDescriptor(plan);
    }
}

int main(void)
{
    ws_CUcontext context;
    ws_CUdevice device;
    ws_CUstream stream;
    pthread_t threads[THREADS];
    cuInit(0);
    cuDeviceGet(&device, 0);
    cuCtxCreate_v2(&context, 0, device);
    cuStreamCreate(&stream, 0);
    printf("create %d\n", cudnnCreate(&handle));
    cudnnSetStream(handle, stream);
    ws_cudnnStatus (*of_8)(ws_cudnnHandle, descriptor, descriptor) =
        (__typeof__(of_8))dlvsym(RTLD_DEFAULT, "cudnnBackendExecute", "libcudnn.so.8");
    printf("without a library %d\n", !of_8 || of_8(handle, NULL, NULL) == WS_CUDNN_8_STATUS_NOT_INITIALIZED);
    descriptor plans[] = {
        convolution_with_bias(),
        plan_of_one(&backward_data, tensor(true, SIZE(16, 32, 28, 28)), tensor(true, SIZE(64, 32, 3, 3)),
                    tensor(true, SIZE(16, 64, 28, 28))),
        plan_of_one(&backward_filter, tensor(true, SIZE(16, 32, 28, 28)), tensor(true, SIZE(64, 32, 3, 3)),
                    tensor(true, SIZE(16, 64, 28, 28))),
        plan_of_one(&forward, tensor(true, SIZE(8, 128, 14, 14)), tensor(true, SIZE(128, 1, 3, 3)),
                    tensor(true, SIZE(8, 128, 14, 14))),
        plan_of_one(&forward, tensor(true, SIZE(2, 16, 8, 28, 28)), tensor(true, SIZE(32, 16, 3, 3, 3)),
                    tensor(true, SIZE(2, 32, 8, 28, 28))),
        attention(false),
        attention(true),
        attention_backward(),
        plan_of_one(&matmul, tensor(true, SIZE(6, 384, 512)), tensor(true, SIZE(6, 512, 256)),
                    tensor(true, SIZE(6, 384, 256))),
        plan_of_one(&add_relu, tensor(true, SIZE(64, 1024)), tensor(true, SIZE(1, 1024)),
                    tensor(true, SIZE(64, 1024))),
    };
    for (int step = 0; step < STEPS; step++) {
        convolve_all();
        for (size_t i = 0; i < sizeof(plans) / sizeof(plans[0]); i++)
            if (execute(plans[i]))
                printf("plan %zu failed\n", i);
        cuStreamSynchronize(stream);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, execute_often, plans[1]);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    recycle();
    descriptor unfinished = operation(&matmul, tensor(true, SIZE(1, 64, 64)), tensor(true, SIZE(1, 64, 64)),
                                      tensor(true, SIZE(1, 64, 64)));
    printf("unfinished %d\n", execute(plan_of(1, &unfinished, false)));
    /* This variant pack overrides the sizes for which the plan was made: the shim must give this execution no label
     * (no sizes). */
    descriptor pack = make(WS_CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    int64_t sizes[] = { 32, 1024 };
    cudnnBackendSetAttribute(pack, WS_CUDNN_ATTR_VARIANT_PACK_OVERRIDE_SHAPES, WS_CUDNN_TYPE_INT64, 2, sizes);
    cudnnBackendFinalize(pack);
    cudnnBackendExecute(handle, plans[9], pack);
    cudnnBackendDestroyDescriptor(pack);
    execute(plans[9]);
    cuStreamSynchronize(stream);
    cuCtxDestroy_v2(context);
    return 0;
}
