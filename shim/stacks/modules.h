/* The table of the modules (program and shared libraries) whose code appears in stacks. A library that was unloaded
 * and loaded again is a new module, and so is another library at the same addresses. */
#ifndef WALLSHIM_SHIM_STACKS_MODULES_H
#define WALLSHIM_SHIM_STACKS_MODULES_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/hook/elf_lookup.h"
#include "shim/stacks/cfi.h"

enum { MODULES_MOST = 1024, MODULE_NONE = UINT32_MAX };

struct native_module {
    struct elf_module loaded;
    const void *dynamic;        /* address of the module's dynamic section, by which the module is recognized */
    const void *id;             /* the module's build id in memory; NULL: the module has none */
    uint32_t id_size, id_start; /* the build id's size in bytes; a copy of the build id's first 4 bytes */
    uint32_t code;              /* the module's id in the dictionary `code` */
    bool is_ours;               /* this module is the shim */
    bool is_interpreter;        /* this module contains the Python interpreter */
    struct cfi_table table;
};

/* Returns the index of the module that now contains the address, or MODULE_NONE. The function at the address must be
 * on the calling thread's stack, so that the module stays loaded during the call. Takes no lock of the loader. */
uint32_t module_at(uintptr_t address);

/* Does the address still lie in this module? Since module_at returned the index, the module may have been unloaded,
 * and another one loaded at the address. */
bool module_is_at(uint32_t index, uintptr_t address);

const struct native_module *module_of(uint32_t index);

#endif
