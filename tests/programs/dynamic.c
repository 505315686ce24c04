/* Looks up the driver's functions at run time, in every way. The program is not linked with the driver. */
#include <dlfcn.h>

#include "program.h"

/* Names to look up: names of driver functions, names of other libraries' functions (some also begin with "cu"), and
 * names that no library defines. */
static const char *const names[] = { "cuInit",
                                     "cuLaunchKernel",
                                     "cuMemAlloc_v2",
                                     "cuMemAlloc",
                                     "cuGetProcAddress_v2",
                                     "cuNobody",
                                     "cudnnCreate",
                                     "curl_easy_init",
                                     "cublasCreate_v2",
                                     "ncclAllReduce",
                                     "dlsym",
                                     "cu",
                                     "",
                                     "cuDeviceGetName" };
enum { NAMES = sizeof(names) / sizeof(names[0]) };

static void show(const char *where, void *handle)
{
    for (int i = 0; i < NAMES; i++) {
        void *first = dlsym(handle, names[i]);
        char *error = dlerror();
        dprintf(STDOUT_FILENO, "%s %s: %s%s%s\n", where, names[i], first ? "found" : "NULL", error ? ", " : "",
                error ? error : "");
        if (dlsym(handle, names[i]) != first)
            dprintf(STDOUT_FILENO, "another the second time\n");
        dlerror();
    }
}

static void *open_driver(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (!driver)
        dprintf(STDOUT_FILENO, "dlopen: %s\n", dlerror());
    return driver;
}

static ws_CUresult use(void *driver)
{
    ws_CUresult (*init)(unsigned) = (ws_CUresult(*)(unsigned))dlsym(driver, "cuInit");
    ws_CUresult (*count)(int *) = (ws_CUresult(*)(int *))dlsym(driver, "cuDeviceGetCount");
    int devices = 0;
    if (!init || !count)
        return -1;
    ws_CUresult result = TRY(init(0));
    TRY(count(&devices));
    dprintf(STDOUT_FILENO, "devices: %d\n", devices);
    return result;
}

/* Opens the driver, uses it and closes it, again and again. The program continues after it has closed the driver for
 * the last time. */
static void reopened(void)
{
    for (int i = 0; i < 5; i++) {
        void *driver = open_driver();
        if (!driver)
            return;
        use(driver);
        dprintf(STDOUT_FILENO, "dlclose: %d\n", dlclose(driver));
    }
}

static void versions(void)
{
    void *driver = open_driver();
    if (!driver)
        return;
    dprintf(STDOUT_FILENO, "dlvsym of no version: %s\n", dlvsym(driver, "cuInit", "NOBODY_1.0") ? "found" : "NULL");
    dprintf(STDOUT_FILENO, "dlvsym of libc's dlsym: %s\n",
            dlvsym(RTLD_DEFAULT, "dlsym", "GLIBC_2.34") || dlvsym(RTLD_DEFAULT, "dlsym", "GLIBC_2.2.5") ? "found"
                                                                                                        : "NULL");
    dlclose(driver);
}

static void *library(const char *name)
{
    void *opened = dlopen(name, RTLD_NOW);
    if (!opened)
        dprintf(STDOUT_FILENO, "dlopen: %s\n", dlerror());
    return opened;
}

/* A library of the program looks up functions by RTLD_NEXT and RTLD_DEFAULT. The results depend on which library
 * calls dlsym. */
static void from_library(void)
{
    void *probe = library("libprobe.so");
    if (!probe)
        return;
    void (*ask)(void) = (void (*)(void))dlsym(probe, "probe_look_up");
    ask();
    void *driver = open_driver();
    ask();
    if (driver)
        dlclose(driver);
    dlclose(probe);
}

/* Looks up a driver function's name by the handle of a library that defines a function of this name itself. dlsym
 * must return that library's function. */
static void by_handle(void)
{
    void *probe = library("libprobe.so");
    if (!probe)
        return;
    const char *(*name)(void) = (const char *(*)(void))dlsym(probe, "cuEventElapsedTime");
    dprintf(STDOUT_FILENO, "%s\n", name ? name() : "NULL");
    dlclose(probe);
}

/* Repeats one look-up in one place so often that it looks like two libraries that call each other's dlsym for
 * ever. */
static void often(void)
{
    int secrets = 0, drivers = 0;
    for (int i = 0; i < 1000; i++)
        secrets += dlsym(RTLD_DEFAULT, "layer_secret") != NULL;
    for (int i = 0; i < 1000; i++)
        drivers += dlsym(RTLD_DEFAULT, "cuInit") != NULL;
    dprintf(STDOUT_FILENO, "of 1000 answers each: %d and %d\n", secrets, drivers);
}

int main(int argc, char **argv)
{
    const char *mode = mode_of(argc, argv);
    if (!strcmp(mode, "default-absent")) {
        show("RTLD_DEFAULT", RTLD_DEFAULT);
        show("RTLD_NEXT", RTLD_NEXT);
    } else if (!strcmp(mode, "default-present")) {
        if (!dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL))
            return 1;
        show("RTLD_DEFAULT", RTLD_DEFAULT);
        show("RTLD_NEXT", RTLD_NEXT);
        use(RTLD_DEFAULT);
    } else if (!strcmp(mode, "handle")) {
        void *driver = open_driver();
        if (!driver)
            return 1;
        show("handle", driver);
        use(driver);
    } else if (!strcmp(mode, "program-handle")) {
        show("program", dlopen(NULL, RTLD_NOW));
    } else if (!strcmp(mode, "reopen")) {
        reopened();
    } else if (!strcmp(mode, "versions")) {
        versions();
    } else if (!strcmp(mode, "library")) {
        from_library();
    } else if (!strcmp(mode, "by-handle")) {
        by_handle();
    } else if (!strcmp(mode, "often")) {
        often();
    } else {
        return unknown_mode(mode);
    }
    return 0;
}
