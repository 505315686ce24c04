/* Calls of the driver that bypass a preloaded library, because the caller is loaded with RTLD_DEEPBIND or into a
 * link-map namespace of its own. If the mode (the program's argument) contains "-", the program first makes calls
 * that do not bypass the preloaded library. */
#include <dlfcn.h>
#include <string.h>

#include "program.h"

static int work_plainly(void)
{
    void *client = dlopen("libclient_beside.so", RTLD_NOW);
    int (*run)(void) = client ? (int (*)(void))dlsym(client, "client_run") : NULL;
    dprintf(STDOUT_FILENO, "refused: %d\n", run ? run() : -1);
    return run ? 0 : -1;
}

int main(int argc, char **argv)
{
    const char *mode = mode_of(argc, argv);
    void *client = NULL;
    size_t way = strcspn(mode, "-");
    if (mode[way] && work_plainly())
        return 1;
    if (!strncmp(mode, "deepbind", way))
        client = dlopen("libclient.so", RTLD_NOW | RTLD_DEEPBIND);
    else if (!strncmp(mode, "namespace", way))
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
