/* What cublasLtMatmul is given. */
#ifndef WALLSHIM_SHIM_LIBRARIES_CUBLAS_LT_H
#define WALLSHIM_SHIM_LIBRARIES_CUBLAS_LT_H

#include <stdbool.h>

#include "abi/cublas.h"
#include "shim/objects/thread.h"

/* Attributes of layouts and of descriptors, asked of the library itself. */
typedef ws_cublasStatus cublas_get_attribute(const void *of, ws_cublasEnum which, void *value, size_t size,
                                             size_t *written);

/* What cublasLtMatmul's descriptors mean to one version of the library. Threads that come first at once may each fill
 * it with the same values, while others read. */
struct lt_library {
    cublas_get_attribute *of_layout, *of_desc; /* NULL: not there */
    bool in_words;                             /* what matters of a descriptor is in its first LT_DESC_WORDS words */
};

/* real: its cublasLtMatmul. */
void lt_find_library(struct lt_library *library, const void *real);

/* The label of such a call; NULL where it is not understood. */
const struct call_label *lt_gemm_label(struct shim_thread *thread, const struct lt_library *library,
                                       const ws_cublasLtMatmulDesc *desc, const ws_cublasLtMatrixLayout *a,
                                       const ws_cublasLtMatrixLayout *b, const ws_cublasLtMatrixLayout *d);

#endif
