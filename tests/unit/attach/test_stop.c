/* Tests of stopping the threads of another process (a child), which must not notice that they were stopped. */
#include <errno.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

#include "attach/stop.h"

/* Runs `work` in a child, which writes to a pipe when it begins. Returns the child's process id. */
static pid_t begin(int (*work)(void))
{
    int ends[2];
    char byte;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (!child) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* the child ends with this process, even if a test fails */
        if (write(ends[1], "", 1) != 1)
            _exit(99);
        _exit(work());
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 1);
    close(ends[0]);
    return child;
}

static const struct ws_urgent at_leisure;

static int status_of(pid_t child)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* Returns 0 if nanosleep succeeded and did not return early. */
static int sleeps(void)
{
    int64_t begin_ns = now();
    int result = nanosleep(&(struct timespec){ 0, 300000000 }, NULL);
    return result ? 1 : now() - begin_ns < 300000000 ? 2 : 0;
}

static int waits_for_events(void)
{
    struct epoll_event event;
    return epoll_wait(epoll_create1(0), &event, 1, 300) == 0 ? 0 : 1;
}

static int ends_of_pipe[2];

static int reads(void)
{
    char byte = 0;
    return read(ends_of_pipe[0], &byte, 1) == 1 && byte == 'x' ? 0 : 1;
}

/* A receive with a time-out returns EINTR when its thread is stopped. */
static int receives(void)
{
    int ends[2];
    char byte;
    struct timeval patience = { .tv_usec = 300000 };
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) ||
        setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)))
        return 1;
    return recv(ends[0], &byte, 1, 0) == -1 && errno == EAGAIN ? 0 : 2;
}

static volatile sig_atomic_t came;

static void note_signal(int number)
{
    came = number;
}

/* Waits for a signal that only the call `wait` lets through. */
static int waits_in_call_with_mask(int (*wait)(const sigset_t *mask))
{
    sigset_t blocked, none;
    sigemptyset(&none);
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    sigprocmask(SIG_BLOCK, &blocked, NULL);
    signal(SIGUSR1, note_signal);
    alarm(5);
    int result = wait(&none), error = errno;
    sigset_t now;
    sigprocmask(SIG_SETMASK, NULL, &now);
    return result == -1 && error == EINTR && came == SIGUSR1 && sigismember(&now, SIGUSR1) ? 0 : 1;
}

static int polls(const sigset_t *mask)
{
    return ppoll(NULL, 0, NULL, mask);
}

static int waits_with_mask(void)
{
    return waits_in_call_with_mask(polls);
}

static int polls_events(const sigset_t *mask)
{
    struct epoll_event event;
    return epoll_pwait(epoll_create1(0), &event, 1, 3000, mask);
}

static int waits_for_events_with_mask(void)
{
    return waits_in_call_with_mask(polls_events);
}

static int computes(void)
{
    for (int64_t end = now() + 300000000; now() < end;)
        syscall(SYS_getppid);
    return 0;
}

static void make_calls(pid_t child, uint64_t number)
{
    struct ws_stopped stopped;
    int error;
    while ((error = ws_stop_at_call(child, &at_leisure, &stopped)) == -EAGAIN)
        ;
    assert_int_equal(error, 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(ws_stopped_call(&stopped, SYS_getpid, (uint64_t[6]){ 0 }), child);
    assert_int_equal(ws_stopped_call(&stopped, SYS_close, (uint64_t[6]){ 9999 }), -EBADF);
    assert_true(number == UINT64_MAX || stopped.registers.orig_rax == number);
    assert_true(ws_stopped_go(&stopped) > 0);
}

static void a_thread_makes_calls_and_goes_on_with_its_own(void **state)
{
    int (*const works[])(void) = { sleeps, waits_for_events, computes };
    (void)state;
    for (size_t i = 0; i < sizeof(works) / sizeof(works[0]); i++) {
        pid_t child = begin(works[i]);
        usleep(20000);
        make_calls(child, UINT64_MAX);
        assert_int_equal(status_of(child), 0);
    }
}

static void a_stopped_thread_goes_on_without_calls(void **state)
{
    (void)state;
    struct ws_stopped stopped;
    pid_t child = begin(sleeps);
    usleep(20000);
    assert_int_equal(ws_stop_at_call(child, &at_leisure, &stopped), 0);
    assert_true(ws_stopped_go(&stopped) > 0);
    assert_int_equal(status_of(child), 0);
}

/* A thread that waits in a call is stopped there. It can make system calls for us, and then waits again. */
static void a_waiting_call_is_restarted(void **state)
{
    struct ws_stopped stopped;
    (void)state;
    assert_int_equal(pipe(ends_of_pipe), 0);
    pid_t child = begin(reads);
    usleep(20000);
    for (int calls = 0; calls < 2; calls++) {
        assert_int_equal(ws_stop_at_call(child, &at_leisure, &stopped), 0);
        assert_int_equal(stopped.stands, WS_INTERRUPTED);
        assert_int_equal(stopped.registers.orig_rax, SYS_read);
        if (calls)
            assert_int_equal(ws_stopped_call(&stopped, SYS_getpid, (uint64_t[6]){ 0 }), child);
        assert_true(ws_stopped_go(&stopped) > 0);
        usleep(20000);
    }
    assert_int_equal(write(ends_of_pipe[1], "x", 1), 1);
    assert_int_equal(status_of(child), 0);
    close(ends_of_pipe[0]);
    close(ends_of_pipe[1]);
}

static void a_receive_with_a_time_out_does_not_see_the_stop(void **state)
{
    struct ws_stopped stopped;
    (void)state;
    pid_t child = begin(receives);
    usleep(20000);
    assert_int_equal(ws_stop_at_call(child, &at_leisure, &stopped), 0);
    assert_int_equal(stopped.stands, WS_AFTER_OURS);
    assert_true(ws_stopped_go(&stopped) > 0);
    assert_int_equal(status_of(child), 0);
}

/* If a signal arrives while the thread makes a system call for us, the signal later ends the call in which the thread
 * had waited. */
static void a_signal_meanwhile_ends_a_call_with_a_mask(void **state)
{
    struct ws_stopped stopped;
    (void)state;
    pid_t child = begin(waits_with_mask);
    usleep(20000);
    assert_int_equal(ws_stop_at_call(child, &at_leisure, &stopped), 0);
    assert_int_equal(stopped.stands, WS_AT_ENTRY);
    kill(child, SIGUSR1);
    assert_int_equal(ws_stopped_call(&stopped, SYS_getpid, (uint64_t[6]){ 0 }), child);
    assert_true(ws_stopped_go_through(&stopped, ws_stopped_back(&stopped)) > 0);
    assert_int_equal(status_of(child), 0);
}

/* The call is restarted after the stop, so a signal that comes meanwhile must not be handled before it. */
static void a_signal_meanwhile_ends_a_restarted_call_with_a_mask(void **state)
{
    static struct ws_stopped_all all;
    (void)state;
    pid_t child = begin(waits_for_events_with_mask);
    usleep(50000);
    assert_int_equal(ws_stop_all(child, 0, 200000000, &all), 0);
    kill(child, SIGUSR1);
    ws_let_go_all(&all);
    assert_int_equal(status_of(child), 0);
}

/* If a signal is pending that will end the thread's call, we do not make the thread run other code. */
static void a_signal_before_the_way_through_is_delivered(void **state)
{
    struct ws_stopped stopped;
    (void)state;
    assert_int_equal(pipe(ends_of_pipe), 0);
    pid_t child = begin(reads);
    usleep(20000);
    assert_int_equal(ws_stop_at_call(child, &at_leisure, &stopped), 0);
    kill(child, SIGTERM);
    assert_int_equal(ws_stopped_go_through(&stopped, 4096), -EAGAIN);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    close(ends_of_pipe[0]);
    close(ends_of_pipe[1]);
}

static void all_threads_stop_and_go_on(void **state)
{
    static struct ws_stopped_all all;
    (void)state;
    pid_t child = begin(waits_for_events);
    usleep(20000);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(ws_stop_all(child, 0, 200000000, &all), 0);
        assert_int_equal(all.count, 1);
        assert_true(all.places[0] && all.stacks[0] && all.descriptors[0]);
        assert_true(ws_let_go_all(&all) > 0);
    }
    assert_int_equal(status_of(child), 0);
}

enum { SLOW_NS = 400000000 };

/* Until its child ends, the thread is in a system call that cannot be interrupted. The end of the child sends no
 * signal. */
static void *makes_a_child(void *unused)
{
    if (!syscall(SYS_clone, CLONE_VFORK, NULL, NULL, NULL, NULL)) {
        nanosleep(&(struct timespec){ 0, SLOW_NS }, NULL);
        _exit(0);
    }
    return unused;
}

enum { WAITING = 12 };

static void *waits_in_thread(void *interrupted)
{
    struct epoll_event event;
    if (epoll_wait(epoll_create1(0), &event, 1, 400) < 0)
        atomic_fetch_add((atomic_int *)interrupted, 1);
    return NULL;
}

/* Returns how many waits of its threads were interrupted. One more thread, makes_a_child, does not stop in time. */
static int many_wait(void)
{
    pthread_t threads[WAITING], slow;
    atomic_int interrupted = 0;
    pthread_create(&slow, NULL, makes_a_child, NULL);
    for (int i = 0; i < WAITING; i++)
        pthread_create(&threads[i], NULL, waits_in_thread, &interrupted);
    for (int i = 0; i < WAITING; i++)
        pthread_join(threads[i], NULL);
    pthread_join(slow, NULL);
    return interrupted;
}

/* If a thread does not stop in time, the others go on and have not noticed anything. */
static void a_try_that_gives_up_is_not_seen(void **state)
{
    static struct ws_stopped_all all;
    (void)state;
    pid_t child = begin(many_wait);
    usleep(50000);
    assert_int_equal(ws_stop_all(child, 0, 1000000, &all), -EAGAIN);
    ws_let_go_all(&all);
    assert_int_equal(ws_stop_all(child, 0, 200000000, &all), 0);
    ws_let_go_all(&all);
    assert_int_equal(status_of(child), 0);
}

/* Waits while a blocked signal is pending. */
static int waits_with_a_blocked_signal(void)
{
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    sigprocmask(SIG_BLOCK, &blocked, NULL);
    raise(SIGUSR1);
    return waits_for_events();
}

/* Waits while its child sends it SIGCHLD, which it ignores. Without a tracer, ignored signals wake no thread. */
static int waits_among_ignored_signals(void)
{
    pid_t parent = getpid(), sender = fork();
    if (!sender)
        for (;;)
            kill(parent, SIGCHLD);
    int result = waits_for_events();
    kill(sender, SIGKILL);
    return result;
}

/* A signal that does not interrupt the program's call does not prevent that call from being restarted. */
static void signals_without_effect_are_not_seen(void **state)
{
    static struct ws_stopped_all all;
    int (*const programs[])(void) = { waits_with_a_blocked_signal, waits_among_ignored_signals };
    (void)state;
    for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
        pid_t child = begin(programs[i]);
        usleep(50000);
        for (int stop = 0; stop < 20; stop++) {
            assert_int_equal(ws_stop_all(child, 0, 200000000, &all), 0);
            ws_let_go_all(&all);
            usleep(2000);
        }
        assert_int_equal(status_of(child), 0);
    }
}

/* Returns 0 if no reading of the clock came much later than the reading before. */
static int looks_at_the_time(void)
{
    pthread_t slow;
    pthread_create(&slow, NULL, makes_a_child, NULL);
    int64_t last = now(), end_ns = last + SLOW_NS, longest = 0;
    while (last < end_ns) {
        int64_t next = now();
        longest = next - last > longest ? next - last : longest;
        last = next;
    }
    pthread_join(slow, NULL);
    return longest < SLOW_NS / 2 ? 0 : 1;
}

/* While one thread does not stop, the other threads go on running. */
static void a_slow_thread_does_not_hold_up_the_others(void **state)
{
    static struct ws_stopped_all all;
    (void)state;
    pid_t child = begin(looks_at_the_time);
    usleep(20000);
    assert_int_equal(ws_stop_all(child, 0, 1000000, &all), -EAGAIN);
    assert_in_range(ws_let_go_all(&all), 0, SLOW_NS / 2);
    assert_int_equal(status_of(child), 0);
}

static int waits_for_signal(void)
{
    sigset_t set;
    int number;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, NULL);
    return sigwait(&set, &number) || number != SIGUSR1;
}

static void signals_are_not_lost(void **state)
{
    (void)state;
    pid_t child = begin(waits_for_signal);
    usleep(20000);
    make_calls(child, UINT64_MAX);
    kill(child, SIGUSR1);
    assert_int_equal(status_of(child), 0);
}

static volatile sig_atomic_t handled;

static void makes_a_call(int number)
{
    (void)number;
    handled = 1;
    getppid();
}

/* Returns 0 if the handler ran and each system call returned its own result. */
static int is_signalled(void)
{
    int64_t end = now() + 400000000;
    signal(SIGUSR1, makes_a_call);
    do {
        errno = 0;
        if (syscall(SYS_read, -1, NULL, 0) != -1 || errno != EBADF)
            return 1;
    } while (now() < end);
    return handled ? 0 : 2;
}

static void a_handler_s_calls_are_not_taken_for_ours(void **state)
{
    struct ws_stopped stopped;
    int error;
    (void)state;
    pid_t child = begin(is_signalled);
    usleep(20000);
    while ((error = ws_stop_at_call(child, &at_leisure, &stopped)) == -EAGAIN)
        ;
    assert_int_equal(error, 0);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(ws_stopped_call(&stopped, SYS_getpid, (uint64_t[6]){ 0 }), child);
        kill(child, SIGUSR1);
    }
    assert_true(ws_stopped_go(&stopped) > 0);
    assert_int_equal(status_of(child), 0);
}

static void a_thread_that_is_gone_is_said(void **state)
{
    (void)state;
    struct ws_stopped stopped;
    pid_t child = begin(waits_for_signal);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    assert_int_equal(ws_stop_at_call(child, &at_leisure, &stopped), -ESRCH);
}

/* A thread that does not stop in time must not hold up the command that attaches, with and without the alarm that
 * ws_urgent_begin sets. */
static void a_wait_ends_in_time(void **state)
{
    (void)state;
    enum { PATIENCE_NS = 30000000, MUCH_NS = 2000000000 };
    struct ws_urgent urgent;
    int status;
    pid_t child = begin(sleeps);
    assert_int_equal(ptrace(PTRACE_SEIZE, child, NULL, NULL), 0);
    for (int is_urgent = 0; is_urgent < 2; is_urgent++) {
        if (is_urgent)
            ws_urgent_begin(&urgent);
        int64_t begin_ns = now();
        int error = ws_wait_for_stop(child, PATIENCE_NS, &status);
        int64_t took = now() - begin_ns;
        if (is_urgent)
            ws_urgent_end(&urgent);
        assert_int_equal(error, -EAGAIN);
        assert_true(took >= PATIENCE_NS && took < MUCH_NS);
    }
    kill(child, SIGKILL);
    assert_int_equal(ws_wait_for_stop(child, MUCH_NS, &status), -ESRCH);
}

/* The signal mask, the alarm's handler and the scheduling policy are the same afterwards as before. */
static void urgent_work_leaves_no_trace(void **state)
{
    (void)state;
    struct ws_urgent urgent;
    struct sigaction before, after;
    sigset_t mask_before, mask_after;
    int policy = sched_getscheduler(0);
    sigaction(SIGRTMIN, NULL, &before);
    sigprocmask(SIG_BLOCK, NULL, &mask_before);
    ws_urgent_begin(&urgent);
    ws_urgent_end(&urgent);
    sigaction(SIGRTMIN, NULL, &after);
    sigprocmask(SIG_BLOCK, NULL, &mask_after);
    assert_true(before.sa_handler == after.sa_handler);
    assert_int_equal(sched_getscheduler(0), policy);
    for (int signal = 1; signal < SIGRTMAX; signal++)
        assert_int_equal(sigismember(&mask_before, signal), sigismember(&mask_after, signal));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_makes_calls_and_goes_on_with_its_own),
        cmocka_unit_test(a_stopped_thread_goes_on_without_calls),
        cmocka_unit_test(a_waiting_call_is_restarted),
        cmocka_unit_test(a_receive_with_a_time_out_does_not_see_the_stop),
        cmocka_unit_test(a_signal_meanwhile_ends_a_call_with_a_mask),
        cmocka_unit_test(a_signal_meanwhile_ends_a_restarted_call_with_a_mask),
        cmocka_unit_test(a_signal_before_the_way_through_is_delivered),
        cmocka_unit_test(all_threads_stop_and_go_on),
        cmocka_unit_test(a_try_that_gives_up_is_not_seen),
        cmocka_unit_test(a_slow_thread_does_not_hold_up_the_others),
        cmocka_unit_test(signals_without_effect_are_not_seen),
        cmocka_unit_test(signals_are_not_lost),
        cmocka_unit_test(a_handler_s_calls_are_not_taken_for_ours),
        cmocka_unit_test(a_thread_that_is_gone_is_said),
        cmocka_unit_test(a_wait_ends_in_time),
        cmocka_unit_test(urgent_work_leaves_no_trace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
