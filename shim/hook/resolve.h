/* Which function is which: our wrappers, the driver's own, and who gets which of them.
 *
 * Programs reach the driver in three ways: linked against it, by dlsym, and by cuGetProcAddress (which they reach in
 * one of the first two). All three end here. The rules: compare whole names; ask the real resolver first, and put our
 * wrapper in only where it found something; never remember a look-up as done. */
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
    const char *base; /* NCCL: the symbol; other libraries: their file, without its version */
    int since;        /* of libraries: 0 */
    uint8_t flavour;  /* enum resolve_flavour */
    uint8_t family;   /* enum ws_call_family */
    void *wrapper;
};

enum resolve_flavour { FLAVOUR_LEGACY, FLAVOUR_PTSZ, FLAVOUR_PTDS, FLAVOUR_NCCL, FLAVOUR_LIBRARY };

extern const struct resolve_row resolve_table[WS_ID_COUNT];

/* The real functions, by id; NULL until found. Written once each, read by every wrapper. */
extern __attribute__((visibility("hidden"))) void *resolve_real[WS_ID_COUNT];

/* Once, when the shim is loaded. */
void resolve_init(void);

/* Finds the real function when a wrapper is called that nobody resolved (plain linking). NULL: there
 * is none. errno is left as it was. */
void *resolve_find(enum ws_function_id id);

/* The function as it is defined by the library whose symbols have this version ("libcublas.so.13"); that library
 * stays loaded from then on. NULL: there is none. A program may have two versions of a library loaded, each with
 * handles of its own. */
void *resolve_version(enum ws_function_id id, const char *version);

/* The wrapped function of this name, or -1. */
int resolve_id(const char *symbol);

/* What to answer the caller of `resolver`, a cuGetProcAddress, where the driver gave `real`: our wrapper of exactly
 * that function, or `real` itself. flags are the caller's. */
void *resolve_proc(enum ws_function_id resolver, const char *base, int version, uint64_t flags, void *real);

/* What to answer for `id` where a look-up found `real`: our wrapper, or `real` itself where it belongs to another
 * library than the one the wrapper forwards to. */
void *resolve_substitute(enum ws_function_id id, void *real);

/* Does the address lie in a library of one of the real functions? Calls from there are not the program's own. */
bool resolve_is_inside(const void *address);

/* How often a look-up got `real`. */
extern _Atomic uint64_t resolve_passed_through;

/* The next definition of the symbol after ours, as the dynamic linker orders them. */
void *resolve_next(const char *symbol);

/* A driver function we call but do not wrap, by its exported name. */
void *resolve_driver_symbol(const char *symbol);

/* Another function of the library that `real` is in; NULL if there is none. */
void *resolve_in_library_of(const void *real, const char *symbol);

/* Another function of the library that the real `id` is in; NULL if there is none. */
void *resolve_beside(enum ws_function_id id, const char *symbol);

/* Used by dlsym_entry.S: with `answered` set, `value` is dlsym's result; otherwise it is the real dlsym, to jump
 * to. */
struct dlsym_answer {
    void *value;
    uintptr_t answered;
};
struct dlsym_answer ws_dlsym_answer(void *handle, const char *name, void *caller);

/* Does a library in front of us answer dlsym without ever asking us? Then look-ups go around us. */
bool dlsym_is_passed_over(void);

#endif
