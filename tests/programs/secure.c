/* Prints whether it runs with more rights than its user has. A test makes it set-user-ID. */
#include <sys/auxv.h>

#include "program.h"

int main(void)
{
    struct gpu gpu;
    dprintf(STDOUT_FILENO, "more rights: %d\n", getauxval(AT_SECURE) != 0);
    gpu_open(&gpu, 0);
    dprintf(STDOUT_FILENO, "refused: %d\n", spin_times(&gpu, 200, 2000));
    TRY(cuStreamSynchronize(gpu.stream));
    return 0;
}
