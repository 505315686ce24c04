/* Finds out which GEMM a call of cublasLtMatmul computes, from the descriptors that are passed to the call. */
#ifndef WALLSHIM_SHIM_LIBRARIES_CUBLAS_LT_H
#define WALLSHIM_SHIM_LIBRARIES_CUBLAS_LT_H

#include <stdbool.h>

#include "abi/cublas.h"
#include "shim/objects/thread.h"

/* The library's functions that get an attribute of a layout or of a descriptor. */
typedef ws_cublasStatus cublas_get_attribute(const void *of, ws_cublasEnum which, void *value, size_t size,
                                             size_t *written);

/* How to read cublasLtMatmul's descriptors, in one version of the library. Several threads may fill this structure at
 * the same time with the same values, while other threads read it. */
struct lt_library {
    cublas_get_attribute *of_layout, *of_desc; /* NULL: not found */
    bool in_words; /* a descriptor's first LT_DESC_WORDS words contain compute type and epilogue */
};

/* Fills *library. real: the library's cublasLtMatmul. */
void lt_find_library(struct lt_library *library, const void *real);

/* The label of a call of cublasLtMatmul; NULL, or a label without inputs, if the call's GEMM is not known. */
const struct call_label *lt_gemm_label(struct shim_thread *thread, const struct lt_library *library,
                                       const ws_cublasLtMatmulDesc *desc, const ws_cublasLtMatrixLayout *a,
                                       const ws_cublasLtMatrixLayout *b, const ws_cublasLtMatrixLayout *d);

#endif
