/* Stream capture in each mode. The program makes calls that are allowed during the capture and calls that are
 * forbidden, and prints the result of each. */
#include <pthread.h>

#include "program.h"

static struct gpu gpu;
static ws_CUevent recorded, fresh;
static ws_CUstream other;
static ws_CUfunction not_launched;

/* A second thread, which calls the driver while the first thread captures. relaxed: if not NULL, the second thread
 * sets its own capture mode to relaxed for its calls. */
static void *meanwhile(void *relaxed)
{
    MUST(cuCtxSetCurrent(gpu.context));
    int mode = WS_CU_STREAM_CAPTURE_MODE_RELAXED;
    if (relaxed)
        TRY(cuThreadExchangeStreamCaptureMode(&mode));
    ws_CUdeviceptr memory = 0;
    TRY(spin(gpu.spin, other, 1000));
    TRY(cuEventRecord(fresh, other));
    TRY(cuEventQuery(recorded));
    TRY(cuStreamSynchronize(other));
    if (TRY(cuMemAlloc_v2(&memory, 4096)) == WS_CUDA_SUCCESS)
        TRY(cuMemFree_v2(memory));
    if (relaxed)
        TRY(cuThreadExchangeStreamCaptureMode(&mode));
    return NULL;
}

static void in_thread(bool relaxed)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, meanwhile, relaxed ? &gpu : NULL) || pthread_join(thread, NULL))
        _exit(91);
}

static void status_of(ws_CUstream stream)
{
    int status = -1;
    TRY(cuStreamIsCapturing(stream, &status));
    dprintf(STDOUT_FILENO, "status: %d\n", status);
}

static void *launch_long(void *unused)
{
    (void)unused;
    MUST(cuCtxSetCurrent(gpu.context));
    uint64_t ns = 900000000;
    void *parameters[] = { &ns };
    /* This is the program's first launch with this grid. So if the shim reads hardware counters, it reads them for
     * this launch. */
    MUST(cuLaunchKernel(gpu.spin, 2, 1, 1, 32, 1, 1, 0, other, parameters, NULL));
    return NULL;
}

static void run_graph(ws_CUgraph graph)
{
    ws_CUgraphExec executable;
    if (TRY(cuGraphInstantiateWithFlags(&executable, graph, 0)) == WS_CUDA_SUCCESS) {
        for (int i = 0; i < 3; i++)
            TRY(cuGraphLaunch(executable, gpu.stream));
        TRY(cuStreamSynchronize(gpu.stream));
        TRY(cuGraphExecDestroy(executable));
    }
    TRY(cuGraphDestroy(graph));
}

static void end(void)
{
    ws_CUgraph graph = NULL;
    if (TRY(cuStreamEndCapture(gpu.stream, &graph)) == WS_CUDA_SUCCESS)
        run_graph(graph);
    status_of(gpu.stream);
}

static void fork_and_join(void)
{
    TRY(spin(gpu.spin, gpu.stream, 2000));
    TRY(cuEventRecord(fresh, gpu.stream));
    TRY(cuStreamWaitEvent(other, fresh, 0));
    TRY(spin(gpu.spin, other, 2000));
    TRY(cuEventRecord(recorded, other));
    TRY(cuStreamWaitEvent(gpu.stream, recorded, 0));
    TRY(spin(gpu.spin, gpu.stream, 2000));
}

/* A capture in threads that have not called the driver before. One thread begins the capture. In relaxed mode another
 * thread ends it, in other modes the same thread. */
static void *capture_here(void *mode)
{
    TRY(cuStreamBeginCapture_v2(gpu.stream, *(int *)mode));
    for (int i = 0; i < 5; i++)
        TRY(spin(gpu.spin, gpu.stream, 2000));
    return NULL;
}

static void *end_here(void *unused)
{
    (void)unused;
    ws_CUgraph graph = NULL;
    if (TRY(cuStreamEndCapture(gpu.stream, &graph)) == WS_CUDA_SUCCESS)
        TRY(cuGraphDestroy(graph));
    return NULL;
}

static void *capture_and_end_here(void *mode)
{
    capture_here(mode);
    return end_here(NULL);
}

static void run_thread(void *(*function)(void *), void *argument)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, function, argument) || pthread_join(thread, NULL))
        _exit(91);
}

static void capture_elsewhere(int mode)
{
    if (mode == WS_CU_STREAM_CAPTURE_MODE_RELAXED) {
        run_thread(capture_here, &mode);
        run_thread(end_here, NULL);
    } else {
        run_thread(capture_and_end_here, &mode);
    }
    TRY(spin(gpu.spin, gpu.stream, 2000));
    TRY(cuCtxSynchronize());
}

static int capture(const char *what)
{
    if (!strcmp(what, "launches")) {
        for (int i = 0; i < 5; i++)
            TRY(spin(gpu.spin, gpu.stream, 2000));
    } else if (!strcmp(what, "thread")) {
        TRY(spin(gpu.spin, gpu.stream, 2000));
        in_thread(false);
    } else if (!strcmp(what, "relaxed-thread")) {
        TRY(spin(gpu.spin, gpu.stream, 2000));
        in_thread(true);
    } else if (!strcmp(what, "streams")) {
        fork_and_join();
    } else if (!strcmp(what, "query")) {
        TRY(cuEventQuery(recorded));
    } else if (!strcmp(what, "synchronise")) {
        TRY(cuStreamSynchronize(gpu.stream));
        TRY(spin(gpu.spin, gpu.stream, 2000));
    } else if (!strcmp(what, "legacy")) {
        TRY(spin(gpu.spin, NULL, 2000));
        status_of(NULL);
    } else if (!strcmp(what, "new-kernel")) {
        TRY(spin(not_launched, gpu.stream, 2000));
    } else if (!strcmp(what, "unjoined")) {
        TRY(cuEventRecord(fresh, gpu.stream));
        TRY(cuStreamWaitEvent(other, fresh, 0));
        TRY(spin(gpu.spin, other, 2000));
    } else if (!strcmp(what, "captured-event")) {
        TRY(cuEventRecord(fresh, gpu.stream));
        TRY(cuEventQuery(fresh));
    } else if (!strcmp(what, "beside")) {
        TRY(spin(gpu.spin, gpu.stream, 2000));
        usleep(600000);
    } else if (!strcmp(what, "slow")) {
        /* Captures for 1.5 s, so that all periodic work of the shim's thread also happens during the capture. */
        for (int i = 0; i < 30; i++) {
            TRY(spin(gpu.spin, gpu.stream, 2000));
            usleep(50000);
        }
    } else {
        return unknown_mode(what);
    }
    return 0;
}

int main(int argc, char **argv)
{
    static const char *const modes[] = { "global", "thread-local", "relaxed" };
    int mode = 0;
    if (argc < 3)
        return unknown_mode("");
    while (mode < 3 && strcmp(argv[1], modes[mode]))
        mode++;
    if (mode == 3)
        return unknown_mode(argv[1]);
    gpu_open(&gpu, 0);
    MUST(cuStreamCreate(&other, !strcmp(argv[2], "legacy") ? 0 : WS_CU_STREAM_NON_BLOCKING));
    if (!strcmp(argv[2], "legacy")) {
        MUST(cuStreamDestroy_v2(gpu.stream));
        MUST(cuStreamCreate(&gpu.stream, 0));
    }
    ws_CUmodule module;
    MUST(cuModuleLoadData(&module, SPIN_IMAGE SPIN_ENTRY("spin_too")));
    MUST(cuModuleGetFunction(&not_launched, module, "spin_too"));
    MUST(cuEventCreate(&recorded, 0));
    MUST(cuEventCreate(&fresh, WS_CU_EVENT_DISABLE_TIMING));
    /* Launches before the capture, so that the shim has events to read while the capture is active. */
    dprintf(STDOUT_FILENO, "refused: %d\n", spin_times(&gpu, 50, 5000));
    MUST(cuEventRecord(recorded, gpu.stream));
    MUST(cuStreamSynchronize(gpu.stream));
    pthread_t beside;
    bool is_beside = !strcmp(argv[2], "beside");
    if (is_beside && pthread_create(&beside, NULL, launch_long, NULL))
        _exit(91);
    usleep(is_beside ? 100000 : 0);
    if (!strcmp(argv[2], "elsewhere")) {
        capture_elsewhere(mode);
        return 0;
    }
    TRY(cuStreamBeginCapture_v2(gpu.stream, mode));
    status_of(gpu.stream);
    int wrong = capture(argv[2]);
    status_of(gpu.stream);
    end();
    if (is_beside)
        pthread_join(beside, NULL);
    TRY(spin(gpu.spin, gpu.stream, 2000));
    TRY(cuCtxSynchronize());
    return wrong;
}
