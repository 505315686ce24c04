/* Tests of shim/calls/frames, which tells whether a wrapped call was made from within another wrapped call. The tests
 * use stacks of every kind, and calls that return or are left by longjmp. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <cmocka.h>

#include "shim/objects/thread.h"

/* frames.h is compiled in here. It calls `in_between` at the point of a call's begin where a signal may arrive. */
static void in_between(void);
#undef atomic_signal_fence
#define atomic_signal_fence(order) in_between()
#include "shim/calls/frames.h"

static struct shim_thread *thread;
static uintptr_t within_between; /* value of thread->within at the point where a signal may arrive */
enum { STACK = 1 << 16 };

#define FRAME __attribute__((noinline, noclone, no_sanitize("address", "thread")))

static void in_between(void)
{
    within_between = thread->within;
}

/* The same check as call_is_nested in ops.h. */
#define MADE_WITHIN()  \
    (thread->within && \
     frame_makes(thread, thread->within, (uintptr_t)__builtin_dwarf_cfa(), __builtin_return_address(0)))

/* Stands for a wrapper of the shim. Inside another wrapped call it only calls `real`. Otherwise its own call is noted
 * as the call under way while `real` runs. */
static bool inner_was_within;
static FRAME void wrapped(void (*real)(void))
{
    uintptr_t word = 0;
    bool within = MADE_WITHIN();
    inner_was_within = within;
    if (!within)
        frame_begin(thread, &thread->within, &word);
    if (real)
        real();
    __asm__ volatile("" : : "r"(&word) : "memory");
    if (!within)
        thread->within = 0;
}

static int begin_anew(void **state)
{
    (void)state;
    memset(thread, 0, offsetof(struct shim_thread, group_depth));
    inner_was_within = false;
    return 0;
}

static int open_thread(void **state)
{
    (void)state;
    thread = mmap(NULL, sizeof(*thread), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return thread == MAP_FAILED ? -1 : 0;
}

static int close_thread(void **state)
{
    (void)state;
    return munmap(thread, sizeof(*thread));
}

/* --- on one stack ------------------------------------------------------------------------------ */

static FRAME void call_once_more(void)
{
    wrapped(NULL);
    assert_true(inner_was_within);
}

static FRAME void call_deep(void)
{
    volatile char room[3000];
    room[0] = 1;
    call_once_more();
    (void)room[0];
}

static void a_call_within_a_call(void **state)
{
    (void)state;
    wrapped(NULL);
    assert_false(inner_was_within);
    wrapped(call_once_more);
    wrapped(call_deep);
    assert_int_equal(thread->within, 0);
    wrapped(NULL);
    assert_false(inner_was_within);
}

static FRAME void call_twice_more(void)
{
    wrapped(call_once_more);
    assert_int_not_equal(thread->within, 0);
    wrapped(call_once_more);
    assert_int_not_equal(thread->within, 0);
}

static void calls_within_calls_within_calls(void **state)
{
    (void)state;
    wrapped(call_twice_more);
    assert_int_equal(thread->within, 0);
}

static jmp_buf around;

static FRAME void leave(void)
{
    longjmp(around, 1);
}

static FRAME void leave_from_deep(void)
{
    volatile char room[6000];
    room[0] = 1;
    wrapped(leave);
    (void)room[0];
}

static FRAME void write_over_the_stack(void)
{
    volatile char room[20000];
    for (size_t i = 0; i < sizeof(room); i++)
        room[i] = 0x5a;
}

/* A call was left by longjmp, and the next call is made from the same place on the stack. The frame's address shows
 * that the earlier call is over. */
static void a_call_left_by_a_jump(void **state)
{
    (void)state;
    for (volatile int i = 0; i < 3; i++) {
        if (!setjmp(around))
            leave_from_deep();
        assert_int_not_equal(thread->within, 0);
        wrapped(NULL);
        assert_false(inner_was_within);
    }
}

static FRAME void call_from_deep(int frames)
{
    volatile char room[1000];
    room[0] = 1;
    if (frames)
        call_from_deep(frames - 1);
    else
        wrapped(NULL);
    (void)room[0];
}

/* After a call was left by longjmp, the next call is made from further down the stack. By then
 * the stack has been written over, and with it the word in the first call's frame that marks this call as under way.
 * So the shim knows that the first call is over. */
static void a_call_further_down_than_one_that_was_left(void **state)
{
    (void)state;
    if (!setjmp(around))
        wrapped(leave);
    assert_int_not_equal(thread->within, 0);
    write_over_the_stack();
    call_from_deep(8);
    assert_false(inner_was_within);
}

/* thread->nested caches which callers are inside the call under way. Once that call was left, the cache must not be
 * used. */
static void what_was_found_is_forgotten_with_its_call(void **state)
{
    (void)state;
    uintptr_t word = 0, at = 0;
    uintptr_t below = (uintptr_t)&word - 256;
    static const char from[2];
    frame_begin(thread, &at, &word);
    assert_int_equal(at, (uintptr_t)&word);
    assert_true(frame_makes(thread, at, below, &from[0]));
    assert_true(frame_makes(thread, at, below, &from[0]));
    *(volatile uintptr_t *)&word = 0;
    assert_false(frame_makes(thread, at, below, &from[1]));
    assert_false(frame_makes(thread, at, below, &from[0]));
}

/* A new call is inside the call under way only on two conditions. The word in the frame of the call under way must
 * hold this thread's address, and the new call's caller must lie below that word on the stack. */
static void only_this_threads_word_below_its_place_counts(void **state)
{
    (void)state;
    uintptr_t words[64] = { 0 }, at = 0;
    frame_begin(thread, &at, &words[32]);
    assert_true(frame_makes(thread, at, at, NULL));
    assert_true(frame_makes(thread, at, at - 16, NULL));
    assert_false(frame_makes(thread, at, at + 16, NULL));
    assert_true(frame_makes(thread, at, at - 128, NULL)); /* this check uses the same cache slot as the one before */
    assert_false(frame_makes(thread, at, at + 128, NULL));
    assert_false(frame_makes(thread, (uintptr_t)&words[33], at, NULL));
    *(volatile uintptr_t *)&words[32] = (uintptr_t)thread + sizeof(*thread);
    assert_false(frame_makes(thread, at, at, NULL));
}

/* A cached result (whether a caller is inside the call under way) is valid only for the same call under way and the
 * same caller. */
static void each_place_and_each_call_is_asked_about(void **state)
{
    (void)state;
    static const char from[3 * NESTED_KNOWN];
    uintptr_t words[2] = { 0 }, at = 0, below = (uintptr_t)words - 256;
    for (int i = 0; i < 3 * NESTED_KNOWN; i++) {
        frame_begin(thread, &at, &words[0]);
        assert_true(frame_makes(thread, at, below, &from[i]));
        *(volatile uintptr_t *)&words[0] = 0;
        /* the result is cached, so the overwritten word is not read again */
        assert_true(frame_makes(thread, at, below, &from[i]));
        if (i % 2)
            assert_false(frame_makes(thread, (uintptr_t)&words[1], below, &from[i]));
        else
            assert_false(frame_makes(thread, at, below, &from[(i + NESTED_KNOWN) % (3 * NESTED_KNOWN)]));
    }
    assert_int_equal(thread->captures_beginning, 0); /* the member after thread->nested is unchanged */
}

static void the_shims_own_work_is_marked_as_a_call(void **state)
{
    (void)state;
    uintptr_t word = 0, inner = 0;
    within_between = 1;
    assert_true(frame_guard(thread, &word));
    /* thread->within is set last, so a call in a signal handler never finds it without the word to which it points */
    assert_int_equal(within_between, 0);
    assert_int_equal(thread->within, (uintptr_t)&word);
    assert_int_equal(word, (uintptr_t)thread);
    assert_false(frame_guard(thread, &inner));
    assert_int_equal(thread->within, (uintptr_t)&word);
    assert_int_equal(inner, 0);
    thread->within = 0;
}

/* --- stacks that are gone ---------------------------------------------------------------------- */

static void a_stack_that_cannot_be_read(void **state)
{
    (void)state;
    long page = sysconf(_SC_PAGESIZE);
    char *pages = mmap(NULL, (size_t)page * 2, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(pages != MAP_FAILED);
    uintptr_t *words[] = { (uintptr_t *)(void *)(pages + page / 2),
                           (uintptr_t *)(void *)(pages + page - sizeof(uintptr_t)) };
    for (int i = 0; i < 2; i++) {
        uintptr_t at = 0;
        frame_begin(thread, &at, words[i]);
        errno = ENOTTY;
        assert_true(frame_makes(thread, at, at - 512, NULL));
        assert_int_equal(errno, ENOTTY);
    }
    memset(thread->nested, 0, sizeof(thread->nested));
    assert_int_equal(mprotect(pages, (size_t)page, PROT_NONE), 0);
    for (int i = 0; i < 2; i++) {
        errno = ENOTTY;
        assert_false(frame_makes(thread, (uintptr_t)words[i], (uintptr_t)words[i] - 512, NULL));
        assert_int_equal(errno, ENOTTY);
    }
    munmap(pages, (size_t)page * 2);
    assert_false(frame_makes(thread, (uintptr_t)words[0], (uintptr_t)words[0] - 512, NULL));
    assert_int_equal(errno, ENOTTY);
}

static ucontext_t here, coroutine;

static FRAME void yield(void)
{
    swapcontext(&coroutine, &here);
}

static FRAME void yield_then_call(void)
{
    yield();
    wrapped(NULL);
}

static void run_coroutine(void)
{
    wrapped(yield_then_call);
}

static char *stack_for(void (*run)(void))
{
    char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(stack != MAP_FAILED);
    assert_int_equal(getcontext(&coroutine), 0);
    coroutine.uc_stack.ss_sp = stack;
    coroutine.uc_stack.ss_size = STACK;
    coroutine.uc_link = &here;
    makecontext(&coroutine, run, 0);
    return stack;
}

static void a_coroutine_within_a_call(void **state)
{
    (void)state;
    char *stack = stack_for(run_coroutine);
    swapcontext(&here, &coroutine);
    assert_in_range(thread->within, (uintptr_t)stack, (uintptr_t)stack + STACK - 1);
    swapcontext(&here, &coroutine);
    assert_true(inner_was_within);
    assert_int_equal(thread->within, 0);
    munmap(stack, STACK);
}

/* A coroutine is never resumed and its stack is unmapped. The call on it is over, whatever stack the next call
 * uses. */
static void a_coroutine_that_never_comes_back(void **state)
{
    (void)state;
    char *stack = stack_for(run_coroutine);
    swapcontext(&here, &coroutine);
    uintptr_t at = thread->within;
    munmap(stack, STACK);
    assert_false(frame_makes(thread, at, at - 512, NULL));
    wrapped(NULL);
    assert_false(inner_was_within);
}

/* --- stacks of signal handlers ----------------------------------------------------------------- */

static char *signal_stack, *thread_stack;
static void (*in_handler)(void);

static void handle(int number)
{
    (void)number;
    in_handler();
}

/* Calls `run` in a coroutine, on one of two adjacent stacks; the coroutine stands for a thread. Signal handlers use
 * the other stack. `above`: the handlers' stack has the higher addresses. */
static void with_stacks(bool above, void (*run)(void), void (*handler)(void))
{
    char *both = mmap(NULL, 2 * STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(both != MAP_FAILED);
    thread_stack = above ? both : both + STACK;
    signal_stack = above ? both + STACK : both;
    stack_t stack = { .ss_sp = signal_stack, .ss_size = STACK }, before;
    struct sigaction action = { .sa_handler = handle, .sa_flags = SA_ONSTACK };
    assert_int_equal(sigaltstack(&stack, &before), 0);
    assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
    in_handler = handler;
    assert_int_equal(getcontext(&coroutine), 0);
    coroutine.uc_stack.ss_sp = thread_stack;
    coroutine.uc_stack.ss_size = STACK;
    coroutine.uc_link = &here;
    makecontext(&coroutine, run, 0);
    swapcontext(&here, &coroutine);
    signal(SIGUSR1, SIG_DFL);
    before.ss_flags &= ~SS_ONSTACK;
    sigaltstack(&before, NULL);
    munmap(both, 2 * STACK);
}

static bool within_in_handler[2];

static FRAME void call_in_handler(void)
{
    wrapped(NULL);
    within_in_handler[0] = inner_was_within;
}

static FRAME void interrupt(void)
{
    raise(SIGUSR1);
}

static void be_interrupted(void)
{
    wrapped(interrupt);
}

static void a_handler_on_its_own_stack(void **state)
{
    (void)state;
    for (int above = 0; above < 2; above++) {
        within_in_handler[0] = false;
        with_stacks(above, be_interrupted, call_in_handler);
        assert_true(within_in_handler[0]);
        assert_int_equal(thread->within, 0);
    }
}

/* A signal handler makes a call while no call is under way, and inside this call makes another one. */
static FRAME void note_inner(void)
{
    wrapped(NULL);
    within_in_handler[1] = inner_was_within;
}

static FRAME void call_twice_in_handler(void)
{
    wrapped(note_inner);
    wrapped(NULL);
    within_in_handler[0] = inner_was_within;
}

static void a_handlers_own_call(void **state)
{
    (void)state;
    for (int above = 0; above < 2; above++) {
        within_in_handler[1] = false;
        with_stacks(above, interrupt, call_twice_in_handler);
        assert_true(within_in_handler[1]);
        assert_false(within_in_handler[0]);
        assert_int_equal(thread->within, 0);
    }
}

static jmp_buf in_handlers_frame;

static FRAME void leave_in_handler(void)
{
    longjmp(in_handlers_frame, 1);
}

static FRAME void leave_from_deep_in_handler(void)
{
    volatile char room[6000];
    room[0] = 1;
    wrapped(leave_in_handler);
    (void)room[0];
}

/* A signal handler leaves a call by longjmp and makes a second call from higher up its stack. The second call is not
 * inside the first one. */
static FRAME void leave_and_call(void)
{
    if (!setjmp(in_handlers_frame))
        leave_from_deep_in_handler();
    wrapped(NULL);
    within_in_handler[0] = inner_was_within;
}

static void a_call_left_on_a_handlers_stack(void **state)
{
    (void)state;
    for (int above = 0; above < 2; above++) {
        within_in_handler[0] = true;
        with_stacks(above, interrupt, leave_and_call);
        assert_false(within_in_handler[0]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_call_within_a_call, begin_anew),
        cmocka_unit_test_setup(calls_within_calls_within_calls, begin_anew),
        cmocka_unit_test_setup(a_call_left_by_a_jump, begin_anew),
        cmocka_unit_test_setup(a_call_further_down_than_one_that_was_left, begin_anew),
        cmocka_unit_test_setup(what_was_found_is_forgotten_with_its_call, begin_anew),
        cmocka_unit_test_setup(only_this_threads_word_below_its_place_counts, begin_anew),
        cmocka_unit_test_setup(each_place_and_each_call_is_asked_about, begin_anew),
        cmocka_unit_test_setup(the_shims_own_work_is_marked_as_a_call, begin_anew),
        cmocka_unit_test_setup(a_stack_that_cannot_be_read, begin_anew),
        cmocka_unit_test_setup(a_coroutine_within_a_call, begin_anew),
        cmocka_unit_test_setup(a_coroutine_that_never_comes_back, begin_anew),
        cmocka_unit_test_setup(a_handler_on_its_own_stack, begin_anew),
        cmocka_unit_test_setup(a_handlers_own_call, begin_anew),
        cmocka_unit_test_setup(a_call_left_on_a_handlers_stack, begin_anew),
    };
    return cmocka_run_group_tests(tests, open_thread, close_thread);
}
