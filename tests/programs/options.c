/* Launches for tests of the shim's options: options COUNT [range] [ANYTHING…]. With "range" the middle third is
 * between cuProfilerStart and cuProfilerStop. */
#include "program.h"

int main(int argc, char **argv)
{
    struct gpu gpu;
    int count = argc > 1 ? atoi(argv[1]) : 100;
    bool range = argc > 2 && !strcmp(argv[2], "range");
    gpu_open(&gpu, 0);
    dprintf(STDOUT_FILENO, "pid %d\n", (int)getpid());
    for (int i = 0; i < count; i++) {
        if (range && i == count / 3)
            MUST(cuProfilerStart());
        if (range && i == count / 3 * 2)
            MUST(cuProfilerStop());
        spin(gpu.spin, gpu.stream, 1000 + (uint64_t)(i % 5) * 100);
        if (i % 100 == 99)
            MUST(cuStreamSynchronize(gpu.stream));
    }
    MUST(cuStreamSynchronize(gpu.stream));
    return 0;
}
