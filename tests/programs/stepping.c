/* Makes steps in a loop for SECONDS: each step copies its input, runs three kernels of 2 ms on the simulated GPU, and
 * waits for them. fork: forks a child after each step. pthread_exit, _exit: ends in this way while the profiler's
 * threads are at work. second: uses the second device.
 *
 *     stepping SECONDS [fork|pthread_exit|_exit|second] */
#include <pthread.h>
#include <sys/wait.h>
#include <time.h>

#include "program.h"

enum { KERNEL_NS = 2000000, KERNELS = 3 };

static struct gpu gpu;
static ws_CUdeviceptr input;
static char batch[4096];

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void step(void)
{
    MUST(cuMemcpyHtoDAsync_v2(input, batch, sizeof(batch), gpu.stream));
    for (int i = 0; i < KERNELS; i++)
        MUST(spin(gpu.spin, gpu.stream, KERNEL_NS));
    MUST(cuStreamSynchronize(gpu.stream));
}

/* A forked child that calls no exec can use neither the driver nor the shim. But it must be able to end. */
static void fork_once(void)
{
    int status = 1;
    pid_t child = fork();
    if (!child)
        exit(7);
    waitpid(child, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 7)
        _exit(92);
}

int main(int argc, char **argv)
{
    double length = argc > 1 ? atof(argv[1]) : 1;
    const char *mode = argc > 2 ? argv[2] : "";
    gpu_open(&gpu, strcmp(mode, "second") ? 0 : 1);
    MUST(cuMemAlloc_v2(&input, sizeof(batch)));
    for (double begin = seconds(); seconds() - begin < length;) {
        step();
        if (!strcmp(mode, "fork"))
            fork_once();
    }
    puts("done");
    fflush(stdout);
    if (!strcmp(mode, "pthread_exit"))
        pthread_exit(NULL);
    if (!strcmp(mode, "_exit"))
        _exit(0);
    return 0;
}
