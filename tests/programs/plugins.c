/* Programs with a libzstd.so.1 of their own. These programs must get their own libzstd.so.1, and the shim, which uses
 * zstd, must not load it. */
#include <dlfcn.h>
#include <limits.h>

#include "program.h"

static struct gpu gpu;

/* Returns the path "FOLDER OF THE PROGRAM/libraries/own/NAME". */
static const char *own_library(const char *name)
{
    static char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
    path[length > 0 ? length : 0] = 0;
    char *slash = strrchr(path, '/');
    if (!slash)
        _exit(91);
    snprintf(slash, sizeof(path) - (size_t)(slash - path), "/libraries/own/%s", name);
    return path;
}

static void work(void)
{
    gpu_open(&gpu, 0);
    dprintf(STDOUT_FILENO, "refused: %d\n", spin_times(&gpu, 200, 2000));
    TRY(cuStreamSynchronize(gpu.stream));
}

int main(int argc, char **argv)
{
    const char *mode = mode_of(argc, argv);
    if (!strcmp(mode, "late")) {
        work();
        void *plugin = dlopen(own_library("libplugin.so"), RTLD_NOW);
        int (*answer)(void) = plugin ? (int (*)(void))dlsym(plugin, "plugin_answer") : NULL;
        dprintf(STDOUT_FILENO, "plugin: %s, answer %d\n", plugin ? "loaded" : dlerror(), answer ? answer() : 0);
    } else if (!strcmp(mode, "here")) {
        /* Puts libzstd.so.1 into the current folder, because an empty element of LD_LIBRARY_PATH means this
         * folder. */
        if (symlink(own_library("libzstd.so.1"), "libzstd.so.1"))
            _exit(91);
        work();
    } else {
        return unknown_mode(mode);
    }
    return 0;
}
