/* A libcuda.so.1 as WSL has it: a small library that only loads the driver, here the file that SIMGPU_BEHIND names,
 * and whose functions jump to the driver's. Nothing of the way there is hidden: cuGetProcAddress, being the driver's,
 * answers with addresses in the library behind, dlsym with those in this one. */
#include <dlfcn.h>
#include <stdlib.h>

#include "driver_names.h"

#define SLOT(symbol, base, version, flavour)          \
    __attribute__((used)) static void *slot_##symbol; \
    __asm__(".globl " #symbol "\n.type " #symbol ", @function\n" #symbol ":\n    jmp *slot_" #symbol "(%rip)\n");
SIM_DRIVER_NAMES(SLOT)

__attribute__((constructor)) static void load(void)
{
    const char *path = getenv("SIMGPU_BEHIND");
    void *driver = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!driver)
        abort(); /* its functions would jump to nowhere */
#define FIND(symbol, base, version, flavour) slot_##symbol = dlsym(driver, #symbol);
    SIM_DRIVER_NAMES(FIND)
}
