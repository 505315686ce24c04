/* Threads call functions while these are patched and unpatched again and again. Each call must give the right result,
 * either by the original or by the replacement.
 *
 * The head is the part of a function that the patch overwrites. A head of one instruction is patched while the
 * threads run. For a head of several instructions, a tracer (a process that this one forks) first stops the threads,
 * as wallshim does when it attaches to a running program. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "shim/attach/patch.h"

enum { THREADS = 3, BY_REPLACEMENT = 1 << 30 };

/* How often the functions are patched and unpatched. Stopping all threads takes long on a busy machine, so the test
 * that stops them has fewer cycles. An argument of the program replaces both numbers. */
static unsigned cycles_running = 10000, cycles_stopped = 300;

typedef int function(int);

/* Both functions return the given number + 1. The first one begins two bytes before the end of a page, with a single
 * instruction to overwrite. The second one begins with several slow instructions, so that threads are often stopped
 * between them. */
__asm__(".pushsection .text.patched, \"ax\", @progbits; .p2align 12; .skip 4094, 0xcc;"
        ".globl one_step; .type one_step, @function; one_step: lea 1(,%rdi), %rax; ret;"
        ".size one_step, . - one_step;"
        ".p2align 4; .globl many_steps; .type many_steps, @function;"
        "many_steps: pause; pause; nop; lea 1(%rdi), %eax; ret; .size many_steps, . - many_steps; .popsection");
function one_step, many_steps;

static struct shared {
    struct patch patch;
    pid_t threads[THREADS];
    unsigned within; /* threads that were stopped between two instructions that the patch overwrites */
} * shared;

static int to_tracer[2], from_tracer[2];
static _Atomic bool finished;
static _Atomic unsigned started, wrong, by_original, by_replacement;
static function *called;

static int replacement(int number)
{
    return ((function *)patch_trampoline(&shared->patch))(number) | BY_REPLACEMENT;
}

static void *call_again_and_again(void *place)
{
    *(pid_t *)place = (pid_t)syscall(SYS_gettid);
    started++;
    for (int i = 0; !finished; i = (i + 1) & 0xffff) {
        int result = called(i);
        if ((result & ~BY_REPLACEMENT) != i + 1)
            wrong++;
        *(result & BY_REPLACEMENT ? &by_replacement : &by_original) += 1;
    }
    return NULL;
}

/* --- the tracer -------------------------------------------------------------------------------- */

static void stop_thread(pid_t thread)
{
    int status;
    ptrace(PTRACE_INTERRUPT, thread, NULL, NULL);
    waitpid(thread, &status, __WALL);
}

/* Returns whether the stopped thread stands between two instructions of the head. */
static bool is_within_head(pid_t thread)
{
    struct user_regs_struct registers;
    uintptr_t begin, end;
    patch_range(&shared->patch, &begin, &end);
    return !ptrace(PTRACE_GETREGS, thread, NULL, &registers) && registers.rip > begin && registers.rip < end;
}

static void resume_all(void)
{
    for (unsigned i = 0; i < THREADS; i++)
        ptrace(PTRACE_CONT, shared->threads[i], NULL, NULL);
}

/* Stops all threads in places where the patch may be applied, as wallshim attach does. */
static void stop_all(void)
{
    for (bool again = true; again;) {
        again = false;
        for (unsigned i = 0; i < THREADS; i++) {
            stop_thread(shared->threads[i]);
            bool within = is_within_head(shared->threads[i]);
            shared->within += within;
            again |= within;
        }
        if (again)
            resume_all();
    }
}

static bool seize_all(void)
{
    bool may_trace = true;
    for (unsigned i = 0; i < THREADS; i++)
        may_trace &= !ptrace(PTRACE_SEIZE, shared->threads[i], NULL, NULL);
    return may_trace;
}

/* Reads commands, one letter each: b begins to trace, s stops the threads, g lets them go on. Answers each command
 * with one byte. Returns when there are no more commands. */
static void trace(void)
{
    char command, answer = 0;
    while (read(to_tracer[0], &command, 1) == 1) {
        if (command == 'b')
            answer = seize_all() ? 0 : 1;
        else
            (command == 's' ? stop_all : resume_all)();
        if (write(from_tracer[1], &answer, 1) != 1)
            break;
    }
    _exit(0);
}

static char ask_tracer(char command)
{
    char answer = 1;
    assert_int_equal(write(to_tracer[1], &command, 1), 1);
    assert_int_equal(read(from_tracer[0], &answer, 1), 1);
    return answer;
}

static pid_t start_tracer(void)
{
    pid_t tracer;
    if (pipe(to_tracer) || pipe(from_tracer) || (tracer = fork()) < 0)
        return -1;
    if (!tracer) {
        close(to_tracer[1]);
        trace();
    }
    prctl(PR_SET_PTRACER, tracer, 0, 0, 0);
    return tracer;
}

/* --- the tests ----------------------------------------------------------------------------------- */

static void cycle(bool stop)
{
    if (stop)
        ask_tracer('s');
    enum patch_refusal refusal = patch_apply(&shared->patch);
    if (stop)
        ask_tracer('g');
    assert_int_equal(refusal, PATCH_OK);
    assert_int_equal(patch_remove(&shared->patch), PATCH_OK);
}

static void run_cycles(function *patched, size_t size, unsigned cycles, bool stop)
{
    uint8_t before[64];
    pthread_t threads[THREADS];
    memcpy(before, (const void *)patched, sizeof(before));
    called = patched;
    finished = false;
    started = wrong = by_original = by_replacement = shared->within = 0;
    assert_int_equal(patch_prepare(&shared->patch, (void *)patched, size, (void *)replacement), PATCH_OK);
    assert_int_equal(shared->patch.steps > 1, stop);
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, call_again_and_again, &shared->threads[i]), 0);
    while (started < THREADS)
        sched_yield();
    bool may_trace = !stop || !ask_tracer('b');
    for (unsigned i = 0; may_trace && i < cycles; i++)
        cycle(stop);
    finished = true;
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    print_message("calls: %u by the original, %u by the replacement; threads within the head: %u\n", by_original,
                  by_replacement, shared->within);
    assert_int_equal(wrong, 0);
    assert_memory_equal(before, patched, sizeof(before));
    if (!may_trace)
        skip();
}

static void test_one_step(void **state)
{
    (void)state;
    assert_int_equal((uintptr_t)one_step % 4096, 4094);
    run_cycles(one_step, 9, cycles_running, false);
}

static void test_many_steps(void **state)
{
    (void)state;
    pid_t tracer = start_tracer();
    assert_true(tracer > 0);
    run_cycles(many_steps, 9, cycles_stopped, true);
    close(to_tracer[1]);
    waitpid(tracer, NULL, 0);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        cycles_running = cycles_stopped = (unsigned)atoi(argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_step),
        cmocka_unit_test(test_many_steps),
    };
    void *zydis = dlopen("libZydis.so.4.0", RTLD_NOW);
    if (!zydis || patch_decoder_take(zydis, dlsym))
        return 77;
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return shared == MAP_FAILED ? 77 : cmocka_run_group_tests(tests, NULL, NULL);
}
