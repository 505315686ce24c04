/* A program with a cuInit of its own, which counts the calls and passes them on to the next cuInit. */
#include <dlfcn.h>

#include "program.h"

static int calls;

ws_CUresult cuInit(unsigned flags)
{
    ws_CUresult (*next)(unsigned) = (ws_CUresult(*)(unsigned))dlsym(RTLD_NEXT, "cuInit");
    calls++;
    if (next == cuInit || !next) {
        dprintf(STDOUT_FILENO, "the next cuInit is %s\n", next ? "our own" : "NULL");
        _exit(1);
    }
    return next(flags);
}

int main(void)
{
    struct gpu gpu;
    gpu_open(&gpu, 0);
    dprintf(STDOUT_FILENO, "refused: %d\n", spin_times(&gpu, 20, 5000));
    TRY(cuStreamSynchronize(gpu.stream));
    dprintf(STDOUT_FILENO, "own cuInit called: %d\n", calls);
    return 0;
}
