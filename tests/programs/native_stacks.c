/* Makes CUDA calls from all kinds of native code, and writes the stack of each as the program itself knows it.
 *
 *   native_stacks FILE PLUGIN PLUGIN     writes a line for each call: "function (file:line);…", outermost first
 *
 * Each function keeps its name and line in a list (MARK, AT). The program is built without frame pointers. The two
 * plugins differ in the names of their functions, but are so alike that the second plugin is loaded at the address at
 * which the first one was. */
#include <alloca.h>
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <ucontext.h>

#include "native_stacks.h"
#include "program.h"

__thread struct mark native_marks[MARKS_MOST];
__thread int native_depth;
static __thread int first; /* index of the first mark on the current stack; earlier marks are on another stack */
static FILE *out;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

NOT_INLINED static void write_marks(void)
{
    pthread_mutex_lock(&lock);
    for (int i = first; i < native_depth; i++)
        fprintf(out, "%s%s (%s:%d)", i == first ? "" : ";", native_marks[i].function, native_marks[i].file,
                native_marks[i].line);
    fputc('\n', out);
    pthread_mutex_unlock(&lock);
}

/* Writes the marks of the current stack, and makes a driver call that does nothing, but for which the shim records a
 * stack. */
#define SEE (AT(write_marks()), cuMemFree_v2(0))

NOT_INLINED static void plain(void)
{
    MARK;
    SEE;
    for (volatile int i = 0; i < 2; i++)
        SEE;
    UNMARK;
}

INLINED static void inlined(void)
{
    MARK;
    SEE;
    UNMARK;
}

INLINED static void inlined_twice(void)
{
    MARK;
    AT(inlined());
    UNMARK;
}

NOT_INLINED static void with_inlined(void)
{
    MARK;
    AT(inlined_twice());
    AT(plain());
    UNMARK;
}

/* The compiler needs a frame pointer in this function, because the size of its frame varies. */
NOT_INLINED static void of_any_size(size_t size)
{
    MARK;
    volatile char *memory = alloca(size);
    memory[size - 1] = 1;
    SEE;
    AT(plain());
    UNMARK;
}

/* The compiler aligns the stack in this function. So the unwind tables find the caller's frame by an address that the
 * function has stored on the stack. */
NOT_INLINED static void aligned(size_t size)
{
    MARK;
    _Alignas(128) volatile char memory[128];
    memory[size] = 1;
    SEE;
    AT(of_any_size(size));
    UNMARK;
}

NOT_INLINED static void large(void)
{
    MARK;
    volatile char memory[300000];
    memory[0] = memory[sizeof(memory) - 1] = 1;
    SEE;
    UNMARK;
}

NOT_INLINED static void recurse(int depth)
{
    MARK;
    if (depth)
        AT(recurse(depth - 1));
    else
        SEE;
    UNMARK;
}

NOT_INLINED static int compare(const void *a, const void *b)
{
    MARK;
    SEE;
    UNMARK;
    return *(const int *)a - *(const int *)b;
}

NOT_INLINED static void through_libc(void)
{
    MARK;
    int values[] = { 3, 1, 2 };
    AT(qsort(values, 3, sizeof(values[0]), compare));
    UNMARK;
}

/* --- signals ------------------------------------------------------------------------------------- */

NOT_INLINED static void handle(int number, siginfo_t *info, void *context)
{
    MARK;
    (void)info;
    SEE;
    AT(plain());
    if (number == SIGILL) /* makes the function continue after the illegal instruction */
        ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] += 2;
    UNMARK;
}

/* A signal interrupts this function at its first instruction. The instruction before the first one belongs to another
 * function. */
NOT_INLINED static void trap(void)
{
    __asm__ volatile("ud2");
}

enum { TRAP_LINE = __LINE__ - 3 };

NOT_INLINED static void interrupted(void)
{
    MARK;
    AT(raise(SIGUSR1));
    native_marks[native_depth] = (struct mark){ "trap", native_marks[native_depth - 1].file, TRAP_LINE };
    AT((native_depth++, trap()));
    native_depth--;
    UNMARK;
}

static void handle_signals(void)
{
    struct sigaction action = { .sa_sigaction = handle, .sa_flags = SA_SIGINFO };
    sigaction(SIGUSR1, &action, NULL);
    action.sa_flags |= SA_ONSTACK;
    sigaction(SIGILL, &action, NULL);
}

/* --- stacks of other kinds ------------------------------------------------------------------------- */

static __thread ucontext_t outside, coroutine;

NOT_INLINED static void on_coroutine(void)
{
    int saved = first;
    first = native_depth;
    MARK;
    SEE;
    AT(plain());
    AT(aligned(50));
    UNMARK;
    first = saved;
}

NOT_INLINED static void with_coroutine(void)
{
    char *stack = malloc(100000);
    getcontext(&coroutine);
    coroutine.uc_stack.ss_sp = stack;
    coroutine.uc_stack.ss_size = 100000;
    coroutine.uc_link = &outside;
    makecontext(&coroutine, on_coroutine, 0);
    swapcontext(&outside, &coroutine);
    free(stack);
}

NOT_INLINED static void jump(jmp_buf *to)
{
    MARK;
    SEE;
    longjmp(*to, 1);
}

NOT_INLINED static void jumped(void)
{
    MARK;
    jmp_buf here;
    int depth = native_depth;
    if (!setjmp(here))
        AT(jump(&here));
    native_depth = depth;
    SEE;
    UNMARK;
}

/* --- all ------------------------------------------------------------------------------------------- */

NOT_INLINED static void everything(void)
{
    MARK;
    AT(plain());
    AT(with_inlined());
    AT(of_any_size(100));
    AT(aligned(64));
    AT(large());
    AT(recurse(30));
    AT(recurse(300));
    AT(through_libc());
    AT(interrupted());
    AT(with_coroutine());
    AT(jumped());
    UNMARK;
}

static ws_CUcontext context;

static void *work(void *unused)
{
    char *memory = malloc(100000);
    stack_t stack = { .ss_sp = memory, .ss_size = 100000 }, none = { .ss_flags = SS_DISABLE };
    (void)unused;
    MARK;
    sigaltstack(&stack, NULL);
    cuCtxSetCurrent(context);
    AT(everything());
    sigaltstack(&none, NULL);
    free(memory);
    UNMARK;
    return NULL;
}

NOT_INLINED static void plug(const char *path)
{
    MARK;
    void *plugin = dlopen(path, RTLD_NOW);
    void (*call)(void (*)(void)) = plugin ? (void (*)(void (*)(void)))(uintptr_t)dlsym(plugin, "plugin_call") : NULL;
    if (!call)
        exit(3);
    Dl_info info;
    dladdr((void *)(uintptr_t)call, &info);
    /* Both plugins should have the same address; otherwise the test does not cover an address that is used again. */
    printf("%p\n", info.dli_fbase);
    AT(call(plain));
    dlclose(plugin);
    UNMARK;
}

int main(int argc, char **argv)
{
    MARK;
    ws_CUdevice device;
    pthread_t threads[3];
    out = argc == 4 ? fopen(argv[1], "w") : NULL;
    if (!out)
        return 2;
    MUST(cuInit(0));
    MUST(cuDeviceGet(&device, 0));
    MUST(cuDevicePrimaryCtxRetain(&context, device));
    handle_signals();
    AT(work(NULL));
    for (int round = 0; round < 2; round++) {
        AT(plug(argv[2]));
        AT(plug(argv[3]));
    }
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    fclose(out);
    return 0;
}
