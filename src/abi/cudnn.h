/* The part of cuDNN's binary interface that wallshim uses. See abi/cuda.h for the conventions.
 *
 * Source: cudnn_graph.h, cudnn_ops.h and cudnn_cnn.h of cuDNN 9.19. */
#ifndef WALLSHIM_ABI_CUDNN_H
#define WALLSHIM_ABI_CUDNN_H

#include <stddef.h>
#include <stdint.h>

#define WS_CUDNN_VALUES(X)                                                \
    X(CUDNN_STATUS_SUCCESS, 0)                                            \
    X(CUDNN_STATUS_NOT_INITIALIZED, 1001)                                 \
    X(CUDNN_STATUS_BAD_PARAM, 2000)                                       \
    X(CUDNN_STATUS_NOT_SUPPORTED, 3000)                                   \
    X(CUDNN_DATA_FLOAT, 0)                                                \
    X(CUDNN_DATA_DOUBLE, 1)                                               \
    X(CUDNN_DATA_HALF, 2)                                                 \
    X(CUDNN_DATA_INT8, 3)                                                 \
    X(CUDNN_DATA_INT32, 4)                                                \
    X(CUDNN_DATA_UINT8, 6)                                                \
    X(CUDNN_DATA_BFLOAT16, 9)                                             \
    X(CUDNN_DATA_INT64, 10)                                               \
    X(CUDNN_DATA_BOOLEAN, 11)                                             \
    X(CUDNN_DATA_FP8_E4M3, 12)                                            \
    X(CUDNN_DATA_FP8_E5M2, 13)                                            \
    X(CUDNN_TENSOR_NCHW, 0)                                               \
    X(CUDNN_CROSS_CORRELATION, 1)                                         \
    X(CUDNN_POINTWISE_RELU_FWD, 100)                                      \
    X(CUDNN_POINTWISE_GEN_INDEX, 501)                                     \
    X(CUDNN_TYPE_DATA_TYPE, 1)                                            \
    X(CUDNN_TYPE_BOOLEAN, 2)                                              \
    X(CUDNN_TYPE_INT64, 3)                                                \
    X(CUDNN_TYPE_POINTWISE_MODE, 14)                                      \
    X(CUDNN_TYPE_BACKEND_DESCRIPTOR, 15)                                  \
    X(CUDNN_BACKEND_POINTWISE_DESCRIPTOR, 0)                              \
    X(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, 1)                            \
    X(CUDNN_BACKEND_ENGINE_DESCRIPTOR, 2)                                 \
    X(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, 3)                              \
    X(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, 4)                             \
    X(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, 5)                         \
    X(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR, 10)         \
    X(CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR, 11) \
    X(CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR, 12)   \
    X(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, 13)                   \
    X(CUDNN_BACKEND_OPERATION_GEN_STATS_DESCRIPTOR, 14)                   \
    X(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, 15)                        \
    X(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, 16)                          \
    X(CUDNN_BACKEND_TENSOR_DESCRIPTOR, 17)                                \
    X(CUDNN_BACKEND_MATMUL_DESCRIPTOR, 18)                                \
    X(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR, 19)                      \
    X(CUDNN_BACKEND_OPERATION_BN_FINALIZE_STATISTICS_DESCRIPTOR, 20)      \
    X(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR, 22)                   \
    X(CUDNN_BACKEND_OPERATION_BN_BWD_WEIGHTS_DESCRIPTOR, 23)              \
    X(CUDNN_BACKEND_OPERATION_RESAMPLE_FWD_DESCRIPTOR, 25)                \
    X(CUDNN_BACKEND_OPERATION_RESAMPLE_BWD_DESCRIPTOR, 26)                \
    X(CUDNN_BACKEND_OPERATION_CONCAT_DESCRIPTOR, 27)                      \
    X(CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR, 29)                \
    X(CUDNN_BACKEND_OPERATION_NORM_BACKWARD_DESCRIPTOR, 30)               \
    X(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR, 31)                     \
    X(CUDNN_BACKEND_OPERATION_RNG_DESCRIPTOR, 33)                         \
    X(CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR, 41)                    \
    X(CUDNN_BACKEND_OPERATION_SDPA_BWD_DESCRIPTOR, 43)                    \
    X(CUDNN_ATTR_POINTWISE_MODE, 0)                                       \
    X(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, 100)                              \
    X(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, 201)                         \
    X(CUDNN_ATTR_ENGINEHEUR_RESULTS, 202)                                 \
    X(CUDNN_ATTR_ENGINECFG_ENGINE, 300)                                   \
    X(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, 401)                       \
    X(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, 702)            \
    X(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, 703)                    \
    X(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, 704)                    \
    X(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, 705)                    \
    X(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, 708)           \
    X(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, 709)                   \
    X(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, 710)                  \
    X(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY, 711)                  \
    X(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC, 714)         \
    X(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW, 715)                \
    X(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X, 716)                 \
    X(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY, 717)                \
    X(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, 750)                  \
    X(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, 751)                          \
    X(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, 752)                          \
    X(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, 753)                          \
    X(CUDNN_ATTR_OPERATIONGRAPH_OPS, 801)                                 \
    X(CUDNN_ATTR_TENSOR_DATA_TYPE, 901)                                   \
    X(CUDNN_ATTR_TENSOR_DIMENSIONS, 902)                                  \
    X(CUDNN_ATTR_TENSOR_VECTOR_COUNT, 904)                                \
    X(CUDNN_ATTR_TENSOR_UNIQUE_ID, 906)                                   \
    X(CUDNN_ATTR_TENSOR_IS_VIRTUAL, 907)                                  \
    X(CUDNN_ATTR_TENSOR_IS_BY_VALUE, 908)                                 \
    X(CUDNN_ATTR_TENSOR_RAGGED_OFFSET_DESC, 913)                          \
    X(CUDNN_ATTR_VARIANT_PACK_OVERRIDE_SHAPES, 1011)                      \
    X(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, 1300)                            \
    X(CUDNN_ATTR_MATMUL_COMP_TYPE, 1500)                                  \
    X(CUDNN_ATTR_OPERATION_MATMUL_ADESC, 1520)                            \
    X(CUDNN_ATTR_OPERATION_MATMUL_BDESC, 1521)                            \
    X(CUDNN_ATTR_OPERATION_MATMUL_CDESC, 1522)                            \
    X(CUDNN_ATTR_OPERATION_MATMUL_DESC, 1523)                             \
    X(CUDNN_ATTR_OPERATION_MATMUL_GEMM_M_OVERRIDE_DESC, 1525)             \
    X(CUDNN_ATTR_OPERATION_MATMUL_GEMM_N_OVERRIDE_DESC, 1526)             \
    X(CUDNN_ATTR_OPERATION_MATMUL_GEMM_K_OVERRIDE_DESC, 1527)             \
    X(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, 1610)                         \
    X(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, 1611)                         \
    X(CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC, 2800)                          \
    X(CUDNN_ATTR_OPERATION_SDPA_FWD_KDESC, 2801)                          \
    X(CUDNN_ATTR_OPERATION_SDPA_FWD_VDESC, 2802)                          \
    X(CUDNN_ATTR_OPERATION_SDPA_FWD_ODESC, 2803)                          \
    X(CUDNN_ATTR_OPERATION_SDPA_FWD_PAGE_TABLE_KDESC, 2807)               \
    X(CUDNN_ATTR_OPERATION_SDPA_FWD_PAGE_TABLE_VDESC, 2808)               \
    X(CUDNN_ATTR_OPERATION_SDPA_BWD_QDESC, 2851)                          \
    X(CUDNN_ATTR_OPERATION_SDPA_BWD_KDESC, 2852)                          \
    X(CUDNN_ATTR_OPERATION_SDPA_BWD_VDESC, 2853)                          \
    X(CUDNN_ATTR_OPERATION_SDPA_BWD_DODDESC, 2862)

enum {
#define X(name, value) WS_##name = (value),
    WS_CUDNN_VALUES(X)
#undef X
};

enum { WS_CUDNN_DIM_MAX = 8 };
enum { WS_CUDNN_8_STATUS_NOT_INITIALIZED = 1 }; /* this error's value in cuDNN 8; in cuDNN 9 it has another value */

typedef int ws_cudnnStatus;
typedef int ws_cudnnEnum; /* data types, algorithms, attributes: all enumerations are int-sized */
typedef void *ws_cudnnHandle;
typedef const void *ws_cudnnPointer;
typedef void *ws_cudnnBackendDescriptor;
typedef const void *ws_cudnnDescriptor; /* in the legacy API: a descriptor of a tensor, a filter or a convolution */

#endif
