/* A kernel's name in a word or two: what a person would call it. */
#ifndef WALLSHIM_ANALYSIS_LABEL_H
#define WALLSHIM_ANALYSIS_LABEL_H

#include <stddef.h>

/* "gelu" for TensorIterator's wrapper around GeluCUDAKernelImpl, "vectorized_layer_norm" for
 * at::native::vectorized_layer_norm_kernel<…>(…), mangled or not. Cut to fit; never empty unless the name is. */
void ws_kernel_label(char *text, size_t capacity, const char *name);

#endif
