/* Decides what the exported dlsym returns. This file is built without sanitizers, because the runtimes of sanitizers
 * call dlsym before instrumented code can run. These runtimes never look up a function that the shim wraps. */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "shim/hook/elf_lookup.h"
#include "shim/hook/resolve.h"

typedef void *(*dlsym_function)(void *handle, const char *name);

static dlsym_function libc_dlsym(void)
{
    static dlsym_function found;
    dlsym_function function = __atomic_load_n(&found, __ATOMIC_RELAXED);
    if (!function) {
        function = (dlsym_function)elf_libc_symbol("dlsym");
        __atomic_store_n(&found, function, __ATOMIC_RELAXED);
    }
    return function;
}

/* Other libraries in this process may define dlsym, too. Such a library is called a layer in this file. The first
 * dlsym in the linker's search order gets all calls of the program. A layer in front of the shim may answer a call
 * itself, or call the next dlsym. The shim passes calls on to the first layer behind the shim. */
enum { MOST_LAYERS = 4 };

struct layer {
    uintptr_t low, high;
    dlsym_function function;
};

struct layers {
    struct layer before[MOST_LAYERS], behind[MOST_LAYERS];
    unsigned before_count, behind_count;
};

static struct layers known_layers;
static _Atomic int layers_state; /* enum layers_state */
enum layers_state { LAYERS_UNKNOWN, LAYERS_BEING_WRITTEN, LAYERS_KNOWN };
static _Atomic bool asked_from_before;

static bool add_layer(const struct elf_object *object, enum elf_place place, void *data)
{
    struct layers *layers = data;
    if (elf_is_named(object, "libc.so") || elf_is_named(object, "libdl.so"))
        return false; /* libc is no layer: its dlsym is the last one to which a call can be passed on */
    unsigned *count = place == ELF_BEFORE ? &layers->before_count : &layers->behind_count;
    dlsym_function function =
        place == ELF_OURS || *count == MOST_LAYERS ? NULL : (dlsym_function)elf_symbol(object, "dlsym");
    if (function)
        (place == ELF_BEFORE ? layers->before : layers->behind)[(*count)++] =
            (struct layer){ object->low, object->high, function };
    return true;
}

/* Returns the layers; the first call finds them. A library is a layer only if it was loaded at program start:
 * libraries loaded later come after libc in the search order. own: memory for the result; it is used only while
 * known_layers is not complete. */
static const struct layers *layers_of(struct layers *own)
{
    int state = LAYERS_UNKNOWN;
    if (atomic_load_explicit(&layers_state, memory_order_acquire) == LAYERS_KNOWN)
        return &known_layers;
    *own = (struct layers){ .before_count = 0 };
    elf_each_placed(add_layer, own);
    if (atomic_compare_exchange_strong(&layers_state, &state, LAYERS_BEING_WRITTEN)) {
        known_layers = *own;
        atomic_store_explicit(&layers_state, LAYERS_KNOWN, memory_order_release);
    }
    return own;
}

static int layer_at(const struct layer *layers, unsigned count, const void *address)
{
    for (unsigned i = 0; i < count; i++)
        if ((uintptr_t)address >= layers[i].low && (uintptr_t)address < layers[i].high)
            return (int)i;
    return -1;
}

/* The state of a probe: a call of a layer that this thread makes only to see whether the layer calls the shim's
 * dlsym. */
enum probe { PROBE_NONE, PROBE_ASKED, PROBE_CAME_BACK };
static __thread enum probe probe __attribute__((tls_model("initial-exec")));

static bool comes_back(dlsym_function layer, void *handle, const char *name)
{
    enum probe outer = probe;
    probe = PROBE_ASKED;
    layer(handle, name); /* if the layer jumps to the shim's dlsym, next_dlsym gets a return address in this function
                            as `caller` */
    bool came_back = probe == PROBE_CAME_BACK;
    probe = outer;
    return came_back;
}

/* A layer behind the shim may jump to the first dlsym in the process instead of the next dlsym. The same call then
 * comes back to the shim for ever, with the same caller and stack. But a program that repeats a look-up in a loop
 * makes such equal calls, too. So after SAME_IN_A_ROW equal calls, the shim calls the layer once as a probe: if the
 * layer calls the shim's dlsym again, the calls go in circles. */
enum { SAME_IN_A_ROW = 100, PLACES = 64 };

static bool goes_in_circles(dlsym_function layer, uintptr_t stack, void *handle, const char *name)
{
    static struct {
        _Atomic uintptr_t stack, name;
        _Atomic unsigned times;
    } places[PLACES];
    unsigned place = (unsigned)(stack >> 4 ^ stack >> 12) % PLACES;
    if (atomic_exchange(&places[place].stack, stack) != stack ||
        atomic_exchange(&places[place].name, (uintptr_t)name) != (uintptr_t)name)
        atomic_store(&places[place].times, 0);
    if (atomic_fetch_add(&places[place].times, 1) < SAME_IN_A_ROW)
        return false;
    atomic_store(&places[place].times, 0);
    return comes_back(layer, handle, name);
}

/* Returns the dlsym to which this caller's call is passed on. The returned dlsym comes after both the shim and the
 * caller in the search order, so the chain of calls always ends at libc. *from_behind is set to true if the call came
 * from a layer behind the shim or from the shim itself, or goes in circles: such a call must not get a wrapper. */
static dlsym_function next_dlsym(void *handle, const char *name, const void *caller, uintptr_t stack,
                                 bool *from_behind)
{
    struct layers own;
    const struct layers *layers = layers_of(&own);
    int at = layer_at(layers->behind, layers->behind_count, caller);
    unsigned next = (unsigned)(at + 1);
    dlsym_function layer = next < layers->behind_count ? layers->behind[next].function : NULL;
    bool from_ours = layers->behind_count && elf_place_of(caller) == ELF_OURS;
    *from_behind = at >= 0;
    if (from_ours && probe == PROBE_ASKED)
        probe = PROBE_CAME_BACK;
    if (from_ours || (layer && goes_in_circles(layer, stack, handle, name))) {
        *from_behind = true;
        return libc_dlsym();
    }
    if (layers->before_count && layer_at(layers->before, layers->before_count, caller) >= 0)
        atomic_store_explicit(&asked_from_before, true, memory_order_relaxed);
    return layer ? layer : libc_dlsym();
}

bool dlsym_is_passed_over(void)
{
    struct layers own;
    return layers_of(&own)->before_count && !atomic_load(&asked_from_before);
}

/* Takes the place of libc's dlsym if the shim could not find libc's dlsym, which should not occur. Without this
 * function, the shim would then jump to NULL. */
static void *no_dlsym(void *handle, const char *name)
{
    (void)handle;
    (void)name;
    return NULL;
}

static struct dlsym_answer pass_on(dlsym_function next)
{
    return (struct dlsym_answer){ (void *)(next ? next : no_dlsym), 0 };
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

/* Is the caller inside the driver or CUPTI? They look up functions of the driver for their own use, and must get the
 * real functions. The driver may consist of several libraries. */
static bool from_inside_the_driver(const void *caller)
{
    return from_inside("libcuda.so", caller) || from_inside("libcupti.so", caller);
}

/* Does libcudnn make this look-up, rather than the program? libcudnn looks up its functions in the other cuDNN
 * libraries, which define them, and must find the real functions. */
static bool from_inside_cudnn(const char *name, const void *caller)
{
    return !strncmp(name, "cudnn", 5) && from_inside("libcudnn", caller);
}

struct next_search {
    const char *name;
    uintptr_t caller;
    bool passed_caller, found;
};

static bool match_next(const struct elf_object *object, enum elf_place place, void *data)
{
    struct next_search *search = data;
    if (place != ELF_BEFORE)
        return false;
    if (search->passed_caller)
        search->found |= elf_symbol(object, search->name) != NULL;
    search->passed_caller |= search->caller >= object->low && search->caller < object->high;
    return !search->found;
}

/* When this caller looks the symbol up with RTLD_NEXT, is the shim's wrapper the right answer? Yes, if the caller
 * comes before the shim in the search order, and no object between the caller and the shim defines the symbol. */
static bool are_next_for(const void *caller, const char *name)
{
    struct next_search search = { .name = name, .caller = (uintptr_t)caller };
    elf_each_placed(match_next, &search);
    return search.passed_caller && !search.found;
}

void *resolve_next(const char *symbol)
{
    dlsym_function real = libc_dlsym();
    return real ? real(RTLD_NEXT, symbol) : NULL;
}

/* The real dlsym does not find the shim's wrappers (exports.map). If no real function has this name, the shim passes
 * the call on to the next dlsym. So the caller gets the same NULL and the same dlerror as without the shim.
 *
 * Callers behind the shim in the search order get the real function. A library behind the shim may define the
 * function itself, and our wrapper may call that definition. If the library's look-up returned our wrapper, the calls
 * would never end. For the same reason, the result of a look-up is replaced by a wrapper only if it is a definition
 * behind the shim. */
struct dlsym_answer ws_dlsym_answer(void *handle, const char *name, void *caller)
{
    bool from_behind;
    dlsym_function next = next_dlsym(handle, name, caller, (uintptr_t)__builtin_dwarf_cfa(), &from_behind);
    int id = may_be_ours(name) ? resolve_id(name) : -1;
    void *value = NULL;
    if (id < 0 || !next || from_behind || from_inside_the_driver(caller) || from_inside_cudnn(name, caller))
        return pass_on(next);
    if (handle != RTLD_NEXT)
        value = next(handle, name);
    else if (are_next_for(caller, name))
        value = resolve_next(name);
    if (!value)
        return pass_on(next);
    return answer(elf_place_of(value) == ELF_BEHIND ? resolve_substitute((enum ws_function_id)id, value) : value);
}
