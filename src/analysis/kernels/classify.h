/* Classes of kernels. The class depends only on the kernel's name, mangled or not. */
#ifndef WALLSHIM_ANALYSIS_KERNELS_CLASSIFY_H
#define WALLSHIM_ANALYSIS_KERNELS_CLASSIFY_H

#include <stdbool.h>
#include <stdint.h>

#include "report/analysis.h"

enum ws_kernel_class {
    WS_CLASS_OTHER,
    WS_CLASS_GEMM,
    WS_CLASS_CONV,
    WS_CLASS_ATTENTION,
    WS_CLASS_POINTWISE,
    WS_CLASS_REDUCTION,
    WS_CLASS_NORM,
    WS_CLASS_SOFTMAX,
    WS_CLASS_EMBEDDING,
    WS_CLASS_OPTIMIZER,
    WS_CLASS_COPY,
    WS_CLASS_COMM,
    WS_CLASS_SORT,
    WS_CLASS_RNG,
    WS_CLASS_COUNT
};

enum ws_kernel_class ws_classify(const char *name);

const char *ws_kernel_class_name(uint32_t kernel_class);

/* The class of the operation name with the index `name` in ws_model.names. */
static inline enum ws_kernel_class ws_report_class(const struct ws_report *report, size_t name)
{
    return (enum ws_kernel_class)report->classes[name];
}

/* The class of a name. struct ws_analyses.class_of points to this function. */
uint8_t ws_class_of_name(const struct ws_op_name *name);

/* Does the name of a matrix kernel tell that the kernel does few FLOPs per byte? This holds for attention in a decode
 * step, which reads all keys of a request for one query. It also holds for depthwise convolutions, which use each
 * element of the input only once for each element of a small filter. With a filter of 3 × 3, a convolution does 18
 * FLOPs per element of the input. */
bool ws_name_moves_much(const char *name, enum ws_kernel_class kernel_class);

/* Do kernels of this class multiply matrices (GEMM, convolution, attention)? Tensor cores can run these kernels. */
static inline bool ws_class_is_matmul(enum ws_kernel_class class)
{
    return class == WS_CLASS_GEMM || class == WS_CLASS_CONV || class == WS_CLASS_ATTENTION;
}

#endif
