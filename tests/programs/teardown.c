/* Contexts, streams and events are destroyed while work that uses them is in flight. Modules are unloaded, so that
 * the driver may give the handles of their functions to other kernels. */
#include <dlfcn.h>

#include "program.h"

static struct gpu gpu;

static void contexts(void)
{
    /* Makes contexts beside the primary context, and destroys each while its kernels run. The driver may give the
     * handle of a destroyed context to the next one. */
    for (int i = 0; i < 10; i++) {
        ws_CUcontext context;
        ws_CUmodule module;
        ws_CUfunction function;
        ws_CUstream stream;
        MUST(cuCtxCreate_v2(&context, 0, gpu.device));
        MUST(cuModuleLoadData(&module, SPIN_IMAGE));
        MUST(cuModuleGetFunction(&function, module, "spin"));
        MUST(cuStreamCreate(&stream, 0));
        for (int launch = 0; launch < 20; launch++)
            MUST(spin(function, stream, 20000));
        TRY(cuCtxDestroy_v2(context));
        MUST(cuCtxSetCurrent(gpu.context));
    }
}

static void resets(void)
{
    for (int i = 0; i < 5; i++) {
        dprintf(STDOUT_FILENO, "refused: %d\n", spin_times(&gpu, 50, 20000));
        TRY(cuDevicePrimaryCtxReset_v2(gpu.device));
        /* The reset ended the context, although it is still retained. So the driver makes a new context in this
         * call. */
        TRY(cuDevicePrimaryCtxRetain(&gpu.context, gpu.device));
        TRY(cuCtxSetCurrent(gpu.context));
        MUST(cuModuleLoadData(&gpu.module, SPIN_IMAGE));
        MUST(cuModuleGetFunction(&gpu.spin, gpu.module, "spin"));
        MUST(cuStreamCreate(&gpu.stream, 0));
    }
}

static void releases(void)
{
    for (int i = 0; i < 5; i++) {
        dprintf(STDOUT_FILENO, "refused: %d\n", spin_times(&gpu, 50, 20000));
        TRY(cuDevicePrimaryCtxRelease_v2(gpu.device));
        gpu_open(&gpu, 0);
    }
}

/* Resets a primary context that was retained by a call that the shim does not see, as the CUDA runtime retains it. */
static void resets_unseen(void)
{
    void *(*retain)(int) = (void *(*)(int))dlsym(RTLD_DEFAULT, "simgpuRetainPrimary");
    MUST(cuInit(0));
    MUST(cuDeviceGet(&gpu.device, 0));
    for (int i = 0; i < 5; i++) {
        gpu.context = retain(gpu.device);
        MUST(cuCtxSetCurrent(gpu.context));
        MUST(cuModuleLoadData(&gpu.module, SPIN_IMAGE));
        MUST(cuModuleGetFunction(&gpu.spin, gpu.module, "spin"));
        MUST(cuStreamCreate(&gpu.stream, WS_CU_STREAM_NON_BLOCKING));
        dprintf(STDOUT_FILENO, "refused: %d\n", spin_times(&gpu, 50, 20000));
        TRY(cuDevicePrimaryCtxReset_v2(gpu.device));
        usleep(30000);
    }
}

static void streams(void)
{
    for (int i = 0; i < 100; i++) {
        ws_CUstream stream;
        MUST(cuStreamCreate(&stream, i % 2));
        for (int launch = 0; launch < 5; launch++)
            MUST(spin(gpu.spin, stream, 20000));
        MUST(cuStreamDestroy_v2(stream));
    }
}

static void modules(void)
{
    /* After a module is unloaded, the driver is likely to give its function's handle to another kernel. */
    for (int i = 0; i < 50; i++) {
        ws_CUmodule module;
        ws_CUfunction function;
        MUST(cuModuleLoadData(&module, SPIN_IMAGE));
        MUST(cuModuleGetFunction(&function, module, "spin"));
        for (int launch = 0; launch < 3; launch++)
            MUST(spin(function, gpu.stream, 5000));
        MUST(cuStreamSynchronize(gpu.stream));
        MUST(cuModuleUnload(module));
    }
}

static void events(void)
{
    for (int i = 0; i < 200; i++) {
        ws_CUevent event;
        MUST(cuEventCreate(&event, 0));
        MUST(spin(gpu.spin, gpu.stream, 5000));
        MUST(cuEventRecord(event, gpu.stream));
        MUST(cuEventDestroy_v2(event));
    }
}

static void green_contexts(void)
{
    _Alignas(8) unsigned char resource[256];
    ws_CUdevResourceDesc description;
    for (int i = 0; i < 5; i++) {
        ws_CUgreenCtx green;
        ws_CUcontext converted;
        ws_CUstream stream;
        MUST(cuDeviceGetDevResource(gpu.device, resource, 1));
        MUST(cuDevResourceGenerateDesc(&description, resource, 1));
        MUST(cuGreenCtxCreate(&green, description, gpu.device, 1));
        MUST(cuGreenCtxStreamCreate(&stream, green, WS_CU_STREAM_NON_BLOCKING, 0));
        for (int launch = 0; launch < 20; launch++)
            MUST(spin(gpu.spin, stream, 20000));
        MUST(cuCtxFromGreenCtx(&converted, green));
        MUST(cuCtxSetCurrent(converted));
        for (int launch = 0; launch < 10; launch++)
            MUST(spin(gpu.spin, NULL, 20000));
        TRY(cuStreamSynchronize(NULL));
        /* The shim's thread must not make the green context current while it is current in this thread. */
        usleep(30000);
        MUST(cuCtxSetCurrent(gpu.context));
        usleep(30000);
        MUST(cuStreamDestroy_v2(stream));
        TRY(cuGreenCtxDestroy(green));
        usleep(30000);
    }
}

int main(int argc, char **argv)
{
    const char *mode = mode_of(argc, argv);
    if (!strcmp(mode, "reset-unseen")) {
        resets_unseen();
        return 0;
    }
    gpu_open(&gpu, 0);
    if (!strcmp(mode, "context"))
        contexts();
    else if (!strcmp(mode, "reset"))
        resets();
    else if (!strcmp(mode, "release"))
        releases();
    else if (!strcmp(mode, "stream"))
        streams();
    else if (!strcmp(mode, "module"))
        modules();
    else if (!strcmp(mode, "event"))
        events();
    else if (!strcmp(mode, "green"))
        green_contexts();
    else
        return unknown_mode(mode);
    TRY(spin(gpu.spin, gpu.stream, 1000));
    TRY(cuCtxSynchronize());
    return 0;
}
