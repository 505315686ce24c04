/* Tests of the shim's locks. Signals are blocked while a thread holds a lock. No thread waits for long. A forked
 * child does not wait for a lock that a thread of its parent held. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "shim/state/lock.h"

static _Atomic int handled;
/* state of the thread that takes a lock. 0: it does not hold the lock yet, 1: it holds the lock, 2: it must release
 * the lock */
static _Atomic int holder;

static void count(int signal)
{
    (void)signal;
    handled++;
}

static int set_up(void **state)
{
    (void)state;
    struct sigaction action = { .sa_handler = count };
    locks_init();
    locks_open();
    handled = holder = 0;
    return sigaction(SIGUSR1, &action, NULL);
}

static void *hold(void *which)
{
    bool taken = lock_take((enum shim_lock)(uintptr_t)which);
    holder = 1;
    while (holder != 2)
        sched_yield();
    if (taken)
        lock_release((enum shim_lock)(uintptr_t)which);
    return NULL;
}

static pthread_t held_by_another(enum shim_lock which)
{
    pthread_t thread;
    holder = 0;
    assert_int_equal(pthread_create(&thread, NULL, hold, (void *)(uintptr_t)which), 0);
    while (!holder)
        sched_yield();
    return thread;
}

static void let_go(pthread_t thread)
{
    holder = 2;
    pthread_join(thread, NULL);
}

static void a_holder_takes_no_signal(void **state)
{
    (void)state;
    sigset_t before, after;
    sigprocmask(SIG_SETMASK, NULL, &before);
    assert_true(lock_take(LOCK_REGISTRY));
    raise(SIGUSR1);
    assert_int_equal(handled, 0);
    lock_release(LOCK_REGISTRY);
    assert_int_equal(handled, 1);
    sigprocmask(SIG_SETMASK, NULL, &after);
    for (int signal = 1; signal < NSIG; signal++)
        assert_int_equal(sigismember(&before, signal), sigismember(&after, signal));
}

static void two_locks_are_held_at_once(void **state)
{
    (void)state;
    assert_true(lock_take(LOCK_START));
    assert_true(lock_take(LOCK_MEMORY));
    raise(SIGUSR1);
    lock_release(LOCK_MEMORY);
    assert_int_equal(handled, 0);
    lock_release(LOCK_START);
    assert_int_equal(handled, 1);
}

static void nobody_waits_for_ever(void **state)
{
    (void)state;
    pthread_t thread = held_by_another(LOCK_REGISTRY);
    uint64_t missed = locks_missed();
    int64_t begin = ws_clock_ns();
    assert_false(lock_take(LOCK_REGISTRY));
    assert_true(ws_clock_ns() - begin >= (int64_t)LOCK_DEADLINE_MS * 1000000);
    assert_int_equal(locks_missed(), missed + 1);
    /* An attempt that did not get the lock also unblocks signals again. */
    raise(SIGUSR1);
    assert_int_equal(handled, 1);
    let_go(thread);
    assert_true(lock_take(LOCK_REGISTRY));
    lock_release(LOCK_REGISTRY);
}

static void who_comes_after_one_that_waited_in_vain_waits_shortly(void **state)
{
    (void)state;
    enum { TIMES = 20 };
    pthread_t thread = held_by_another(LOCK_MEMORY);
    assert_false(lock_take(LOCK_MEMORY));
    int64_t begin = ws_clock_ns();
    for (int i = 0; i < TIMES; i++)
        assert_false(lock_take(LOCK_MEMORY));
    assert_true(ws_clock_ns() - begin < TIMES * (int64_t)LOCK_DEADLINE_MS * 1000000 / 2);
    let_go(thread);
    assert_true(lock_take(LOCK_MEMORY));
    lock_release(LOCK_MEMORY);
}

/* Runs `check` in a forked child, which lacks the parent's thread that holds the lock. Returns 3 if `check` returns
 * true, 4 for false. */
static int status_of_child(bool (*check)(void))
{
    int status = -1;
    pid_t child = fork();
    if (!child)
        _exit(check() ? 3 : 4);
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static bool start_is_free(void)
{
    return lock_take(LOCK_START);
}

/* A forked child never gets the registry's lock, and the attempt fails at once: the parent may have forked in the
 * middle of a change to the registry. */
static bool registry_cannot_be_had(void)
{
    int64_t begin = ws_clock_ns();
    return !lock_take(LOCK_REGISTRY) && ws_clock_ns() - begin < (int64_t)LOCK_DEADLINE_MS * 1000000;
}

static void a_child_of_a_process_that_starts_can_start(void **state)
{
    (void)state;
    pthread_t thread = held_by_another(LOCK_START);
    assert_int_equal(status_of_child(start_is_free), 3);
    let_go(thread);
}

static void a_child_waits_for_no_lock(void **state)
{
    (void)state;
    pthread_t thread = held_by_another(LOCK_REGISTRY);
    assert_int_equal(status_of_child(registry_cannot_be_had), 3);
    let_go(thread);
}

enum { THREADS = 4, ROUNDS = 20000 };
static long guarded;

static void *add(void *unused)
{
    (void)unused;
    for (int i = 0; i < ROUNDS; i++) {
        while (!lock_take(LOCK_REGISTRY))
            sched_yield(); /* on a busy machine the deadline may pass before the lock is taken */
        guarded++;
        lock_release(LOCK_REGISTRY);
    }
    return NULL;
}

static void one_thread_holds_it_at_a_time(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    guarded = 0;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, add, NULL), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(guarded, THREADS * ROUNDS);
}

static void a_quiet_stretch_is_no_place_to_be_cancelled(void **state)
{
    (void)state;
    struct shim_quiet quiet;
    int old;
    quiet_begin(&quiet);
    raise(SIGUSR1);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
    assert_int_equal(old, PTHREAD_CANCEL_DISABLE);
    assert_int_equal(handled, 0);
    quiet_end(&quiet);
    assert_int_equal(handled, 1);
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &old);
    assert_int_equal(old, PTHREAD_CANCEL_ENABLE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_holder_takes_no_signal, set_up),
        cmocka_unit_test_setup(two_locks_are_held_at_once, set_up),
        cmocka_unit_test_setup(nobody_waits_for_ever, set_up),
        cmocka_unit_test_setup(who_comes_after_one_that_waited_in_vain_waits_shortly, set_up),
        cmocka_unit_test_setup(a_child_of_a_process_that_starts_can_start, set_up),
        cmocka_unit_test_setup(a_child_waits_for_no_lock, set_up),
        cmocka_unit_test_setup(one_thread_holds_it_at_a_time, set_up),
        cmocka_unit_test_setup(a_quiet_stretch_is_no_place_to_be_cancelled, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
