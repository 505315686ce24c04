/* A signal handler calls CUDA while its thread waits inside a driver call. The handler begins a capture, ends a
 * context, ends the range that cuProfilerStart began, or makes another context current. The shim must take this into
 * account in later calls. */
#include <signal.h>
#include <sys/time.h>

#include "program.h"

static struct gpu gpu;
static ws_CUcontext other;
static ws_CUfunction other_spin;
static ws_CUstream captured;
static const char *mode;
static volatile int handled, failed;

static void note(ws_CUresult result)
{
    failed |= result != WS_CUDA_SUCCESS;
    handled++;
}

static void handle(int number)
{
    (void)number;
    if (!strcmp(mode, "profiler"))
        note(cuProfilerStop());
    else if (!strcmp(mode, "context"))
        note(cuCtxDestroy_v2(other));
    else if (!strcmp(mode, "reset"))
        note(cuDevicePrimaryCtxReset_v2(1));
    else if (!strcmp(mode, "capture"))
        note(cuStreamBeginCapture_v2(captured, 2));
    else if (!strcmp(mode, "current"))
        note(cuCtxSetCurrent(other));
}

/* Waits for 30 ms of work. The signal handler interrupts the wait. */
static void wait_with_handler(void)
{
    struct itimerval soon = { .it_value = { .tv_usec = 10000 } };
    MUST(spin(gpu.spin, gpu.stream, 30000000));
    setitimer(ITIMER_REAL, &soon, NULL);
    TRY(cuStreamSynchronize(gpu.stream));
    while (!handled)
        usleep(1000);
    dprintf(STDOUT_FILENO, "handled: %d, failed: %d\n", handled, failed);
}

/* Makes another context and runs some kernels in it. */
static void open_other(void)
{
    ws_CUmodule module;
    if (!strcmp(mode, "reset")) {
        MUST(cuDevicePrimaryCtxRetain(&other, 1));
        MUST(cuCtxSetCurrent(other));
    } else {
        MUST(cuCtxCreate_v2(&other, 0, gpu.device));
    }
    MUST(cuModuleLoadData(&module, SPIN_IMAGE));
    MUST(cuModuleGetFunction(&other_spin, module, "spin"));
    for (int i = 0; i < 10; i++)
        MUST(spin(other_spin, NULL, 2000));
    MUST(cuCtxSynchronize());
    MUST(cuCtxSetCurrent(gpu.context));
}

int main(int argc, char **argv)
{
    struct sigaction action = { .sa_handler = handle, .sa_flags = SA_RESTART };
    ws_CUgraph graph = NULL;
    mode = mode_of(argc, argv);
    gpu_open(&gpu, 0);
    MUST(cuStreamCreate(&captured, WS_CU_STREAM_NON_BLOCKING));
    sigaction(SIGALRM, &action, NULL);
    open_other();
    MUST(cuProfilerStart());
    dprintf(STDOUT_FILENO, "refused: %d\n", spin_times(&gpu, 9, 2000));
    MUST(spin(gpu.spin, captured, 2000));
    MUST(cuStreamSynchronize(captured));
    wait_with_handler();
    for (int i = 0; i < 10; i++)
        TRY(spin(!strcmp(mode, "current") ? other_spin : gpu.spin, !strcmp(mode, "current") ? NULL : captured, 2000));
    if (!strcmp(mode, "capture"))
        TRY(cuStreamEndCapture(captured, &graph));
    else if (!strcmp(mode, "current"))
        TRY(cuCtxSynchronize());
    else
        TRY(cuStreamSynchronize(captured));
    usleep(50000); /* gives the shim time to read its events */
    dprintf(STDOUT_FILENO, "graph: %s\n", graph ? "made" : "none");
    return 0;
}
