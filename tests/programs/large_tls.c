/* A program with nearly a megabyte of thread-local storage, which every thread has on its stack. */
#include "program.h"

static __thread char large[1036000];

int main(void)
{
    struct gpu gpu;
    gpu_open(&gpu, 0);
    large[0] = 1;
    dprintf(STDOUT_FILENO, "refused: %d\n", spin_times(&gpu, 300, 2000));
    TRY(cuStreamSynchronize(gpu.stream));
    usleep(300000); /* gives the shim's threads time to work */
    dprintf(STDOUT_FILENO, "%d\n", large[0]);
    return 0;
}
