/* Opens libraries that need static thread-local storage until there is no more room. As many libraries must fit with
 * the shim as without it. */
#include <dlfcn.h>

#include "program.h"

int main(int argc, char **argv)
{
    struct gpu gpu;
    int loaded = 0;
    bool cuda_first = !strcmp(mode_of(argc, argv), "cuda-first");
    if (cuda_first) {
        gpu_open(&gpu, 0);
        spin_times(&gpu, 20, 5000);
    }
    for (int i = 0; i < TLS_LIBRARIES; i++) {
        char name[32];
        snprintf(name, sizeof(name), "libtls%d.so", i);
        void *library = dlopen(name, RTLD_NOW);
        if (!library) {
            dprintf(STDOUT_FILENO, "%d: %s\n", i, dlerror());
            break;
        }
        int (*touch)(void) = (int (*)(void))dlsym(library, "tls_touch");
        loaded += touch() == 1;
    }
    dprintf(STDOUT_FILENO, "loaded: %d\n", loaded);
    if (!cuda_first)
        gpu_open(&gpu, 0);
    dprintf(STDOUT_FILENO, "refused: %d\n", spin_times(&gpu, 20, 5000));
    TRY(cuStreamSynchronize(gpu.stream));
    return 0;
}
