/* A library that bench_stacks.py loads into Python. It measures the ns of one call of the driver for which the shim
 * may take a stack, and the ns of taking one native stack, both in the fastest burst. */
#include <dlfcn.h>
#include <execinfo.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "abi/cuda.h"
#include "base/clock.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT void stack_prepare(void);
EXPORT double stack_calls(int launches, int bursts, int calls);
EXPORT double stack_native(int kind, int depth);

enum { BURSTS = 41, NATIVE_CALLS = 2000, FRAMES_MOST = 64 };

EXPORT void stack_prepare(void)
{
    ws_CUcontext context;
    ws_CUresult (*init)(unsigned) = (ws_CUresult(*)(unsigned))dlsym(RTLD_DEFAULT, "cuInit");
    ws_CUresult (*retain)(ws_CUcontext *, ws_CUdevice) =
        (ws_CUresult(*)(ws_CUcontext *, ws_CUdevice))dlsym(RTLD_DEFAULT, "cuDevicePrimaryCtxRetain");
    init(0);
    retain(&context, 0);
}

typedef ws_CUresult (*launch_function)(ws_CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                       unsigned, ws_CUstream, void **, void **);

/* If `launches` is 1, launches kernels; the shim takes a stack for few of these launches. If it is 0, makes calls for
 * which the shim always takes a stack. In the pause after each burst, the shim's thread empties the ring (the buffer
 * of records). */
EXPORT double stack_calls(int launches, int bursts, int calls)
{
    double fastest = INFINITY;
    ws_CUresult (*call)(void) = (ws_CUresult(*)(void))dlsym(RTLD_DEFAULT, "cuCtxSynchronize");
    launch_function launch = (launch_function)dlsym(RTLD_DEFAULT, "cuLaunchKernel");
    for (int burst = 0; burst < bursts; burst++) {
        int64_t start = ws_clock_ns();
        for (int i = 0; i < calls; i++)
            if (launches)
                launch((ws_CUfunction)(uintptr_t)4096, 1, 1, 1, 128, 1, 1, 0, NULL, NULL, NULL);
            else
                call();
        fastest = fmin(fastest, (double)(ws_clock_ns() - start) / calls);
        if (bursts > 1)
            nanosleep(&(struct timespec){ 0, 20000000 }, NULL);
    }
    return fastest;
}

typedef int (*backtrace_function)(void **, int);

/* Calls itself until the stack has `depth` frames. The asm statement prevents a tail call, so each frame stays on the
 * stack. */
static __attribute__((noinline)) double native(backtrace_function trace, int depth)
{
    if (depth > 1) {
        double ns = native(trace, depth - 1);
        __asm__ volatile("" : "+m"(ns));
        return ns;
    }
    double fastest = INFINITY;
    void *frames[FRAMES_MOST];
    for (int burst = 0; burst < BURSTS; burst++) {
        int64_t start = ws_clock_ns();
        for (int i = 0; i < NATIVE_CALLS; i++)
            trace(frames, FRAMES_MOST);
        fastest = fmin(fastest, (double)(ws_clock_ns() - start) / NATIVE_CALLS);
    }
    return fastest;
}

/* libunwind's functions for walking a stack frame by frame. Their names depend on the processor, and the header may
 * not be installed. */
static int (*unw_init)(void *cursor, void *context), (*unw_move)(void *cursor);
static int (*unw_context)(void *context);

static int step_all(void **frames, int most)
{
    _Alignas(16) char context[4096], cursor[4096];
    (void)frames;
    int count = 0;
    unw_context(context);
    unw_init(cursor, context);
    while (count < most && unw_move(cursor) > 0)
        count++;
    return count;
}

/* Returns the ns of taking one stack, which has `depth` frames besides those of the callers. kind: 0 glibc's
 * backtrace(3), 1 libunwind's unw_backtrace, 2 libunwind's unw_step. Returns -1 if that function is not installed. */
EXPORT double stack_native(int kind, int depth)
{
    backtrace_function trace = backtrace;
    void *library = kind ? dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL) : NULL;
    if (kind && !library)
        return -1;
    if (kind == 1)
        trace = (backtrace_function)dlsym(library, "unw_backtrace");
    if (kind == 2) {
        unw_context = (int (*)(void *))dlsym(library, "_Ux86_64_getcontext");
        unw_init = (int (*)(void *, void *))dlsym(library, "_ULx86_64_init_local");
        unw_move = (int (*)(void *))dlsym(library, "_ULx86_64_step");
        trace = unw_context && unw_init && unw_move ? step_all : NULL;
    }
    return trace ? native(trace, depth) : -1;
}
