/* A program whose driver calls pass through a layer: a preloaded library that defines some of the driver's functions
 * itself (libraries/layer.c). The first argument is the way in which the program finds the driver: by "plain"
 * linking, or by dlsym with a "handle", with RTLD_DEFAULT ("default") or with RTLD_NEXT ("next"). */
#include <dlfcn.h>

#include "program.h"

#define USED(X)                                                                                     \
    X(cuInit, (unsigned flags))                                                                     \
    X(cuDeviceGet, (ws_CUdevice * device, int ordinal))                                             \
    X(cuDevicePrimaryCtxRetain, (ws_CUcontext * context, ws_CUdevice device))                       \
    X(cuCtxSetCurrent, (ws_CUcontext context))                                                      \
    X(cuModuleLoadData, (ws_CUmodule * module, const void *image))                                  \
    X(cuModuleGetFunction, (ws_CUfunction * function, ws_CUmodule module, const char *name))        \
    X(cuStreamCreate, (ws_CUstream * stream, unsigned flags))                                       \
    X(cuStreamSynchronize, (ws_CUstream stream))                                                    \
    X(cuLaunchKernel,                                                                               \
      (ws_CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, \
       unsigned block_y, unsigned block_z, unsigned shared, ws_CUstream stream, void **parameters, void **extra))

static struct {
#define POINTER(name, parameters) ws_CUresult(*name) parameters;
    USED(POINTER)
#undef POINTER
} cuda;

static bool find(const char *way)
{
    void *from = !strcmp(way, "handle")    ? dlopen("libcuda.so.1", RTLD_NOW)
                 : !strcmp(way, "default") ? RTLD_DEFAULT
                                           : RTLD_NEXT;
#if LINKED
    if (!strcmp(way, "plain")) {
#define LINK(name, parameters) cuda.name = name;
        USED(LINK)
#undef LINK
        return true;
    }
#endif
    bool all = true;
#define FIND(name, parameters)                                 \
    cuda.name = (ws_CUresult(*) parameters)dlsym(from, #name); \
    if (!cuda.name)                                            \
        dprintf(STDOUT_FILENO, "%s: not found\n", #name), all = false;
    USED(FIND)
#undef FIND
    return all;
}

int main(int argc, char **argv)
{
    ws_CUdevice device;
    ws_CUcontext context;
    ws_CUmodule module;
    ws_CUfunction kernel;
    ws_CUstream stream;
    uint64_t ns = 2000;
    void *parameters[] = { &ns };
    if (!find(mode_of(argc, argv)))
        return 1;
    MUST(cuda.cuInit(0));
    MUST(cuda.cuDeviceGet(&device, 0));
    MUST(cuda.cuDevicePrimaryCtxRetain(&context, device));
    MUST(cuda.cuCtxSetCurrent(context));
    MUST(cuda.cuModuleLoadData(&module, SPIN_IMAGE));
    MUST(cuda.cuModuleGetFunction(&kernel, module, "spin"));
    MUST(cuda.cuStreamCreate(&stream, WS_CU_STREAM_NON_BLOCKING));
    for (int i = 0; i < 20; i++)
        MUST(cuda.cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, stream, parameters, NULL));
    TRY(cuda.cuStreamSynchronize(stream));
    int (*launches)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "layer_launches");
    dprintf(STDOUT_FILENO, "launches that the layer saw: %d\n", launches ? launches() : -2);
    return 0;
}
