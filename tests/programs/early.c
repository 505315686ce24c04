/* A program that uses CUDA before main. EARLY=library: a library with which the program is linked uses CUDA in its
 * constructor. EARLY=preinit: the program itself uses CUDA before the constructors of all libraries. */
#include "program.h"

int early_launches(void);

static struct gpu gpu;

static void before_all(int argc, char **argv, char **variables)
{
    (void)argc;
    (void)argv;
    for (; *variables; variables++)
        if (!strcmp(*variables, "EARLY=preinit")) {
            gpu_open(&gpu, 0);
            TRY(cuProfilerStart());
            dprintf(STDOUT_FILENO, "refused: %d\n", spin_times(&gpu, 20, 2000));
            TRY(cuStreamSynchronize(gpu.stream));
        }
}

__attribute__((section(".preinit_array"), used)) static void (*const preinit)(int, char **, char **) = before_all;

int main(void)
{
    dprintf(STDOUT_FILENO, "launches before main: %d\n", early_launches());
    if (!gpu.context)
        gpu_open(&gpu, 0);
    dprintf(STDOUT_FILENO, "refused: %d\n", spin_times(&gpu, 20, 2000));
    TRY(cuStreamSynchronize(gpu.stream));
    return 0;
}
