/* The wrapped cuDNN functions. Include this file like driver_table.h, with these macros defined:
 *
 *   CUDNN_ROW(part, symbol, parameters, arguments, label)                  functions that compute
 *   CUDNN_FOLLOWED(part, symbol, parameters, arguments, before, after)     functions that set up descriptors
 *
 * part: the library of cuDNN 9 that defines the function. A program is linked against this library, or against
 * libcudnn, which only passes the calls on. label: an expression that tells what the call computes. before: an
 * expression that notes the call before cuDNN runs it. after: an expression that notes the call after it succeeded.
 * Both `before` and `after` may be (void)0, which notes nothing. The shim forgets a descriptor before cuDNN destroys
 * it, because afterwards another thread may get a new descriptor at the same address. The table has all functions
 * that set descriptors of tensors or filters, with one exception: the functions that return the weights of recurrent
 * networks and of attention. No convolution uses such weights. */
#ifndef CUDNN_ROW
#error "define CUDNN_ROW before including cudnn_table.h"
#endif
#ifndef CUDNN_FOLLOWED
#define CUDNN_FOLLOWED CUDNN_ROW /* a file that defines only CUDNN_ROW treats both kinds of rows alike */
#endif
/* clang-format off */
CUDNN_ROW(graph, cudnnBackendExecute,
    (ws_cudnnHandle handle, ws_cudnnBackendDescriptor plan, ws_cudnnBackendDescriptor pack), (handle, plan, pack),
    cudnn_plan_label(plan, pack))
CUDNN_FOLLOWED(graph, cudnnBackendCreateDescriptor,
    (ws_cudnnEnum type, ws_cudnnBackendDescriptor *descriptor), (type, descriptor),
    (void)0, cudnn_created(*descriptor, type))
CUDNN_FOLLOWED(graph, cudnnBackendSetAttribute,
    (ws_cudnnBackendDescriptor descriptor, ws_cudnnEnum name, ws_cudnnEnum type, int64_t count,
     ws_cudnnPointer elements),
    (descriptor, name, type, count, elements),
    (void)0, cudnn_set(descriptor, name, type, count, elements))
CUDNN_FOLLOWED(graph, cudnnBackendGetAttribute,
    (ws_cudnnDescriptor descriptor, ws_cudnnEnum name, ws_cudnnEnum type, int64_t requested, int64_t *count,
     void *elements),
    (descriptor, name, type, requested, count, elements),
    (void)0, cudnn_got(descriptor, type, count && *count < requested ? *count : requested, elements))
CUDNN_FOLLOWED(graph, cudnnBackendFinalize,
    (ws_cudnnBackendDescriptor descriptor), (descriptor), (void)0, cudnn_finalized(descriptor))
CUDNN_FOLLOWED(graph, cudnnBackendDestroyDescriptor,
    (ws_cudnnBackendDescriptor descriptor), (descriptor), cudnn_destroying(descriptor), (void)0)
CUDNN_FOLLOWED(ops, cudnnSetTensor4dDescriptor,
    (void *tensor, ws_cudnnEnum format, ws_cudnnEnum type, int n, int c, int h, int w),
    (tensor, format, type, n, c, h, w), CHANGES(tensor), (void)0)
CUDNN_FOLLOWED(ops, cudnnSetTensor4dDescriptorEx,
    (void *tensor, ws_cudnnEnum type, int n, int c, int h, int w, int n_stride, int c_stride, int h_stride,
     int w_stride),
    (tensor, type, n, c, h, w, n_stride, c_stride, h_stride, w_stride), CHANGES(tensor), (void)0)
CUDNN_FOLLOWED(ops, cudnnSetTensorNdDescriptor,
    (void *tensor, ws_cudnnEnum type, int rank, const int *size, const int *stride),
    (tensor, type, rank, size, stride), CHANGES(tensor), (void)0)
CUDNN_FOLLOWED(ops, cudnnSetTensorNdDescriptorEx,
    (void *tensor, ws_cudnnEnum format, ws_cudnnEnum type, int rank, const int *size),
    (tensor, format, type, rank, size), CHANGES(tensor), (void)0)
CUDNN_FOLLOWED(ops, cudnnSetFilter4dDescriptor,
    (void *filter, ws_cudnnEnum type, ws_cudnnEnum format, int k, int c, int h, int w),
    (filter, type, format, k, c, h, w), CHANGES(filter), (void)0)
CUDNN_FOLLOWED(ops, cudnnSetFilterNdDescriptor,
    (void *filter, ws_cudnnEnum type, ws_cudnnEnum format, int rank, const int *size),
    (filter, type, format, rank, size), CHANGES(filter), (void)0)
CUDNN_FOLLOWED(ops, cudnnInitTransformDest,
    (ws_cudnnDescriptor transform, ws_cudnnDescriptor from, void *to, size_t *bytes),
    (transform, from, to, bytes), CHANGES(to), (void)0)
CUDNN_FOLLOWED(ops, cudnnDeriveBNTensorDescriptor,
    (void *derived, ws_cudnnDescriptor from, ws_cudnnEnum mode),
    (derived, from, mode), CHANGES(derived), (void)0)
CUDNN_FOLLOWED(ops, cudnnDeriveNormTensorDescriptor,
    (void *scale, void *mean, ws_cudnnDescriptor from, ws_cudnnEnum mode, int groups),
    (scale, mean, from, mode, groups), CHANGES(scale); CHANGES(mean), (void)0)
CUDNN_FOLLOWED(cnn, cudnnGetFoldedConvBackwardDataDescriptors,
    (ws_cudnnHandle handle, ws_cudnnDescriptor filter, ws_cudnnDescriptor diff, ws_cudnnDescriptor convolution,
     ws_cudnnDescriptor grad, ws_cudnnEnum format, void *folded_filter, void *padded_diff, void *folded_convolution,
     void *folded_grad, void *fold_filter, void *pad_diff, void *fold_grad, void *unfold_grad),
    (handle, filter, diff, convolution, grad, format, folded_filter, padded_diff, folded_convolution, folded_grad,
     fold_filter, pad_diff, fold_grad, unfold_grad),
    CHANGES(folded_filter); CHANGES(padded_diff); CHANGES(folded_grad), (void)0)
CUDNN_ROW(cnn, cudnnConvolutionForward,
    (ws_cudnnHandle handle, ws_cudnnPointer alpha, ws_cudnnDescriptor x_desc, ws_cudnnPointer x,
     ws_cudnnDescriptor w_desc, ws_cudnnPointer w, ws_cudnnDescriptor convolution, ws_cudnnEnum algorithm,
     void *workspace, size_t workspace_bytes, ws_cudnnPointer beta, ws_cudnnDescriptor y_desc, void *y),
    (handle, alpha, x_desc, x, w_desc, w, convolution, algorithm, workspace, workspace_bytes, beta, y_desc, y),
    CONVOLUTION(x_desc, w_desc, y_desc))
CUDNN_ROW(cnn, cudnnConvolutionBiasActivationForward,
    (ws_cudnnHandle handle, ws_cudnnPointer alpha1, ws_cudnnDescriptor x_desc, ws_cudnnPointer x,
     ws_cudnnDescriptor w_desc, ws_cudnnPointer w, ws_cudnnDescriptor convolution, ws_cudnnEnum algorithm,
     void *workspace, size_t workspace_bytes, ws_cudnnPointer alpha2, ws_cudnnDescriptor z_desc, ws_cudnnPointer z,
     ws_cudnnDescriptor bias_desc, ws_cudnnPointer bias, ws_cudnnDescriptor activation, ws_cudnnDescriptor y_desc,
     void *y),
    (handle, alpha1, x_desc, x, w_desc, w, convolution, algorithm, workspace, workspace_bytes, alpha2, z_desc, z,
     bias_desc, bias, activation, y_desc, y),
    CONVOLUTION(x_desc, w_desc, y_desc))
CUDNN_ROW(cnn, cudnnConvolutionBackwardData,
    (ws_cudnnHandle handle, ws_cudnnPointer alpha, ws_cudnnDescriptor w_desc, ws_cudnnPointer w,
     ws_cudnnDescriptor dy_desc, ws_cudnnPointer dy, ws_cudnnDescriptor convolution, ws_cudnnEnum algorithm,
     void *workspace, size_t workspace_bytes, ws_cudnnPointer beta, ws_cudnnDescriptor dx_desc, void *dx),
    (handle, alpha, w_desc, w, dy_desc, dy, convolution, algorithm, workspace, workspace_bytes, beta, dx_desc, dx),
    CONVOLUTION(dx_desc, w_desc, dy_desc))
CUDNN_ROW(cnn, cudnnConvolutionBackwardFilter,
    (ws_cudnnHandle handle, ws_cudnnPointer alpha, ws_cudnnDescriptor x_desc, ws_cudnnPointer x,
     ws_cudnnDescriptor dy_desc, ws_cudnnPointer dy, ws_cudnnDescriptor convolution, ws_cudnnEnum algorithm,
     void *workspace, size_t workspace_bytes, ws_cudnnPointer beta, ws_cudnnDescriptor dw_desc, void *dw),
    (handle, alpha, x_desc, x, dy_desc, dy, convolution, algorithm, workspace, workspace_bytes, beta, dw_desc, dw),
    CONVOLUTION(x_desc, dw_desc, dy_desc))
/* clang-format on */
#undef CUDNN_FOLLOWED
#undef CUDNN_ROW
