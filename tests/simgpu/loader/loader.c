/* A libcuda.so.1 like that of WSL: a small library that loads the driver (here the file named by SIMGPU_BEHIND), and
 * whose functions jump to the driver's. So a function has two addresses: dlsym gives its address in this library, and
 * cuGetProcAddress gives its address in the driver. */
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
