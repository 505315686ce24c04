/* Opens a library by its bare name. The loader finds it only by this program's RUNPATH ($ORIGIN). */
#include <dlfcn.h>

#include "program.h"

int main(void)
{
    void *probe = dlopen("libprobe.so", RTLD_NOW);
    if (!probe) {
        dprintf(STDOUT_FILENO, "dlopen: %s\n", dlerror());
        return 1;
    }
    int (*number)(void) = (int (*)(void))dlsym(probe, "probe_number");
    dprintf(STDOUT_FILENO, "probe: %d\n", number ? number() : -1);
    return 0;
}
