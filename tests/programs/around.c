/* Ways around a preloaded library: RTLD_DEEPBIND, and a namespace of its own. */
#include <dlfcn.h>

#include "program.h"

int main(int argc, char **argv)
{
    const char *mode = mode_of(argc, argv);
    void *client = NULL;
    if (!strcmp(mode, "deepbind"))
        client = dlopen("libclient.so", RTLD_NOW | RTLD_DEEPBIND);
    else if (!strcmp(mode, "namespace"))
        client = dlmopen(LM_ID_NEWLM, "libclient.so", RTLD_NOW);
    else
        return unknown_mode(mode);
    if (!client) {
        dprintf(STDOUT_FILENO, "dlopen: %s\n", dlerror());
        return 1;
    }
    int (*run)(void) = (int (*)(void))dlsym(client, "client_run");
    dprintf(STDOUT_FILENO, "refused: %d\n", run ? run() : -1);
    return 0;
}
