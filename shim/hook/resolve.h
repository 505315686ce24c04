/* Decides which look-ups of a function return our wrapper, and which return the real function.
 *
 * Programs find the driver's functions in three ways: by linking against the driver, by dlsym, and by
 * cuGetProcAddress (whose address they get by linking or by dlsym). Each of the three ways calls functions of this
 * file. Three rules apply. Whole names are compared. The real look-up runs first, and the program gets our wrapper
 * only if the real look-up found the function. The result of an earlier look-up never replaces the real look-up. */
#ifndef WALLSHIM_SHIM_HOOK_RESOLVE_H
#define WALLSHIM_SHIM_HOOK_RESOLVE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "abi/cublas.h"
#include "abi/cuda.h"
#include "abi/cudnn.h"
#include "abi/nccl.h"
#include "record/record.h"

enum ws_function_id {
#define DRIVER_ROW(symbol, ...) WS_ID_##symbol,
#include "shim/hook/driver_table.h"
#define NCCL_ROW(symbol, ...) WS_ID_##symbol,
#include "shim/hook/nccl_table.h"
#define CUBLAS_ROW(library, symbol, ...) WS_ID_##symbol,
#include "shim/hook/cublas_table.h"
#define CUDNN_ROW(part, symbol, ...) WS_ID_##symbol,
#include "shim/hook/cudnn_table.h"
    WS_ID_COUNT
};

struct resolve_row {
    const char *symbol;
    /* For the driver's functions, the name that cuGetProcAddress takes. For NCCL's functions, the symbol. For
     * functions of other libraries, the library's file name without its version. */
    const char *base;
    int since;       /* driver version in which the function appeared; 0 for functions of other libraries */
    uint8_t flavour; /* enum resolve_flavour */
    uint8_t family;  /* enum ws_call_family */
    void *wrapper;
};

enum resolve_flavour { FLAVOUR_LEGACY, FLAVOUR_PTSZ, FLAVOUR_PTDS, FLAVOUR_NCCL, FLAVOUR_LIBRARY };

extern const struct resolve_row resolve_table[WS_ID_COUNT];

/* The addresses of the real functions, by id; NULL until found. All wrappers read them. An address that was found
 * changes only if the function is patched (resolve_patched). */
extern __attribute__((visibility("hidden"))) void *resolve_real[WS_ID_COUNT];

/* The number of objects that were loaded when the shim was loaded. elf_each_placed visits these objects first. If the
 * shim was loaded at program start, these objects are never unloaded. */
unsigned resolve_objects_at_start(void);

/* Called once, when the shim is loaded. */
void resolve_init(void);

/* Returns the real function that the wrapper of `id` calls, and looks for the function if no look-up has found it
 * yet. (A program that is linked against the driver calls wrappers without any look-up.) NULL: there is no real
 * function. errno stays unchanged. */
void *resolve_find(enum ws_function_id id);

/* Finds the function in the library whose symbols have this version (such as "libcublas.so.13"), and keeps the
 * library loaded. NULL: there is no such function. A program may have two versions of a library loaded. A handle of
 * one version is not valid in the other, so each wrapper calls one version only. */
void *resolve_version(enum ws_function_id id, const char *version);

/* The id of the wrapped function with this name; -1: it is not wrapped. */
int resolve_id(const char *symbol);

/* The driver's `resolver` (a version of cuGetProcAddress) has returned `real`. Returns the address that the program
 * gets: our wrapper of exactly this function, or else `real` itself. base, version, flags: as the program passed
 * them. */
void *resolve_proc(enum ws_function_id resolver, const char *base, int version, uint64_t flags, void *real);

/* A look-up of function `id` has found `real`. Returns the address that the program gets: our wrapper; or `real`
 * itself, if our wrapper already calls this function in another library. */
void *resolve_substitute(enum ws_function_id id, void *real);

/* For functions that are patched in place (shim/late.c). resolve_library_of returns the name of the library that has
 * the real function. resolve_patched is called when the function at `entry` has been patched: from then on, the shim
 * calls `trampoline` to reach the real function. */
const char *resolve_library_of(enum ws_function_id id);
void resolve_patched(enum ws_function_id id, void *entry, void *trampoline);

/* Is the address in a library that contains real functions (functions that our wrappers call)? If a call returns to
 * such an address, a library made the call, not the program. */
bool resolve_is_inside(const void *address);

/* How many look-ups got the real function instead of our wrapper, because our wrapper already calls this function in
 * another library. */
extern _Atomic uint64_t resolve_passed_through;

/* Finds the next definition of the symbol after the shim, in the linker's search order (RTLD_NEXT). */
void *resolve_next(const char *symbol);

/* Finds a function of the driver that the shim itself calls. symbol: its exported name. */
void *resolve_driver_symbol(const char *symbol);

/* Returns the function `symbol` of the library that contains `real`; NULL if there is none. */
void *resolve_in_library_of(const void *real, const char *symbol);

/* Returns the function `symbol` of the library that contains the real function of `id`; NULL if there is none. */
void *resolve_beside(enum ws_function_id id, const char *symbol);

/* What the dlsym of the shim (dlsym_entry.S) is to do. If `answered` is not 0, the shim's dlsym returns `value`. If
 * `answered` is 0, it jumps to `value`, the address of the next dlsym in the search order. */
struct dlsym_answer {
    void *value;
    uintptr_t answered;
};
struct dlsym_answer ws_dlsym_answer(void *handle, const char *name, void *caller);

/* True if a library in front of the shim in the search order defines dlsym, but has never called the shim's dlsym. In
 * that case the program's look-ups do not reach the shim, and find the real functions. */
bool dlsym_is_passed_over(void);

#endif
