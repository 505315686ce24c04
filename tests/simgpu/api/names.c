/* The table of all names that the driver exports, and the look-up in it: cuGetProcAddress. */
#include "api/api.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum flavour { SIM_LEGACY, SIM_PER_THREAD };

/* Declares every exported function as a char, since the table needs only its address and not its type. */
#define X(symbol, base, version, flavour) extern char address_of_##symbol __asm__(#symbol);
SIM_DRIVER_NAMES(X)
#undef X

static const struct name {
    const char *symbol, *base;
    int version;
    enum flavour flavour;
    char *address;
} names[] = {
#define X(symbol, base, version, flavour) { #symbol, #base, version, flavour, &address_of_##symbol },
    SIM_DRIVER_NAMES(X)
#undef X
};

enum { NAMES = sizeof(names) / sizeof(names[0]) };

EXPORT ws_CUresult cuGetProcAddress(const char *symbol, void **function, int version, uint64_t flags);
EXPORT ws_CUresult cuGetProcAddress_v2(const char *symbol, void **function, int version, uint64_t flags,
                                       ws_CUenum *status);
EXPORT ws_CUresult cuGetExportTable(const void **table, const ws_CUuuid *id);

/* Returns a function's twin, or NULL if it has none. The twin uses the thread's own default stream, and its symbol
 * has _ptsz or _ptds at the end. */
static const struct name *twin_of(const struct name *name, int limit)
{
    size_t length = strlen(name->symbol);
    for (int i = 0; i < NAMES; i++)
        if (names[i].flavour == SIM_PER_THREAD && names[i].version <= limit &&
            strncmp(names[i].symbol, name->symbol, length) == 0 && strncmp(names[i].symbol + length, "_pt", 3) == 0)
            return &names[i];
    return NULL;
}

/* Writes a line about a cuGetProcAddress call to the file that SIMGPU_TRACE_LOOKUPS names: the arguments, and the
 * library that called. */
static void trace_question(const char *symbol, int version, uint64_t flags, const void *caller)
{
    const char *path = getenv("SIMGPU_TRACE_LOOKUPS");
    Dl_info info;
    FILE *file = path ? fopen(path, "a") : NULL;
    if (!file)
        return;
    const char *from = dladdr(caller, &info) && info.dli_fname ? info.dli_fname : "?";
    const char *slash = strrchr(from, '/');
    fprintf(file, "%s\t%d\t%d\t%s\n", symbol ? symbol : "NULL", version, (int)flags, slash ? slash + 1 : from);
    fclose(file);
}

static ws_CUresult answer(const char *symbol, void **function, int version, uint64_t flags, ws_CUenum *status)
{
    sim_config_load();
    NEED(symbol && function && flags <= 2);
    int limit = version < sim_config.driver_version ? version : sim_config.driver_version;
    const struct name *best = NULL;
    bool known = false;
    for (int i = 0; i < NAMES; i++) {
        const struct name *name = &names[i];
        if (name->flavour != SIM_LEGACY || strcmp(name->base, symbol) != 0)
            continue;
        known |= name->version <= sim_config.driver_version;
        if (name->version <= limit && (!best || name->version > best->version))
            best = name;
    }
    if (best && flags == WS_CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) {
        const struct name *twin = twin_of(best, limit);
        best = twin ? twin : best;
    }
    *function = best ? best->address : NULL;
    if (status)
        *status = best    ? WS_CU_GET_PROC_ADDRESS_SUCCESS
                  : known ? WS_CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                          : WS_CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    if (sim_config.verbose)
        sim_log("cuGetProcAddress %s %d %d: %s", symbol, version, (int)flags, best ? best->symbol : "not found");
    return best ? WS_CUDA_SUCCESS : WS_CUDA_ERROR_NOT_FOUND;
}

ws_CUresult cuGetProcAddress_v2(const char *symbol, void **function, int version, uint64_t flags, ws_CUenum *status)
{
    trace_question(symbol, version, flags, __builtin_return_address(0));
    return answer(symbol, function, version, flags, status);
}

ws_CUresult cuGetProcAddress(const char *symbol, void **function, int version, uint64_t flags)
{
    trace_question(symbol, version, flags, __builtin_return_address(0));
    return answer(symbol, function, version, flags, NULL);
}

/* Fails: the simulated driver has none of the real driver's private tables. */
ws_CUresult cuGetExportTable(const void **table, const ws_CUuuid *id)
{
    NEED(table && id);
    *table = NULL;
    if (sim_config.verbose)
        sim_log("cuGetExportTable %02x%02x%02x%02x: not found", (unsigned char)id->bytes[0],
                (unsigned char)id->bytes[1], (unsigned char)id->bytes[2], (unsigned char)id->bytes[3]);
    return WS_CUDA_ERROR_NOT_FOUND;
}

static bool said[NAMES];

ws_CUresult sim_not_supported(const char *name)
{
    for (int i = 0; i < NAMES; i++)
        if (strcmp(names[i].symbol, name) == 0 && !__atomic_exchange_n(&said[i], true, __ATOMIC_RELAXED))
            sim_log("%s is not supported by this driver", name);
    return WS_CUDA_ERROR_NOT_SUPPORTED;
}
