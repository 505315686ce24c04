/* A program that exports a dlsym of its own, as some tracers do. So the program's libraries call this dlsym, too. */
#include <dlfcn.h>

#include "program.h"

void *dlsym(void *restrict handle, const char *restrict name);

static int asked;

void *dlsym(void *restrict handle, const char *restrict name)
{
    static void *(*real)(void *, const char *);
    if (!real)
        real = (void *(*)(void *, const char *))dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
    if (!real)
        real = (void *(*)(void *, const char *))dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
    if (!strcmp(name, "cuNobodyAsked"))
        asked++;
    return real(handle, name);
}

int main(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (!driver)
        return 1;
    ws_CUresult (*init)(unsigned) = (ws_CUresult(*)(unsigned))dlsym(driver, "cuInit");
    dlsym(driver, "cuNobodyAsked");
    TRY(init(0));
    dprintf(STDOUT_FILENO, "asked: %d\n", asked);
    return 0;
}
