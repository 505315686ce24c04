/* A library that is linked with the driver. around.c loads it in ways in which its driver calls bypass a preloaded
 * library. */
#include "program.h"

int client_run(void);

int client_run(void)
{
    struct gpu gpu;
    gpu_open(&gpu, 0);
    int refused = spin_times(&gpu, 20, 5000);
    TRY(cuStreamSynchronize(gpu.stream));
    return refused;
}
