/* Kernels: from the handle that a launch names to a dictionary id, and the layout of its parameter block.
 *
 * A launch may name a CUfunction or a CUkernel cast to one. The name comes from the driver (12.3 and later) or from
 * the call that found the function. Handles are forgotten when their module goes, and in doubt when a context
 * goes. */
#ifndef WALLSHIM_SHIM_OBJECTS_FUNCTIONS_H
#define WALLSHIM_SHIM_OBJECTS_FUNCTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/cuda.h"

struct function_param {
    uint16_t offset, size;
};

struct function_layout {
    uint32_t count;       /* parameters; 0 where the driver cannot say */
    uint32_t image_words; /* of 8 bytes, from the block's start, that are worth an image of structures */
    struct function_param params[];
};

/* A look-up by name succeeded: module is what it belongs to (a module, library or kernel). */
void function_named(const void *function, bool is_kernel, const void *module, const char *name);

/* cuKernelGetFunction: the function has the kernel's name and library. */
void function_same_as(const void *function, const void *kernel);

/* The dictionary id, made if need be; 0 when there is no room. Asks the driver the first time. */
uint32_t function_find(ws_CUfunction function);

/* By dictionary id; never NULL for an id that function_find gave. */
const struct function_layout *function_layout(uint32_t id);

void functions_forget_module(const void *module);

/* A context is gone, and with it its modules: their handles may come to mean other functions. */
void functions_doubt(void);

#endif
