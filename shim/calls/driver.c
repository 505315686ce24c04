/* The wrappers of the driver's functions. The preprocessor makes a wrapper of each row of hook/driver_table.h. */
#include "shim/calls/notes.h"
#include "shim/hook/driver_calls.h"

/* Exports the wrapper under the driver's name; exports.map explains the version. */
#define EXPORTED(symbol)                                       \
    __asm__(".symver wrap_" #symbol ", " #symbol "@WALLSHIM"); \
    __attribute__((visibility("default")))

/* The entry of a wrapper, for functions that need not be noted while nothing is recorded. While nothing is recorded,
 * this code counts the call and jumps to the real function. If calls are recorded, or if the real function or the
 * thread's state is not known yet, it jumps to the wrapper's C code (note_…). The entry is in assembly because a C
 * wrapper would copy all arguments at its start. The attributes keep GCC from adding code at the entry
 * (-fstack-protector-all, -finstrument-functions): such code would overwrite registers that hold arguments. */
#if defined(__x86_64__)
#define PASSING(symbol, parameters)                                                                                 \
    static ws_CUresult note_##symbol parameters __asm__("note_" #symbol);                                           \
    __attribute__((naked, no_stack_protector, no_instrument_function)) ws_CUresult wrap_##symbol parameters         \
    {                                                                                                               \
        __asm__("testb %[recording], shim_page(%%rip)\n\t"                                                          \
                "jne note_" #symbol "\n\t"                                                                          \
                "movq resolve_real+%c[real](%%rip), %%rax\n\t"                                                      \
                "testq %%rax, %%rax\n\t"                                                                            \
                "je note_" #symbol "\n\t"                                                                           \
                "testb %[started], shim_page(%%rip)\n\t"                                                            \
                "je 1f\n\t"                                                                                         \
                "movq thread_self@gottpoff(%%rip), %%r11\n\t"                                                       \
                "movq %%fs:(%%r11), %%r11\n\t"                                                                      \
                "testq %%r11, %%r11\n\t"                                                                            \
                "je note_" #symbol "\n\t"                                                                           \
                "addq $1, %c[passed](%%r11)\n"                                                                      \
                "1:\tjmpq *%%rax"                                                                                   \
                :                                                                                                   \
                : [recording] "i"(SHIM_RECORDING), [started] "i"(SHIM_STARTED),                                     \
                  [real] "i"(WS_ID_##symbol * sizeof(void *)), [passed] "i"(offsetof(struct shim_thread, passed))); \
    }                                                                                                               \
    static __attribute__((used, noipa)) ws_CUresult note_##symbol parameters
_Static_assert(offsetof(struct shim_page, phase) == 0 && offsetof(struct thread_self, thread) == 0 &&
                   (SHIM_RECORDING | SHIM_STARTED) < 256,
               "where the assembly looks for them");
#else
#define PASSING(symbol, parameters) ws_CUresult wrap_##symbol parameters
#endif
#define NOTED(symbol, parameters) ws_CUresult wrap_##symbol parameters

/* The kind of wrapper for each family of functions. NOTED: the shim notes the effects of the calls even while nothing
 * is recorded. PASSING: while nothing is recorded, the wrapper only counts the call and passes it on. DRIVER_ROW
 * checks at compile time that this choice agrees with CALLS_ALWAYS_NOTED (call.h). */
#define WRAPPER_CAPTURE NOTED
#define WRAPPER_GRAPH NOTED
#define WRAPPER_LIFETIME NOTED
#define WRAPPER_MEMORY NOTED
#define WRAPPER_MODULE NOTED
#define WRAPPER_PROFILER NOTED
#define WRAPPER_RESOLUTION NOTED
#define WRAPPER_COPY PASSING
#define WRAPPER_EVENT PASSING
#define WRAPPER_LAUNCH PASSING
#define WRAPPER_MEMSET PASSING
#define WRAPPER_OTHER PASSING
#define WRAPPER_SYNC PASSING
#define WRAPPER_WORK PASSING

#define ALWAYS_NOTED(kind) ALWAYS_NOTED_(kind)
#define ALWAYS_NOTED_(kind) ALWAYS_##kind
enum { ALWAYS_NOTED = 1, ALWAYS_PASSING = 0 };

/* Used after the call of the real function, LOOK_AT keeps GCC from making this call a tail call. A tail call may
 * overwrite the arguments on the stack, so GCC would copy all of them at the wrapper's start. */
#define LOOK_AT(result) __asm__("" : "+r"(result))

/* The macro parameter `arguments` includes the parentheses, so `real arguments` is a call. */
#define DRIVER_ROW(symbol, base, since, flavour, family, parameters, arguments, before, after)                \
    _Static_assert(ALWAYS_NOTED(WRAPPER_##family) == (CALLS_ALWAYS_NOTED >> WS_CALL_##family & 1),            \
                   "the assembly passes on what call_enter does");                                            \
    EXPORTED(symbol) ws_CUresult wrap_##symbol parameters;                                                    \
    WRAPPER_##family(symbol, parameters)                                                                      \
    {                                                                                                         \
        ws_CUresult(*real) parameters =                                                                       \
            (ws_CUresult(*) parameters)__atomic_load_n(&resolve_real[WS_ID_##symbol], __ATOMIC_RELAXED);      \
        if (__builtin_expect(!real, 0))                                                                       \
            real = (ws_CUresult(*) parameters)resolve_find(WS_ID_##symbol);                                   \
        if (__builtin_expect(!real, 0))                                                                       \
            return WS_CUDA_ERROR_NO_DEVICE;                                                                   \
        struct call call;                                                                                     \
        uintptr_t frame;                                                                                      \
        bool noted =                                                                                          \
            call_enter(&call, &frame, WS_ID_##symbol, FLAVOUR_##flavour != FLAVOUR_LEGACY, WS_CALL_##family); \
        if (!noted) {                                                                                         \
            call.result = real arguments;                                                                     \
            LOOK_AT(call.result);                                                                             \
            return call.result;                                                                               \
        }                                                                                                     \
        before;                                                                                               \
        call_begins(&call, WS_CALL_##family);                                                                 \
        call.result = real arguments;                                                                         \
        call_returned(&call, WS_CALL_##family);                                                               \
        after;                                                                                                \
        call_leave(&call);                                                                                    \
        return call.result;                                                                                   \
    }
#pragma GCC diagnostic ignored "-Wunused-parameter" /* wrappers in assembly do not name their parameters */
#if defined(__clang__)
#pragma GCC diagnostic ignored "-Wunknown-attributes" /* clang does not know noipa, and does not need it */
#endif
#include "shim/hook/driver_table.h"
