/* Element types in the names of kernels, plain or mangled: template arguments and parameters of lambdas. */
#ifndef WALLSHIM_ANALYSIS_KERNEL_TYPES_H
#define WALLSHIM_ANALYSIS_KERNEL_TYPES_H

#include <stdbool.h>
#include <stdint.h>

#include "model/tensors.h"

enum { WS_KERNEL_TYPES = 8 };

struct ws_kernel_type {
    uint32_t bytes; /* 0: no element type, such as a number */
    enum ws_element element;
};

/* Reads a list that begins here: of a plain name behind its < or (, of a mangled one behind its I or Ul. Returns how
 * many there are, up to WS_KERNEL_TYPES and to the first that cannot be read. */
uint32_t ws_kernel_types(const char *list, bool mangled, struct ws_kernel_type types[WS_KERNEL_TYPES]);

#endif
