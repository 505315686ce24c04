/* Describes graphs to the real cuDNN, in a context of the simulated driver; cuDNN needs no GPU for that. The trace
 * contains the labels that the shim gave to the graphs. Prints the calls that failed.
 *
 *   cudnn_graph LIBRARY [look-up]
 *
 * With look-up, the program gets cuDNN's functions from dlsym with the library's handle. Without look-up, the program
 * gets the functions to which a program linked with libcudnn would be bound. */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "abi/cuda.h"
#include "abi/cudnn.h"

ws_CUresult cuInit(unsigned flags);
ws_CUresult cuCtxCreate_v2(ws_CUcontext *context, unsigned flags, ws_CUdevice device);
ws_CUresult cuCtxDestroy_v2(ws_CUcontext context);
ws_CUresult cuMemAlloc_v2(ws_CUdeviceptr *address, size_t bytes);
ws_CUresult cuMemsetD8_v2(ws_CUdeviceptr to, unsigned char value, size_t bytes);

#define CUDNN_ROW(part, symbol, parameters, ...) static ws_cudnnStatus(*symbol) parameters;
#include "shim/hook/cudnn_table.h"

typedef ws_cudnnBackendDescriptor descriptor;

static int failures;

static void expect(ws_cudnnStatus status, const char *what)
{
    if (status != WS_CUDNN_STATUS_SUCCESS) {
        printf("FAILED: %s answered %d\n", what, status);
        failures++;
    }
}

static descriptor make(ws_cudnnEnum type)
{
    descriptor made = NULL;
    expect(cudnnBackendCreateDescriptor(type, &made), "create");
    return made;
}

static void set(descriptor to, ws_cudnnEnum name, ws_cudnnEnum type, int64_t count, const void *elements)
{
    expect(cudnnBackendSetAttribute(to, name, type, count, elements), "set");
}

static void set_one(descriptor to, ws_cudnnEnum name, descriptor element)
{
    set(to, name, WS_CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &element);
}

/* A packed tensor: its last dimension has stride 1. */
static descriptor tensor(int64_t uid, int64_t rank, const int64_t *size)
{
    enum { STRIDES = 903, ALIGNMENT = 900 }; /* CUDNN_ATTR_TENSOR_STRIDES, _BYTE_ALIGNMENT */
    descriptor made = make(WS_CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    ws_cudnnEnum type = WS_CUDNN_DATA_HALF;
    int64_t strides[5], alignment = 16, stride = 1;
    for (int64_t i = rank - 1; i >= 0; i--) {
        strides[i] = stride;
        stride *= size[i];
    }
    set(made, WS_CUDNN_ATTR_TENSOR_DATA_TYPE, WS_CUDNN_TYPE_DATA_TYPE, 1, &type);
    set(made, WS_CUDNN_ATTR_TENSOR_DIMENSIONS, WS_CUDNN_TYPE_INT64, rank, size);
    set(made, STRIDES, WS_CUDNN_TYPE_INT64, rank, strides);
    set(made, WS_CUDNN_ATTR_TENSOR_UNIQUE_ID, WS_CUDNN_TYPE_INT64, 1, &uid);
    set(made, ALIGNMENT, WS_CUDNN_TYPE_INT64, 1, &alignment);
    expect(cudnnBackendFinalize(made), "finalize a tensor");
    return made;
}

static void describe(ws_cudnnEnum type, const ws_cudnnEnum names[3], ws_cudnnEnum how_name, descriptor how,
                     descriptor a, descriptor b, descriptor c)
{
    descriptor operation = make(type), graph = make(WS_CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    descriptor operands[3] = { a, b, c };
    expect(cudnnBackendFinalize(how), "finalize what an operation is done by");
    set_one(operation, how_name, how);
    cudnnBackendDestroyDescriptor(how);
    for (int i = 0; i < 3; i++) {
        set_one(operation, names[i], operands[i]);
        cudnnBackendDestroyDescriptor(operands[i]);
    }
    expect(cudnnBackendFinalize(operation), "finalize an operation");
    set_one(graph, WS_CUDNN_ATTR_OPERATIONGRAPH_OPS, operation);
    cudnnBackendDestroyDescriptor(operation);
    expect(cudnnBackendFinalize(graph), "finalize a graph");
    cudnnBackendDestroyDescriptor(graph);
}

static void describe_product(void)
{
    static const ws_cudnnEnum names[] = { WS_CUDNN_ATTR_OPERATION_MATMUL_ADESC, WS_CUDNN_ATTR_OPERATION_MATMUL_BDESC,
                                          WS_CUDNN_ATTR_OPERATION_MATMUL_CDESC };
    descriptor how = make(WS_CUDNN_BACKEND_MATMUL_DESCRIPTOR);
    ws_cudnnEnum type = WS_CUDNN_DATA_FLOAT;
    set(how, WS_CUDNN_ATTR_MATMUL_COMP_TYPE, WS_CUDNN_TYPE_DATA_TYPE, 1, &type);
    describe(WS_CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR, names, WS_CUDNN_ATTR_OPERATION_MATMUL_DESC, how,
             tensor(1, 3, (int64_t[]){ 2, 64, 128 }), tensor(2, 3, (int64_t[]){ 2, 128, 256 }),
             tensor(3, 3, (int64_t[]){ 2, 64, 256 }));
}

static void describe_convolution(void)
{
    enum { MODE = 101, DILATIONS, STRIDES, POST_PADDINGS, PRE_PADDINGS, SPATIAL_DIMS }; /* CUDNN_ATTR_CONVOLUTION_… */
    static const ws_cudnnEnum names[] = { WS_CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
                                          WS_CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
                                          WS_CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y };
    descriptor how = make(WS_CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
    ws_cudnnEnum type = WS_CUDNN_DATA_FLOAT, mode = WS_CUDNN_CROSS_CORRELATION;
    int64_t ones[] = { 1, 1 }, dimensions = 2;
    set(how, WS_CUDNN_ATTR_CONVOLUTION_COMP_TYPE, WS_CUDNN_TYPE_DATA_TYPE, 1, &type);
    set(how, MODE, 7 /* CUDNN_TYPE_CONVOLUTION_MODE */, 1, &mode);
    set(how, SPATIAL_DIMS, WS_CUDNN_TYPE_INT64, 1, &dimensions);
    for (ws_cudnnEnum name = DILATIONS; name <= PRE_PADDINGS; name++)
        set(how, name, WS_CUDNN_TYPE_INT64, 2, ones);
    describe(WS_CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR, names,
             WS_CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, how, tensor(1, 4, (int64_t[]){ 8, 32, 28, 28 }),
             tensor(2, 4, (int64_t[]){ 64, 32, 3, 3 }), tensor(3, 4, (int64_t[]){ 8, 64, 28, 28 }));
}

int main(int argc, char **argv)
{
    ws_CUcontext context;
    ws_CUdeviceptr memory;
    void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
    if (!library) {
        printf("skipped: %s\n", argc > 1 ? dlerror() : "no library named");
        return 77;
    }
    /* Without look-up, dlvsym finds the shim's definitions, which have the symbol version libcudnn.so.9, as the
     * linker would for a program that is linked with libcudnn. If the shim is not loaded, dlvsym finds nothing, and
     * cuDNN's own definitions are used. */
    bool look_up = argc > 2 && !strcmp(argv[2], "look-up");
#define CUDNN_ROW(part, symbol, parameters, ...)                                                  \
    symbol = look_up ? NULL : (__typeof__(symbol))dlvsym(RTLD_DEFAULT, #symbol, "libcudnn.so.9"); \
    if (!symbol)                                                                                  \
        symbol = (__typeof__(symbol))dlsym(library, #symbol);
#include "shim/hook/cudnn_table.h"
    cuInit(0);
    cuCtxCreate_v2(&context, 0, 0);
    cuMemAlloc_v2(&memory, 4096);
    cuMemsetD8_v2(memory, 0, 4096);
    describe_product();
    describe_convolution();
    cuMemsetD8_v2(memory, 0, 4096);
    cuCtxDestroy_v2(context);
    printf("%d failed\n", failures);
    return failures != 0;
}
