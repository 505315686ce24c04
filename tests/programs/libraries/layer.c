/* A layer between a program and the driver, like libraries that divide a GPU among programs. The layer is preloaded
 * and has a dlsym of its own, which returns the layer's own functions for some driver functions. The environment
 * variable LAYER selects the dlsym to which it passes other look-ups:
 *
 *   next      the next dlsym after the layer's (dlvsym with RTLD_NEXT)
 *   default   the first dlsym of libc's version in the search order (dlvsym with RTLD_DEFAULT)
 *   libc      libc's own dlsym, even if other libraries define one
 *
 * The layer's dlsym also finds "layer_secret", a name that is in no symbol table. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "abi/cuda.h"

#if defined(__aarch64__)
#define OLD_VERSION "GLIBC_2.17"
#else
#define OLD_VERSION "GLIBC_2.2.5"
#endif

typedef void *(*dlsym_function)(void *, const char *);
typedef ws_CUresult (*init_function)(unsigned);
typedef ws_CUresult (*launch_function)(ws_CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                       unsigned, ws_CUstream, void **, void **);

ws_CUresult cuInit(unsigned flags);
ws_CUresult cuLaunchKernel(ws_CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                           unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared, ws_CUstream stream,
                           void **parameters, void **extra);
void *dlsym(void *restrict handle, const char *restrict name);
int layer_launches(void);

static int launches, inits;

static dlsym_function real_dlsym(void)
{
    static dlsym_function found;
    const char *way = getenv("LAYER");
    if (found)
        return found;
    void *from = way && !strcmp(way, "default") ? RTLD_DEFAULT
                 : way && !strcmp(way, "libc")  ? dlopen("libc.so.6", RTLD_NOW)
                                                : RTLD_NEXT;
    found = (dlsym_function)dlvsym(from, "dlsym", OLD_VERSION);
    if (!found)
        found = (dlsym_function)dlvsym(from, "dlsym", "GLIBC_2.34");
    return found;
}

static void *real(const char *name)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    return driver ? real_dlsym()(driver, name) : NULL;
}

ws_CUresult cuInit(unsigned flags)
{
    static init_function next;
    if (!next)
        next = (init_function)real("cuInit");
    inits++;
    return next(flags);
}

ws_CUresult cuLaunchKernel(ws_CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                           unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared, ws_CUstream stream,
                           void **parameters, void **extra)
{
    static launch_function next;
    if (!next)
        next = (launch_function)real("cuLaunchKernel");
    launches++;
    return next(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream, parameters, extra);
}

void *dlsym(void *restrict handle, const char *restrict name)
{
    if (handle != RTLD_NEXT && !strcmp(name, "cuInit"))
        return (void *)cuInit;
    if (handle != RTLD_NEXT && !strcmp(name, "cuLaunchKernel"))
        return (void *)cuLaunchKernel;
    if (!strcmp(name, "layer_secret"))
        return (void *)layer_launches;
    return real_dlsym()(handle, name);
}

int layer_launches(void)
{
    return inits ? launches : -1;
}
