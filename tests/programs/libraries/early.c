/* A library that uses CUDA in its constructor, which runs before the constructors of preloaded libraries. */
#include "../program.h"

int early_launches(void);

static int launches;

__attribute__((constructor)) static void load(void)
{
    static struct gpu gpu;
    const char *when = getenv("EARLY");
    if (!when || strcmp(when, "library") != 0)
        return;
    gpu_open(&gpu, 0);
    TRY(cuProfilerStart());
    launches = 20 - spin_times(&gpu, 20, 2000);
    TRY(cuStreamSynchronize(gpu.stream));
}

int early_launches(void)
{
    return launches;
}
