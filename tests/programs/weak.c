/* A program that has a weak reference to a driver function, and runs on a machine without a driver. */
#include <dlfcn.h>

#include "program.h"

#pragma weak cuInit
#pragma weak cuDeviceGetCount

int main(void)
{
    /* With the shim the reference is not NULL, which is a documented limitation. In this case cuInit must return that
     * there is no device. */
    ws_CUresult result = cuInit ? cuInit(0) : WS_CUDA_ERROR_NO_DEVICE;
    dprintf(STDOUT_FILENO, "cuInit: %s\n", result == WS_CUDA_ERROR_NO_DEVICE ? "no device" : "something else");
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    dprintf(STDOUT_FILENO, "dlopen: %s\n", driver ? "opened" : dlerror());
    for (int i = 0; i < 2; i++)
        dprintf(STDOUT_FILENO, "RTLD_DEFAULT cuInit: %s\n", dlsym(RTLD_DEFAULT, "cuInit") ? "found" : "NULL");
    void *program = dlopen(NULL, RTLD_NOW);
    for (int i = 0; i < 2; i++)
        dprintf(STDOUT_FILENO, "program cuInit: %s\n", dlsym(program, "cuInit") ? "found" : "NULL");
    dprintf(STDOUT_FILENO, "RTLD_NEXT cuInit: %s\n", dlsym(RTLD_NEXT, "cuInit") ? "found" : "NULL");
    return 0;
}
