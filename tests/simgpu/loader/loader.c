/* A libcuda.so.1 like that of WSL: a small library that loads the driver (here the file that SIMGPU_BEHIND names).
 * Its functions jump to the driver's functions of the same names. So a function has two addresses: dlsym gives the
 * address in this library, and cuGetProcAddress gives the address in the driver. */
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
        abort(); /* without the driver, the functions of this library would jump to address 0 */
#define FIND(symbol, base, version, flavour) slot_##symbol = dlsym(driver, #symbol);
    SIM_DRIVER_NAMES(FIND)
}
