/* The simulated cuDNN's older interface: descriptors of tensors, filters and convolutions. */
#include <stdlib.h>

#include "cudnn/work.h"

struct sizes {
    ws_cudnnEnum type;
    int rank, size[WS_CUDNN_DIM_MAX];
};

CUDNN_API(cudnnCreate, ws_cudnnHandle *handle)
{
    *handle = calloc(1, sizeof(struct sim_handle));
    return *handle ? WS_CUDNN_STATUS_SUCCESS : WS_CUDNN_STATUS_NOT_INITIALIZED;
}

CUDNN_API(cudnnDestroy, ws_cudnnHandle handle)
{
    free(handle);
    return WS_CUDNN_STATUS_SUCCESS;
}

CUDNN_API(cudnnSetStream, ws_cudnnHandle handle, ws_CUstream stream)
{
    ((struct sim_handle *)handle)->stream = stream;
    return WS_CUDNN_STATUS_SUCCESS;
}

static ws_cudnnStatus create(void **descriptor)
{
    *descriptor = calloc(1, sizeof(struct sizes));
    return *descriptor ? WS_CUDNN_STATUS_SUCCESS : WS_CUDNN_STATUS_NOT_INITIALIZED;
}

static ws_cudnnStatus set(void *descriptor, ws_cudnnEnum type, int rank, const int *size)
{
    struct sizes *sizes = descriptor;
    if (rank < 3 || rank > WS_CUDNN_DIM_MAX)
        return WS_CUDNN_STATUS_BAD_PARAM;
    sizes->type = type;
    sizes->rank = rank;
    for (int i = 0; i < rank; i++)
        sizes->size[i] = size[i];
    return WS_CUDNN_STATUS_SUCCESS;
}

static ws_cudnnStatus get(const void *descriptor, int most, ws_cudnnEnum *type, int *rank, int *size)
{
    const struct sizes *sizes = descriptor;
    *type = sizes->type;
    *rank = sizes->rank;
    for (int i = 0; i < sizes->rank && i < most; i++)
        size[i] = sizes->size[i];
    return WS_CUDNN_STATUS_SUCCESS;
}

CUDNN_API(cudnnCreateTensorDescriptor, void **descriptor)
{
    return create(descriptor);
}

CUDNN_API(cudnnCreateFilterDescriptor, void **descriptor)
{
    return create(descriptor);
}

CUDNN_API(cudnnCreateConvolutionDescriptor, void **descriptor)
{
    return create(descriptor);
}

CUDNN_API(cudnnSetTensorNdDescriptor, void *descriptor, ws_cudnnEnum type, int rank, const int *size,
          const int *strides)
{
    (void)strides;
    return set(descriptor, type, rank, size);
}

CUDNN_API(cudnnSetFilterNdDescriptor, void *descriptor, ws_cudnnEnum type, ws_cudnnEnum format, int rank,
          const int *size)
{
    (void)format;
    return set(descriptor, type, rank, size);
}

CUDNN_API(cudnnGetTensorNdDescriptor, ws_cudnnDescriptor descriptor, int most, ws_cudnnEnum *type, int *rank,
          int *size, int *strides)
{
    (void)strides;
    return get(descriptor, most, type, rank, size);
}

CUDNN_API(cudnnGetFilterNdDescriptor, ws_cudnnDescriptor descriptor, int most, ws_cudnnEnum *type,
          ws_cudnnEnum *format, int *rank, int *size)
{
    *format = WS_CUDNN_TENSOR_NCHW;
    return get(descriptor, most, type, rank, size);
}

static double elements(const struct sizes *sizes)
{
    double product = 1;
    for (int i = 0; i < sizes->rank; i++)
        product *= sizes->size[i];
    return product;
}

static double bytes(const struct sizes *sizes)
{
    return elements(sizes) * (double)sim_element_bytes(sizes->type);
}

/* Runs a convolution. Its FLOPs are 2 · N · K · P · Q · (C / groups) · R · S: the sizes of the filter are K, C /
 * groups, R, S, and the sizes of the result are N, K, P, Q. */
static ws_cudnnStatus convolve(enum sim_work work, ws_cudnnHandle handle, const struct sizes *image,
                               const struct sizes *filter, const struct sizes *result)
{
    double taps = 1;
    if (result->size[1] != filter->size[0] || image->size[1] % filter->size[1] || image->rank != filter->rank)
        return WS_CUDNN_STATUS_BAD_PARAM;
    for (int i = 1; i < filter->rank; i++)
        taps *= filter->size[i];
    return sim_work(work, 2 * elements(result) * taps, bytes(image) + bytes(filter) + bytes(result),
                    ((struct sim_handle *)handle)->stream);
}

CUDNN_API(cudnnConvolutionForward, ws_cudnnHandle handle, ws_cudnnPointer alpha, ws_cudnnDescriptor x_desc,
          ws_cudnnPointer x, ws_cudnnDescriptor w_desc, ws_cudnnPointer w, ws_cudnnDescriptor convolution,
          ws_cudnnEnum algorithm, void *workspace, size_t workspace_bytes, ws_cudnnPointer beta,
          ws_cudnnDescriptor y_desc, void *y)
{
    (void)alpha, (void)x, (void)w, (void)convolution, (void)algorithm, (void)workspace, (void)workspace_bytes;
    (void)beta, (void)y;
    return convolve(SIM_FORWARD, handle, x_desc, w_desc, y_desc);
}

CUDNN_API(cudnnConvolutionBackwardData, ws_cudnnHandle handle, ws_cudnnPointer alpha, ws_cudnnDescriptor w_desc,
          ws_cudnnPointer w, ws_cudnnDescriptor dy_desc, ws_cudnnPointer dy, ws_cudnnDescriptor convolution,
          ws_cudnnEnum algorithm, void *workspace, size_t workspace_bytes, ws_cudnnPointer beta,
          ws_cudnnDescriptor dx_desc, void *dx)
{
    (void)alpha, (void)w, (void)dy, (void)convolution, (void)algorithm, (void)workspace, (void)workspace_bytes;
    (void)beta, (void)dx;
    return convolve(SIM_BACKWARD_DATA, handle, dx_desc, w_desc, dy_desc);
}

CUDNN_API(cudnnConvolutionBackwardFilter, ws_cudnnHandle handle, ws_cudnnPointer alpha, ws_cudnnDescriptor x_desc,
          ws_cudnnPointer x, ws_cudnnDescriptor dy_desc, ws_cudnnPointer dy, ws_cudnnDescriptor convolution,
          ws_cudnnEnum algorithm, void *workspace, size_t workspace_bytes, ws_cudnnPointer beta,
          ws_cudnnDescriptor dw_desc, void *dw)
{
    (void)alpha, (void)x, (void)dy, (void)convolution, (void)algorithm, (void)workspace, (void)workspace_bytes;
    (void)beta, (void)dw;
    return convolve(SIM_BACKWARD_FILTER, handle, x_desc, dw_desc, dy_desc);
}
