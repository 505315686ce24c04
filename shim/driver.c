/* The wrappers of the driver's functions: the table, expanded. */
#include "driver_calls.h"
#include "notes.h"

/* See exports.map for what the version does. */
#define EXPORTED(symbol)                                       \
    __asm__(".symver wrap_" #symbol ", " #symbol "@WALLSHIM"); \
    __attribute__((visibility("default")))

/* The arguments of a row come in parentheses of their own, so `real arguments` is the call. */
#define DRIVER_ROW(symbol, base, since, flavour, family, parameters, arguments, before, after)                 \
    EXPORTED(symbol) ws_CUresult wrap_##symbol parameters;                                                     \
    ws_CUresult wrap_##symbol parameters                                                                       \
    {                                                                                                          \
        ws_CUresult(*real) parameters =                                                                        \
            (ws_CUresult(*) parameters)__atomic_load_n(&resolve_real[WS_ID_##symbol], __ATOMIC_RELAXED);       \
        if (__builtin_expect(!real, 0))                                                                        \
            real = (ws_CUresult(*) parameters)resolve_find(WS_ID_##symbol);                                    \
        if (__builtin_expect(!real, 0))                                                                        \
            return WS_CUDA_ERROR_NO_DEVICE;                                                                    \
        struct call call;                                                                                      \
        uintptr_t frame;                                                                                       \
        if (!call_enter(&call, &frame, WS_ID_##symbol, FLAVOUR_##flavour != FLAVOUR_LEGACY, WS_CALL_##family)) \
            return real arguments;                                                                             \
        before;                                                                                                \
        call_begins(&call, WS_CALL_##family);                                                                  \
        call.result = real arguments;                                                                          \
        call_returned(&call, WS_CALL_##family);                                                                \
        after;                                                                                                 \
        call_leave(&call);                                                                                     \
        return call.result;                                                                                    \
    }
#include "driver_table.h"
