/* Measures how long a native stack takes, beside glibc's backtrace and libunwind. Prints lines of JSON. */
#include <dlfcn.h>
#include <execinfo.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <ucontext.h>

#include "shim/stacks/native.h"
#include "shim/state/lock.h"
#include "shim/state/registry.h"

enum { FRAMES = 16, ROUNDS = 20000, REPEATS = 7, CURSOR_WORDS = 127 };

static struct shim_thread thread;
static void *addresses[FRAMES];

/* libunwind's functions, which have these names on x86-64. Its context is a ucontext_t. */
static struct {
    int (*backtrace)(void **addresses, int size);
    int (*context)(ucontext_t *context);
    int (*init)(uint64_t *cursor, ucontext_t *context);
    int (*step)(uint64_t *cursor);
    int (*get_register)(uint64_t *cursor, int number, uint64_t *value);
} unwinder;

static unsigned take_ours(void)
{
    return native_stack(&thread, 0);
}

static unsigned take_glibc(void)
{
    return (unsigned)backtrace(addresses, FRAMES);
}

static unsigned take_fast(void)
{
    return (unsigned)unwinder.backtrace(addresses, FRAMES);
}

static unsigned take_steps(void)
{
    enum { INSTRUCTION = 16 };
    ucontext_t context;
    uint64_t cursor[CURSOR_WORDS], pc;
    unsigned count = 0;
    unwinder.context(&context);
    unwinder.init(cursor, &context);
    do
        unwinder.get_register(cursor, INSTRUCTION, &pc);
    while (++count < FRAMES && unwinder.step(cursor) > 0);
    return count;
}

/* Returns the CPU time of this thread, because other programs may run meanwhile. */
static double cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* Returns how many ns one stack takes: the median of several runs. */
static double measure(unsigned (*take)(void))
{
    double best[REPEATS];
    for (int i = 0; i < 100; i++)
        take();
    for (int run = 0; run < REPEATS; run++) {
        double begin = cpu_ns();
        for (int i = 0; i < ROUNDS; i++)
            take();
        best[run] = (cpu_ns() - begin) / ROUNDS;
        for (int i = run; i && best[i] < best[i - 1]; i--) {
            double higher = best[i - 1];
            best[i - 1] = best[i];
            best[i] = higher;
        }
    }
    return best[REPEATS / 2];
}

static void show(const char *name, double value)
{
    printf("{\"name\": \"stack of %d frames, %s\", \"value\": %.1f, \"unit\": \"ns\"}\n", FRAMES, name, value);
}

static bool find_unwinder(void)
{
    void *library = dlopen("libunwind.so.8", RTLD_NOW);
    if (!library)
        return false;
    *(void **)&unwinder.backtrace = dlsym(library, "unw_backtrace");
    *(void **)&unwinder.context = dlsym(library, "_Ux86_64_getcontext");
    *(void **)&unwinder.init = dlsym(library, "_ULx86_64_init_local");
    *(void **)&unwinder.step = dlsym(library, "_ULx86_64_step");
    *(void **)&unwinder.get_register = dlsym(library, "_ULx86_64_get_reg");
    return unwinder.backtrace && unwinder.context && unwinder.init && unwinder.step && unwinder.get_register;
}

static int measure_all(void)
{
    unsigned frames = take_glibc();
    uint32_t id = take_ours();
    const struct ws_frame *frame = id ? registry_row(&registry.frame, id) : NULL;
    unsigned ours = 0;
    for (; frame; frame = frame->caller ? registry_row(&registry.frame, frame->caller) : NULL)
        ours++;
    /* The shim's stack walk begins one function deeper than glibc's, so it may have one frame more. */
    if (frames != FRAMES || ours < FRAMES) {
        fprintf(stderr, "%u frames by glibc, %u by us\n", frames, ours);
        return 1;
    }
    show("native", measure(take_ours));
    show("glibc backtrace", measure(take_glibc));
    if (find_unwinder()) {
        show("libunwind unw_backtrace", measure(take_fast));
        show("libunwind unw_step", measure(take_steps));
    }
    return 0;
}

__attribute__((noipa)) static int recurse(int depth)
{
    return depth ? recurse(depth - 1) : measure_all();
}

int main(void)
{
    locks_open();
    registry_init();
    const char *why_not = native_find();
    if (why_not) {
        fprintf(stderr, "%s\n", why_not);
        return 77;
    }
    /* The other frames of the stack are main, the three functions that call main, and the functions that measure. */
    return recurse(FRAMES - 5);
}
