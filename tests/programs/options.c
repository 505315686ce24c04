/* Launches for tests of the shim's options: options COUNT [range|full|burst] [ANYTHING…]. With "range", the middle
 * third of the launches is between cuProfilerStart and cuProfilerStop. With "full", no file can grow during the
 * middle third of the launches, as on a full disk. With "burst", the program waits for its launches only at the
 * end. */
#include <sys/resource.h>
#include <time.h>

#include "program.h"

/* Forbids or allows files to grow, after a pause in which the shim writes the records of earlier launches. */
static void let_files_grow(bool may)
{
    struct timespec pause = { 0, 600000000 };
    struct rlimit limit;
    nanosleep(&pause, NULL);
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = may ? limit.rlim_max : 1;
    setrlimit(RLIMIT_FSIZE, &limit);
}

int main(int argc, char **argv)
{
    struct gpu gpu;
    int count = argc > 1 ? atoi(argv[1]) : 100;
    bool range = argc > 2 && !strcmp(argv[2], "range");
    bool full = argc > 2 && !strcmp(argv[2], "full");
    bool burst = argc > 2 && !strcmp(argv[2], "burst");
    gpu_open(&gpu, 0);
    dprintf(STDOUT_FILENO, "pid %d\n", (int)getpid());
    for (int i = 0; i < count; i++) {
        if (range && i == count / 3)
            MUST(cuProfilerStart());
        if (range && i == count / 3 * 2)
            MUST(cuProfilerStop());
        if (full && (i == count / 3 || i == count / 3 * 2))
            let_files_grow(i != count / 3);
        spin(gpu.spin, gpu.stream, 1000 + (uint64_t)(i % 5) * 100);
        if (i % 100 == 99 && !burst)
            MUST(cuStreamSynchronize(gpu.stream));
    }
    MUST(cuStreamSynchronize(gpu.stream));
    return 0;
}
