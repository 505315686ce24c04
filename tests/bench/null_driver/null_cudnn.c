/* Replaces cuDNN by functions that compute nothing, so that only the shim's work is measured. Backend descriptors are
 * unique addresses with nothing stored behind them. Tensor and filter descriptors are arrays of sizes. */
#include "abi/cuda.h"
#include "abi/cudnn.h"

#define CUDNN_ROW(part, symbol, parameters, ...) \
    __attribute__((visibility("default"))) ws_cudnnStatus symbol parameters;
#include "shim/hook/cudnn_table.h"

#define CUDNN_FUNCTION(...) __attribute__((visibility("default"))) ws_cudnnStatus __VA_ARGS__

enum { RANK = 4, DESCRIPTORS = 1024 };

CUDNN_FUNCTION(cudnnBackendCreateDescriptor(ws_cudnnEnum type, ws_cudnnBackendDescriptor *descriptor))
{
    static char memory[DESCRIPTORS];
    static int used;
    (void)type;
    *descriptor = &memory[used++ % DESCRIPTORS];
    return WS_CUDNN_STATUS_SUCCESS;
}

CUDNN_FUNCTION(cudnnBackendSetAttribute(ws_cudnnBackendDescriptor descriptor, ws_cudnnEnum name, ws_cudnnEnum type,
                                        int64_t count, ws_cudnnPointer elements))
{
    (void)descriptor, (void)name, (void)type, (void)count, (void)elements;
    return WS_CUDNN_STATUS_SUCCESS;
}

CUDNN_FUNCTION(cudnnBackendFinalize(ws_cudnnBackendDescriptor descriptor))
{
    (void)descriptor;
    return WS_CUDNN_STATUS_SUCCESS;
}

CUDNN_FUNCTION(cudnnBackendExecute(ws_cudnnHandle handle, ws_cudnnBackendDescriptor plan,
                                   ws_cudnnBackendDescriptor pack))
{
    (void)handle, (void)plan, (void)pack;
    return WS_CUDNN_STATUS_SUCCESS;
}

CUDNN_FUNCTION(cudnnConvolutionForward(ws_cudnnHandle handle, ws_cudnnPointer alpha, ws_cudnnDescriptor x_desc,
                                       ws_cudnnPointer x, ws_cudnnDescriptor w_desc, ws_cudnnPointer w,
                                       ws_cudnnDescriptor convolution, ws_cudnnEnum algorithm, void *workspace,
                                       size_t workspace_bytes, ws_cudnnPointer beta, ws_cudnnDescriptor y_desc,
                                       void *y))
{
    (void)handle, (void)alpha, (void)x_desc, (void)x, (void)w_desc, (void)w, (void)convolution, (void)algorithm;
    (void)workspace, (void)workspace_bytes, (void)beta, (void)y_desc, (void)y;
    return WS_CUDNN_STATUS_SUCCESS;
}

CUDNN_FUNCTION(cudnnGetTensorNdDescriptor(ws_cudnnDescriptor tensor, int most, ws_cudnnEnum *type, int *rank,
                                          int *size, int *strides));
CUDNN_FUNCTION(cudnnGetTensorNdDescriptor(ws_cudnnDescriptor tensor, int most, ws_cudnnEnum *type, int *rank,
                                          int *size, int *strides))
{
    (void)most, (void)strides;
    *type = WS_CUDNN_DATA_HALF;
    *rank = RANK;
    for (int i = 0; i < RANK; i++)
        size[i] = ((const int *)tensor)[i];
    return WS_CUDNN_STATUS_SUCCESS;
}

CUDNN_FUNCTION(cudnnGetFilterNdDescriptor(ws_cudnnDescriptor filter, int most, ws_cudnnEnum *type,
                                          ws_cudnnEnum *format, int *rank, int *size));
CUDNN_FUNCTION(cudnnGetFilterNdDescriptor(ws_cudnnDescriptor filter, int most, ws_cudnnEnum *type,
                                          ws_cudnnEnum *format, int *rank, int *size))
{
    *format = WS_CUDNN_TENSOR_NCHW;
    return cudnnGetTensorNdDescriptor(filter, most, type, rank, size, NULL);
}
