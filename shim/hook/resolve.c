#include "shim/hook/resolve.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "shim/hook/elf_lookup.h"
#include "shim/state/lock.h"
#include "shim/state/phase.h"

enum {
    /* The newest driver version that the table knows. If a program asks for a later version, resolve_proc does not
     * match rows by the function's name, because the function may have other parameters in that version. */
    NEWEST_VERSION = 13000,
    PER_THREAD_FLAG = WS_CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM,
};

#define DRIVER_ROW(symbol, base, since, flavour, family, parameters, ...) extern ws_CUresult wrap_##symbol parameters;
#include "shim/hook/driver_table.h"
#define NCCL_ROW(symbol, parameters, ...) extern ws_ncclResult wrap_##symbol parameters;
#include "shim/hook/nccl_table.h"
#define CUBLAS_ROW(library, symbol, parameters, ...) extern ws_cublasStatus wrap_##symbol parameters;
#include "shim/hook/cublas_table.h"
#define CUDNN_ROW(part, symbol, parameters, ...) extern ws_cudnnStatus wrap_##symbol parameters;
#include "shim/hook/cudnn_table.h"

const struct resolve_row resolve_table[WS_ID_COUNT] = {
#define DRIVER_ROW(symbol, base, since, flavour, family, ...) \
    { #symbol, #base, since, FLAVOUR_##flavour, WS_CALL_##family, (void *)wrap_##symbol },
#include "shim/hook/driver_table.h"
#define NCCL_ROW(symbol, ...) { #symbol, #symbol, 0, FLAVOUR_NCCL, WS_CALL_NCCL, (void *)wrap_##symbol },
#include "shim/hook/nccl_table.h"
#define CUBLAS_ROW(library, symbol, ...) \
    { #symbol, "lib" #library ".so", 0, FLAVOUR_LIBRARY, WS_CALL_LIBRARY, (void *)wrap_##symbol },
#include "shim/hook/cublas_table.h"
#define CUDNN_ROW(part, symbol, ...) \
    { #symbol, "libcudnn.so", 0, FLAVOUR_LIBRARY, WS_CALL_LIBRARY, (void *)wrap_##symbol },
#include "shim/hook/cudnn_table.h"
};

void *resolve_real[WS_ID_COUNT];
_Atomic uint64_t resolve_passed_through;

static void *real_of(enum ws_function_id id)
{
    return __atomic_load_n(&resolve_real[id], __ATOMIC_RELAXED);
}

int resolve_id(const char *symbol)
{
    /* Look-ups are few and happen at start-up, so a linear search is fast enough. */
    for (int id = 0; id < WS_ID_COUNT; id++)
        if (!strcmp(resolve_table[id].symbol, symbol))
            return id;
    return -1;
}

/* Keeps the library loaded even if the program closes it, because the shim has pointers into the library. */
static void keep_loaded(const struct elf_object *object)
{
    typedef void *(*dlopen_function)(const char *, int);
    dlopen_function open_object = (dlopen_function)elf_libc_symbol("dlopen");
    if (open_object && object->path && *object->path)
        open_object(object->path, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

/* NCCL exports each function under two names: a weak symbol that tools may replace, and a strong one ("pnccl…").
 * Returns the strong symbol's address, which the shim calls. */
static void *strong_twin(enum ws_function_id id, const struct elf_object *object, void *real)
{
    char name[64] = "p";
    strncat(name, resolve_table[id].symbol, sizeof(name) - 2);
    void *twin = elf_symbol(object, name);
    return twin ? twin : real;
}

/* The address ranges of the libraries that contain real functions (functions that our wrappers call). */
enum { LIBRARIES = 32 };
static struct {
    _Atomic uintptr_t low, high;
} libraries[LIBRARIES];
static _Atomic unsigned library_count;

bool resolve_is_inside(const void *address)
{
    uintptr_t at = (uintptr_t)address;
    unsigned count = atomic_load(&library_count);
    for (unsigned i = 0; i < count && i < LIBRARIES; i++)
        if (at >= atomic_load(&libraries[i].low) && at < atomic_load(&libraries[i].high))
            return true;
    return false;
}

static void note_library(const struct elf_object *object)
{
    if (resolve_is_inside((const void *)object->low))
        return;
    unsigned place = atomic_fetch_add(&library_count, 1);
    if (place < LIBRARIES) {
        atomic_store(&libraries[place].low, object->low);
        atomic_store(&libraries[place].high, object->high);
    }
}

static void remember(enum ws_function_id id, void *real, bool stays)
{
    struct elf_object object;
    int saved_errno = errno;
    if (elf_find_by_address(real, &object)) {
        if (!stays)
            keep_loaded(&object);
        note_library(&object);
        if (resolve_table[id].flavour == FLAVOUR_NCCL)
            real = strong_twin(id, &object, real);
    }
    __atomic_store_n(&resolve_real[id], real, __ATOMIC_RELAXED);
    errno = saved_errno;
}

static bool same_library(const void *a, const void *b)
{
    struct elf_object object;
    return elf_find_by_address(a, &object) && (uintptr_t)b >= object.low && (uintptr_t)b < object.high;
}

/* On WSL the driver consists of two libraries. libcuda.so.1 only loads the second library and jumps into it. So a
 * function has two addresses: dlsym returns its address in libcuda.so.1, and cuGetProcAddress returns its address in
 * the second library. */
static struct {
    _Atomic uintptr_t low, high;
} halves[2];

static bool is_half(int half, const void *address)
{
    return (uintptr_t)address >= atomic_load(&halves[half].low) &&
           (uintptr_t)address < atomic_load(&halves[half].high);
}

static bool same_driver(const void *a, const void *b)
{
    return (is_half(0, a) || is_half(1, a)) && (is_half(0, b) || is_half(1, b));
}

/* Called when the cuGetProcAddress at address `resolver` has returned an address in the library `behind`. If
 * `resolver` is in another library, and `behind` is a driver (it has cuInit), notes the two libraries as halves of
 * one driver. */
static void note_halves(const void *resolver, const struct elf_object *behind)
{
    struct elf_object front;
    if (!resolver || atomic_load(&halves[1].high) || same_library(resolver, (const void *)behind->low) ||
        !elf_symbol(behind, "cuInit") || !elf_find_by_address(resolver, &front))
        return;
    atomic_store(&halves[0].low, front.low);
    atomic_store(&halves[0].high, front.high);
    atomic_store(&halves[1].low, behind->low);
    atomic_store(&halves[1].high, behind->high);
}

void *resolve_substitute(enum ws_function_id id, void *real)
{
    void *known = real_of(id);
    if (elf_place_of(real) == ELF_OURS) /* the look-up found our wrapper */
        return real;
    if (!known)
        remember(id, real, false);
    else if (known != real && !same_library(known, real) && !same_driver(known, real)) {
        ws_debug("%s of a second library passes through", resolve_table[id].symbol);
        atomic_fetch_add_explicit(&resolve_passed_through, 1, memory_order_relaxed);
        return real;
    }
    return resolve_table[id].wrapper;
}

static bool is_of_driver(int id)
{
    return resolve_table[id].flavour < FLAVOUR_NCCL;
}

const char *resolve_library_of(enum ws_function_id id)
{
    if (resolve_table[id].flavour == FLAVOUR_NCCL)
        return "libnccl.so";
    return is_of_driver((int)id) ? "libcuda.so" : resolve_table[id].base;
}

/* Number of objects that were loaded when the shim was loaded. If the shim was loaded at program start, these objects
 * are never unloaded, and come first in the search order. */
static unsigned objects_at_start;

static bool count_object(const struct elf_object *object, enum elf_place place, void *count)
{
    (void)object, (void)place;
    ++*(unsigned *)count;
    return true;
}

void resolve_init(void)
{
    elf_each_placed(count_object, &objects_at_start);
}

unsigned resolve_objects_at_start(void)
{
    return objects_at_start;
}

struct next_search {
    const char *symbol;
    void *real;
    unsigned passed;
};

static bool match_next(const struct elf_object *object, enum elf_place place, void *data)
{
    struct next_search *search = data;
    search->passed++;
    if (place == ELF_BEHIND)
        search->real = elf_symbol(object, search->symbol);
    /* the search ends before objects that were loaded later, because other threads may unload such objects */
    return !search->real && search->passed < objects_at_start;
}

/* Looks for a function that no look-up has found before.
 *
 * dlsym and dlopen take a lock of the loader. The loader holds its lock while it runs the constructors of a newly
 * opened library. A constructor may wait for the thread that runs look_for_real. If that thread waited for the
 * loader's lock, both would wait for ever. So look_for_real first searches the objects that were loaded at program
 * start, without the loader's lock.
 *
 * Signals are blocked during the search: a handler must not interrupt a thread that holds locks of the loader. In a
 * forked child of a recording process, the wrapper only calls the function that dlsym finds, and the shim notes
 * nothing about the function's library. */
static void look_for_real(enum ws_function_id id)
{
    const char *symbol = resolve_table[id].symbol;
    struct elf_object object;
    struct shim_quiet quiet;
    quiet_begin(&quiet);
    struct next_search search = { .symbol = symbol };
    if (shim_parent_recorded()) {
        __atomic_store_n(&resolve_real[id], resolve_next(symbol), __ATOMIC_RELAXED);
    } else {
        elf_each_placed(match_next, &search);
        void *real = search.real;
        if (!real && elf_find_by_name(resolve_library_of(id), &object))
            real = elf_symbol(&object, symbol);
        if (!real)
            real = resolve_next(symbol);
        if (real)
            remember(id, real, search.real != NULL);
    }
    quiet_end(&quiet);
}

void *resolve_find(enum ws_function_id id)
{
    int saved_errno = errno;
    if (!real_of(id))
        look_for_real(id);
    errno = saved_errno;
    return real_of(id);
}

struct versioned {
    const char *symbol, *version;
    void *real;
};

static bool look_for_version(const struct elf_object *object, void *data)
{
    struct versioned *versioned = data;
    uintptr_t own = (uintptr_t)resolve_table;
    if ((own < object->low || own >= object->high) && elf_defines_version(object, versioned->version))
        versioned->real = elf_symbol(object, versioned->symbol);
    return !versioned->real;
}

/* Recognizes the library by the version of its symbols, because packages may give the library's file another name. */
void *resolve_version(enum ws_function_id id, const char *version)
{
    struct elf_object object;
    struct versioned versioned = { resolve_table[id].symbol, version, NULL };
    elf_each(look_for_version, &versioned);
    if (versioned.real && elf_find_by_address(versioned.real, &object)) {
        keep_loaded(&object);
        note_library(&object);
    }
    return versioned.real;
}

/* Is `row` a better choice than `best`? By the driver's own rule, a row with the flavour that `flags` asks for
 * (legacy or per-thread default stream) is better. Among rows of the same flavour, the newest version is best. */
static bool better(const struct resolve_row *row, const struct resolve_row *best, uint64_t flags)
{
    bool wanted = (row->flavour != FLAVOUR_LEGACY) == !!(flags & PER_THREAD_FLAG);
    bool best_wanted = best && (best->flavour != FLAVOUR_LEGACY) == !!(flags & PER_THREAD_FLAG);
    if (!best || wanted != best_wanted)
        return !best || wanted;
    return row->since > best->since;
}

static int driver_version(void)
{
    ws_CUresult (*get_version)(int *) = (ws_CUresult(*)(int *))resolve_driver_symbol("cuDriverGetVersion");
    int version = 0;
    return get_version && get_version(&version) == WS_CUDA_SUCCESS ? version : 0;
}

/* Does the driver export the address `real` under some version of the name `base`, such as base_v3? The caller has
 * already compared `real` with the versions in the wrapper table. */
static bool other_form(const struct elf_object *object, const char *base, const void *real)
{
    static const char *const flavours[] = { "", "_ptsz", "_ptds" };
    for (int version = 1; version <= 9; version++) {
        for (int i = 0; i < 3; i++) {
            char name[96];
            if (version == 1)
                snprintf(name, sizeof(name), "%s%s", base, flavours[i]);
            else
                snprintf(name, sizeof(name), "%s_v%d%s", base, version, flavours[i]);
            if (elf_symbol(object, name) == real)
                return true;
        }
    }
    return false;
}

void *resolve_proc(enum ws_function_id resolver, const char *base, int version, uint64_t flags, void *real)
{
    const struct resolve_row *exact = NULL, *by_rule = NULL;
    struct elf_object object;
    bool have_object = elf_find_by_address(real, &object);
    int newest = driver_version();
    if (have_object)
        note_halves(real_of(resolver), &object);
    for (int id = 0; id < WS_ID_COUNT; id++) {
        const struct resolve_row *row = &resolve_table[id];
        if (!is_of_driver(id) || strcmp(row->base, base))
            continue;
        if (have_object && elf_symbol(&object, row->symbol) == real && better(row, exact, flags))
            exact = row;
        if (row->since <= version && row->since <= newest &&
            (row->flavour == FLAVOUR_LEGACY || flags & PER_THREAD_FLAG) && better(row, by_rule, flags))
            by_rule = row;
    }
    /* The driver may return an address that it does not export. For such an address, the shim chooses the row by the
     * driver's rule (see better), if the program asks for a version up to NEWEST_VERSION. */
    const struct resolve_row *row = exact;
    /* The function may be exported under another name than `base`: cuGraphInstantiate became
     * cuGraphInstantiateWithFlags. */
    for (int id = 0; !row && have_object && id < WS_ID_COUNT; id++)
        if (elf_symbol(&object, resolve_table[id].symbol) == real)
            row = &resolve_table[id];
    if (!row && by_rule && version <= NEWEST_VERSION && !(have_object && other_form(&object, base, real)))
        row = by_rule;
    return row ? resolve_substitute((enum ws_function_id)(row - resolve_table), real) : real;
}

static void *patched_entries[WS_ID_COUNT]; /* NULL: the function is not patched */

void resolve_patched(enum ws_function_id id, void *entry, void *trampoline)
{
    struct elf_object object;
    if (elf_find_by_address(entry, &object)) {
        keep_loaded(&object);
        note_library(&object);
    }
    patched_entries[id] = entry;
    __atomic_store_n(&resolve_real[id], trampoline, __ATOMIC_RELAXED);
}

/* If the function at `entry` is patched, returns its trampoline, which runs the original function: the shim's own
 * calls must not reach the wrapper. */
static void *unpatched(void *entry)
{
    for (int id = 0; entry && id < WS_ID_COUNT; id++)
        if (patched_entries[id] == entry)
            return resolve_real[id];
    return entry;
}

/* The opposite of `unpatched`: if `real` is the trampoline of a patched function, returns that function's address. A
 * trampoline lies in no library. */
static const void *entry_of(const void *real)
{
    for (int id = 0; real && id < WS_ID_COUNT; id++)
        if (patched_entries[id] && resolve_real[id] == real)
            return patched_entries[id];
    return real;
}

void *resolve_in_library_of(const void *real, const char *symbol)
{
    struct elf_object object;
    const void *entry = entry_of(real);
    return entry && elf_find_by_address(entry, &object) ? unpatched(elf_symbol(&object, symbol)) : NULL;
}

void *resolve_driver_symbol(const char *symbol)
{
    struct elf_object object, driver_object;
    void *any = real_of(WS_ID_cuInit);
    for (int id = 0; id < WS_ID_COUNT && !any; id++)
        if (is_of_driver(id))
            any = real_of((enum ws_function_id)id);
    /* `any` may lie in a library that defines some of the driver's functions and comes before the driver. `any` may
     * also be the trampoline of a patched function, which lies in no library. */
    bool found = any && elf_find_by_address(any, &object);
    if (found && !elf_is_named(&object, "libcuda.so") && elf_find_by_name("libcuda.so", &driver_object))
        object = driver_object;
    if (found || elf_find_by_name("libcuda.so", &object))
        return unpatched(elf_symbol(&object, symbol));
    return NULL;
}

void *resolve_beside(enum ws_function_id id, const char *symbol)
{
    return resolve_in_library_of(resolve_find(id), symbol);
}
