/* Kernels: their dictionary ids, found by the handle that a launch names, and the layouts of their parameter blocks.
 *
 * A launch may name a CUfunction, or a CUkernel cast to CUfunction. The kernel's name comes from the driver (12.3 and
 * later), or from the call that looked the function up. Handles are forgotten when their module is unloaded. When a
 * context goes, all handles become doubtful: what they mean is asked anew. */
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
    uint32_t image_words; /* so many 8-byte words from the block's start go into the image of structures */
    struct function_param params[];
};

/* A look-up by name found the function. module: what the function belongs to (a module or library). */
void function_named(const void *function, bool is_kernel, const void *module, const char *name);

/* cuKernelGetFunction gave this function: it has the kernel's name and library. */
void function_same_as(const void *function, const void *kernel);

/* The function's dictionary id, made if need be; 0 when there is no room. Asks the driver the first time. */
uint32_t function_find(ws_CUfunction function);

/* The layout of the function with this dictionary id; never NULL. */
const struct function_layout *function_layout(uint32_t id);

void functions_forget_module(const void *module);

/* A context is gone, and with it its modules: their handles may come to mean other functions. */
void functions_doubt(void);

#endif
