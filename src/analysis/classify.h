/* What a kernel does, judged by its name alone, mangled or not. */
#ifndef WALLSHIM_ANALYSIS_CLASSIFY_H
#define WALLSHIM_ANALYSIS_CLASSIFY_H

#include <stdbool.h>
#include <stdint.h>

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

/* Does the kernel move data between devices? Also decides what counts as communication time. */
bool ws_is_comm(const char *name);

const char *ws_kernel_class_name(uint32_t kernel_class);

/* Matrix work, what tensor cores are for. */
static inline bool ws_class_is_matmul(enum ws_kernel_class class)
{
    return class == WS_CLASS_GEMM || class == WS_CLASS_CONV || class == WS_CLASS_ATTENTION;
}

#endif
