/* Finds two things: a kernel's dictionary id, by the handle that the program passes to a launch; and the layout of
 * the kernel's parameter block, by the dictionary id.
 *
 * A launch may name a CUfunction, or a CUkernel cast to CUfunction. The kernel's name comes from the driver (12.3 and
 * later), or from the call that looked the function up. Handles are forgotten when their module is unloaded. When a
 * context is destroyed, the driver may reuse handles of its functions. So all handles become doubtful: at the next
 * launch with a handle, the shim asks the driver again for the handle's function. */
#ifndef WALLSHIM_SHIM_OBJECTS_FUNCTIONS_H
#define WALLSHIM_SHIM_OBJECTS_FUNCTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/cuda.h"

struct function_param {
    uint16_t offset, size;
};

struct function_layout {
    uint32_t count;       /* number of parameters; 0: there are none, or they are not known */
    uint32_t image_words; /* how many 8-byte words from the start of the parameter block are kept as image
                             (param_image.h) */
    struct function_param params[];
};

/* Called when the program has looked the function up by name. module: the CUmodule or CUlibrary to which the function
 * belongs. */
void function_named(const void *function, bool is_kernel, const void *module, const char *name);

/* Called when cuKernelGetFunction returned this function: the function has the kernel's name and library. */
void function_same_as(const void *function, const void *kernel);

/* The function's dictionary id; 0: the dictionary has no room for it, or a lock was not free in time. The first call
 * asks the driver and adds the function. */
uint32_t function_find(ws_CUfunction function);

/* The layout of the function with this dictionary id; never NULL. */
const struct function_layout *function_layout(uint32_t id);

void functions_forget_module(const void *module);

/* Called when a context is gone, and its modules with it: the driver may reuse the handles of their functions for
 * other functions. */
void functions_doubt(void);

#endif
