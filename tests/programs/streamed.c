/* Launches at an even pace, for tests of the collector (the process that receives the traces of many programs):
 * streamed COUNT MILLISECONDS [killed]. COUNT launches are spread over MILLISECONDS. With "killed", the program ends
 * by SIGKILL half a second after that. */
#include <signal.h>
#include <time.h>

#include "program.h"

enum { BATCHES = 200 };

int main(int argc, char **argv)
{
    struct gpu gpu;
    int count = argc > 1 ? atoi(argv[1]) : 1000;
    long long pause_ns = (argc > 2 ? atoll(argv[2]) : 0) * 1000000 / BATCHES;
    gpu_open(&gpu, 0);
    for (int batch = 0; batch < BATCHES; batch++) {
        const struct timespec pause = { pause_ns / 1000000000, pause_ns % 1000000000 };
        int launches = count / BATCHES + (batch < count % BATCHES);
        /* Kernels of many lengths, so that their times compress badly and the trace is large. */
        for (int i = 0; i < launches; i++)
            spin(gpu.spin, gpu.stream, 100 + (uint64_t)i * 7919 % 1000);
        MUST(cuStreamSynchronize(gpu.stream));
        nanosleep(&pause, NULL);
    }
    dprintf(STDOUT_FILENO, "launched %d\n", count);
    if (argc > 3 && !strcmp(argv[3], "killed")) {
        usleep(500000);
        kill(getpid(), SIGKILL);
    }
    return 0;
}
