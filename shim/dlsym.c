/* What the exported dlsym answers. Built without sanitizers: their run-times call dlsym before they
 * are ready for instrumented code, and never with a name of ours. */
#include <dlfcn.h>
#include <stddef.h>
#include <string.h>
#include <sys/auxv.h>

#include "elf_lookup.h"
#include "resolve.h"

typedef void *(*dlsym_function)(void *handle, const char *name);

static dlsym_function real_dlsym(void)
{
    static dlsym_function found;
    dlsym_function function = __atomic_load_n(&found, __ATOMIC_RELAXED);
    if (!function) {
        function = (dlsym_function)elf_libc_symbol("dlsym");
        __atomic_store_n(&found, function, __ATOMIC_RELAXED);
    }
    return function;
}

/* Nobody could have called us without a libc that has dlsym, but a jump to NULL is no way to say so. */
static void *no_dlsym(void *handle, const char *name)
{
    (void)handle;
    (void)name;
    return NULL;
}

static struct dlsym_answer pass_on(void)
{
    dlsym_function real = real_dlsym();
    return (struct dlsym_answer){ (void *)(real ? real : no_dlsym), 0 };
}

static struct dlsym_answer answer(void *value)
{
    return (struct dlsym_answer){ value, 1 };
}

static bool may_be_ours(const char *name)
{
    return name && ((name[0] == 'c' && name[1] == 'u') || (name[0] == 'n' && name[1] == 'c' && name[2] == 'c'));
}

static bool from_inside(const char *library, const void *caller)
{
    struct elf_object object;
    if (!elf_find_by_address(caller, &object) || !object.path)
        return false;
    const char *slash = strrchr(object.path, '/');
    return !strncmp(slash ? slash + 1 : object.path, library, strlen(library));
}

/* The driver (which may be several libraries) and CUPTI look up the driver's functions for themselves. */
static bool from_inside_the_driver(const void *caller)
{
    return from_inside("libcuda.so", caller) || from_inside("libcupti.so", caller);
}

/* libcudnn looks each function up in the library of cuDNN that has it, to go on to that. */
static bool from_inside_cudnn(const char *name, const void *caller)
{
    return !strncmp(name, "cudnn", 5) && from_inside("libcudnn", caller);
}

/* Only the main program comes before us in the order in which RTLD_NEXT goes on. */
static bool from_main_program(const void *caller)
{
    struct elf_object object;
    uintptr_t headers = getauxval(AT_PHDR);
    return elf_find_by_address(caller, &object) && headers >= object.low && headers < object.high;
}

void *resolve_next(const char *symbol)
{
    dlsym_function real = real_dlsym();
    return real ? real(RTLD_NEXT, symbol) : NULL;
}

/* Our own definitions are such as dlsym does not find (exports.map). So where the real one finds
 * nothing, passing the call on gives the caller the NULL and the error it would have had without us. */
struct dlsym_answer ws_dlsym_answer(void *handle, const char *name, void *caller)
{
    int id = may_be_ours(name) ? resolve_id(name) : -1;
    dlsym_function real = real_dlsym();
    void *value = NULL;
    if (id < 0 || !real || from_inside_the_driver(caller) || from_inside_cudnn(name, caller))
        return pass_on();
    if (handle == RTLD_DEFAULT || (handle == RTLD_NEXT && from_main_program(caller)))
        value = resolve_next(name);
    else if (handle != RTLD_NEXT) /* what stands behind us on the way calls on: it must not meet us again */
        value = real(handle, name);
    return value ? answer(resolve_substitute((enum ws_function_id)id, value)) : pass_on();
}
