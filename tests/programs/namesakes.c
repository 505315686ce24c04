/* Different kernels that the shim may mix up. They have the same name and parameter blocks of the same size, as in
 * programs that compile kernels at run time, or they have the same handle. The array of each launch's parameters ends
 * just before an unreadable page, so reading one parameter too many faults. */
#include <sys/mman.h>

#include "program.h"

#define IMAGE(parameters) \
    ".version 6.0\n.target sm_52\n.address_size 64\n.visible .entry spin(\n" parameters "\n)\n{\nret;\n}\n"

static void **last_words(size_t count)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED || mprotect(pages + page, page, PROT_NONE))
        _exit(91);
    return (void **)(pages + page) - count;
}

static void launch(const struct gpu *gpu, const char *image, size_t count)
{
    ws_CUmodule module;
    ws_CUfunction function;
    uint64_t values[2] = { 1000, 1000 };
    void **parameters = last_words(count);
    for (size_t i = 0; i < count; i++)
        parameters[i] = &values[i];
    MUST(cuModuleLoadData(&module, image));
    MUST(cuModuleGetFunction(&function, module, "spin"));
    for (int i = 0; i < 3; i++)
        TRY(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, gpu->stream, parameters, NULL));
    TRY(cuStreamSynchronize(gpu->stream));
}

/* The driver may give a new kernel the handle of a kernel that was destroyed with its context. */
static void in_another_context(struct gpu *gpu, const char *image, size_t count)
{
    ws_CUcontext context;
    struct gpu other = *gpu;
    MUST(cuCtxCreate_v2(&context, 0, gpu->device));
    MUST(cuStreamCreate(&other.stream, WS_CU_STREAM_NON_BLOCKING));
    launch(&other, image, count);
    MUST(cuCtxDestroy_v2(context));
}

/* Gets a kernel by enumeration, not by name, and passes its handle to cuLaunchKernel as a CUfunction. */
static void from_library(const struct gpu *gpu, const char *image)
{
    ws_CUlibrary library;
    ws_CUkernel kernels[2] = { NULL, NULL };
    uint64_t values[2] = { 1000, 1000 };
    void *parameters[] = { &values[0], &values[1] };
    MUST(cuLibraryLoadData(&library, image, NULL, NULL, 0, NULL, NULL, 0));
    MUST(cuLibraryEnumerateKernels(kernels, 2, library));
    for (int i = 0; i < 6; i++)
        TRY(cuLaunchKernel((ws_CUfunction)kernels[0], 1, 1, 1, 32, 1, 1, 0, gpu->stream, parameters, NULL));
    TRY(cuStreamSynchronize(gpu->stream));
}

int main(int argc, char **argv)
{
    static const char two[] = IMAGE(".param .u64 spin_param_0,\n.param .u64 spin_param_1");
    static const char one[] = IMAGE(".param .align 8 .b8 spin_param_0[16]");
    struct gpu gpu;
    gpu_open(&gpu, 0);
    if (!strcmp(mode_of(argc, argv), "contexts")) {
        in_another_context(&gpu, two, 2);
        in_another_context(&gpu, one, 1);
    } else if (!strcmp(mode_of(argc, argv), "library")) {
        from_library(&gpu, two);
    } else {
        launch(&gpu, two, 2);
        launch(&gpu, one, 1);
    }
    return 0;
}
