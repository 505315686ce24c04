/* Reads the element types that plain or mangled kernel names contain as template arguments and as parameters of
 * lambdas. */
#ifndef WALLSHIM_ANALYSIS_COST_KERNEL_TYPES_H
#define WALLSHIM_ANALYSIS_COST_KERNEL_TYPES_H

#include <stdbool.h>
#include <stdint.h>

#include "model/tensors.h"

enum { WS_KERNEL_TYPES = 8 };

struct ws_kernel_type {
    uint32_t bytes; /* size of an element; 0: not a type of elements, for example a number */
    enum ws_element element;
};

/* Reads a list of types. `list` points to the character after < or ( in a plain name, or after I or Ul in a mangled
 * name. Returns the number of types, at most WS_KERNEL_TYPES. Stops at the first type that it cannot read. */
uint32_t ws_kernel_types(const char *list, bool mangled, struct ws_kernel_type types[WS_KERNEL_TYPES]);

#endif
