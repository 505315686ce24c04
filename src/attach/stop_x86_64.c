#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "attach/calls.h"
#include "attach/memory.h"
#include "attach/process.h"
#include "attach/stop.h"
#include "attach/urgent.h"
#include "base/clock.h"
#include "base/minmax.h"

static const int64_t RESCUE_NS = 30000000000; /* longest wait for a thread that is still in a system call of ours */
enum {
    STOP_NS = 200000000,      /* ns: longest wait for a thread to stop after it was told to stop */
    CALL_NS = 100000000,      /* ns: longest wait for a running thread to make a system call */
    LET_GO_NS = 1500000000,   /* ns: longest wait for a running thread to stop for its detaching, on a busy machine */
    EACH_NS = 20000,          /* ns: added to the patience of ws_stop_all for each thread */
    ROUND_NS = 100000,        /* ns between two checks of the threads that still run but are to be detached */
    OWN_CALL_NS = 1000000000, /* ns: longest wait for the end of a system call of ours */
    AT_CALL = SIGTRAP | 0x80, /* signal that reports a stop at a system call, with PTRACE_O_TRACESYSGOOD */
    SYSCALL_SIZE = 2,
};

static bool is_event_stop(int status)
{
    return status >> 16 == PTRACE_EVENT_STOP;
}

/* Returns the signal that stopped the thread and must still be delivered to it; 0: the thread stopped for another
 * reason. */
static int signal_of(int status)
{
    return is_event_stop(status) || WSTOPSIG(status) == AT_CALL ? 0 : WSTOPSIG(status);
}

/* Lets the thread continue until it stops with a status that `is_wanted` accepts. Delivers signals that come before
 * that stop. */
static int go_until(pid_t thread, int64_t patience, bool (*is_wanted)(int status), int *status)
{
    int signal = 0;
    for (;;) {
        if (ptrace(PTRACE_SYSCALL, thread, NULL, (void *)(intptr_t)signal))
            return -errno;
        int error = ws_wait_for_stop(thread, patience, status);
        if (error || is_wanted(*status))
            return error;
        signal = signal_of(*status);
    }
}

static bool is_call_stop(int status)
{
    return WSTOPSIG(status) == AT_CALL;
}

/* Is the thread ending, or gone? */
static bool is_ending(pid_t thread)
{
    enum { EXITING = 4 }; /* PF_EXITING of the kernel */
    char path[64], text[512];
    unsigned flags = EXITING;
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)thread);
    FILE *file = fopen(path, "re");
    if (file && fgets(text, sizeof(text), file)) {
        const char *after_name = strrchr(text, ')');
        if (!after_name || sscanf(after_name, ") %*c %*d %*d %*d %*d %*d %u", &flags) != 1)
            flags = EXITING;
    }
    if (file)
        fclose(file);
    return flags & EXITING;
}

/* Starts to trace a thread. The kernel answers EPERM if tracing is forbidden, but also if the thread is ending.
 * Returns -ESRCH for an ending thread. */
static int seize(pid_t thread)
{
    if (!ptrace(PTRACE_SEIZE, thread, NULL, (void *)(intptr_t)PTRACE_O_TRACESYSGOOD))
        return 0;
    int error = -errno;
    return error == -EPERM && is_ending(thread) ? -ESRCH : error;
}

/* Detaches a thread that stands still. If the thread has stopped for a signal that we have not seen yet, delivers
 * the signal. Returns false if the thread runs, because a running thread cannot be detached. */
static bool let_go_standing(pid_t thread)
{
    int status, signal = 0;
    pid_t seen = waitpid(thread, &status, __WALL | WNOHANG);
    if (seen == thread && !WIFSTOPPED(status))
        return true;
    if (seen == thread)
        signal = signal_of(status);
    return !ptrace(PTRACE_DETACH, thread, NULL, (void *)(intptr_t)signal) || errno != ESRCH;
}

static void let_go_stopping(pid_t thread, int64_t patience)
{
    int status;
    if (!ws_wait_for_stop(thread, patience, &status))
        ptrace(PTRACE_DETACH, thread, NULL, (void *)(intptr_t)signal_of(status));
}

/* Detaches a thread; if the thread runs, stops it first. A thread that stays attached cannot be seized at the next
 * attempt.
 */
static void let_go(pid_t thread)
{
    if (let_go_standing(thread))
        return;
    ptrace(PTRACE_INTERRUPT, thread, NULL, NULL);
    let_go_stopping(thread, LET_GO_NS);
}

/* Stops a seized thread wherever it is. Delivers signals that come before the stop. */
static int interrupt(pid_t thread)
{
    int status;
    if (ptrace(PTRACE_INTERRUPT, thread, NULL, NULL))
        return -errno;
    for (;;) {
        int error = ws_wait_for_stop(thread, STOP_NS, &status);
        if (error)
            return error;
        if (is_event_stop(status))
            return WSTOPSIG(status) == SIGTRAP ? 0 : -EAGAIN; /* -EAGAIN: a signal has stopped the whole process */
        if (ptrace(PTRACE_CONT, thread, NULL, (void *)(intptr_t)signal_of(status)))
            return -errno;
    }
}

/* --- system calls that are interrupted ------------------------------------------------------------- */

/* Is a signal pending that will interrupt the thread? Most threads have no pending signals, and ptrace shows that
 * faster than /proc. */
static bool has_signals(pid_t thread)
{
    siginfo_t info;
    struct __ptrace_peeksiginfo_args own = { .nr = 1 }, shared = { .flags = PTRACE_PEEKSIGINFO_SHARED, .nr = 1 };
    return (ptrace(PTRACE_PEEKSIGINFO, thread, &own, &info) > 0 ||
            ptrace(PTRACE_PEEKSIGINFO, thread, &shared, &info) > 0) &&
           ws_signal_waits(thread);
}

/* Restarts a system call that returned EINTR only because of the stop, so that the program does not see the stop. The
 * call's time-out starts anew. Returns whether the call is restarted. */
static bool begin_anew(pid_t thread, struct user_regs_struct *registers)
{
    uint64_t mask;
    if ((long)registers->rax != -EINTR || !ws_answers_interrupted((long)registers->orig_rax) || has_signals(thread))
        return false;
    /* If the call has its own signal mask, the program's mask comes back now. Else a signal that only the call lets
     * through could be handled before the call begins anew, and would not end it. */
    if (ws_has_own_mask((long)registers->orig_rax) &&
        (ptrace(PTRACE_GETSIGMASK, thread, (void *)sizeof(mask), &mask) ||
         ptrace(PTRACE_SETSIGMASK, thread, (void *)sizeof(mask), &mask)))
        return false;
    registers->rax = registers->orig_rax;
    registers->orig_rax = (unsigned long long)-1;
    registers->rip -= SYSCALL_SIZE;
    return !ptrace(PTRACE_SETREGS, thread, NULL, registers);
}

/* The kernel's own results of a call that it restarts, unless a signal came (include/linux/errno.h). The kernel
 * restarts a call with a time-out by the system call restart_syscall, which waits for the rest of the time-out. */
enum { ERESTARTSYS = 512, ERESTARTNOINTR = 513, ERESTARTNOHAND = 514, ERESTART_RESTARTBLOCK = 516 };

/* Is the thread in a system call that the stop has interrupted and that will be restarted? If so, sets
 * stopped->registers to their values at the call's entry. If a signal is pending, returns false, because the signal
 * may end the call. */
static bool is_restarted(struct ws_stopped *stopped)
{
    struct user_regs_struct *registers = &stopped->registers;
    long number = (long)registers->orig_rax, result = (long)registers->rax;
    if (number < 0)
        return false;
    bool again = begin_anew(stopped->thread, registers);
    if (ws_has_own_mask(number) || has_signals(stopped->thread))
        return false;
    if (again) {
        registers->orig_rax = registers->rax;
        registers->rip += SYSCALL_SIZE;
        stopped->stands = WS_AFTER_OURS;
        return true;
    }
    if (result == -ERESTART_RESTARTBLOCK)
        registers->orig_rax = SYS_restart_syscall;
    else if (result != -ERESTARTSYS && result != -ERESTARTNOINTR && result != -ERESTARTNOHAND)
        return false;
    stopped->stands = WS_INTERRUPTED;
    return true;
}

/* --- one thread ------------------------------------------------------------------------------------ */

static bool is_at_instruction(pid_t thread, const struct user_regs_struct *registers)
{
    uint8_t code[SYSCALL_SIZE];
    return !ws_remote_read(thread, registers->rip - SYSCALL_SIZE, code, sizeof(code)) && code[0] == 0x0f &&
           code[1] == 0x05;
}

int ws_stop_at_call(pid_t thread, const struct ws_urgent *urgent, struct ws_stopped *stopped)
{
    int status, error = seize(thread);
    if (error)
        return error;
    *stopped = (struct ws_stopped){ .thread = thread, .since = ws_clock_ns() };
    error = interrupt(thread);
    int64_t seen = ws_clock_ns();
    if (!error && ptrace(PTRACE_GETREGS, thread, NULL, &stopped->registers))
        error = -errno;
    if (urgent->is_first)
        stopped->since = seen;
    if (!error && !is_restarted(stopped)) {
        error = go_until(thread, CALL_NS, is_call_stop, &status);
        stopped->since = ws_clock_ns(); /* the thread ran until this stop */
        if (!error && ptrace(PTRACE_GETREGS, thread, NULL, &stopped->registers))
            error = -errno;
    }
    /* Accept only a 64-bit thread of the C library, at a `syscall` instruction, which can be executed again. */
    if (!error && (stopped->registers.cs != 0x33 || !stopped->registers.fs_base ||
                   !is_at_instruction(thread, &stopped->registers)))
        error = -EAGAIN;
    if (error)
        let_go(thread);
    return error;
}

/* Blocks the thread's signals until unmute, while the thread goes to the entry of a system call of ours. */
static void mute(struct ws_stopped *stopped)
{
    uint64_t all = UINT64_MAX;
    stopped->blocks = !ptrace(PTRACE_GETSIGMASK, stopped->thread, (void *)sizeof(all), &stopped->mask) &&
                      !ptrace(PTRACE_SETSIGMASK, stopped->thread, (void *)sizeof(all), &all);
}

static void unmute(struct ws_stopped *stopped)
{
    if (stopped->blocks && !ptrace(PTRACE_SETSIGMASK, stopped->thread, (void *)sizeof(stopped->mask), &stopped->mask))
        stopped->blocks = false;
}

/* Moves a thread that is outside of any system call to the entry of the next system call that it makes for us. If a
 * signal handler ran in between, the handler's first system call would look like ours, so the thread's signals are
 * blocked. If they cannot be blocked, the loop passes over the handler's calls, whose registers differ from those of
 * our call. The thread makes our call after the handler has returned. */
static int come_to_own_entry(struct ws_stopped *stopped, long number)
{
    const struct user_regs_struct *own = &stopped->registers;
    struct user_regs_struct now;
    int status, error;
    int64_t end = ws_clock_ns() + OWN_CALL_NS;
    mute(stopped);
    do {
        error = ws_clock_ns() > end ? -EAGAIN : go_until(stopped->thread, OWN_CALL_NS, is_call_stop, &status);
        if (!error && ptrace(PTRACE_GETREGS, stopped->thread, NULL, &now))
            error = -errno;
    } while (!error && (now.rip != own->rip || now.rsp != own->rsp || (long)now.orig_rax != number));
    unmute(stopped);
    return error;
}

/* Sets the registers so that the thread continues at `through` and then makes its own system call. `through` is the
 * address of that call's instruction, or of code that jumps there. */
static int set_back(const struct ws_stopped *stopped, uint64_t through)
{
    struct user_regs_struct registers = stopped->registers;
    registers.rip = through;
    registers.rax = registers.orig_rax;
    registers.orig_rax = (unsigned long long)-1; /* -1 keeps the kernel from restarting a system call */
    return ptrace(PTRACE_SETREGS, stopped->thread, NULL, &registers) ? -errno : 0;
}

/* If the thread stands at the entry of its own system call, our call replaces that call. Otherwise the thread
 * executes the same `syscall` instruction again, for our call. Afterwards the thread stands at the exit of our call.
 * Its registers are set so that its own system call comes next, in case this process is killed. If our call does not
 * end in time, no further call is possible, because the thread may be anywhere. */
long ws_stopped_call(struct ws_stopped *stopped, long number, const uint64_t arguments[6])
{
    struct user_regs_struct registers = stopped->registers;
    int status, error = 0;
    registers.rdi = arguments[0];
    registers.rsi = arguments[1];
    registers.rdx = arguments[2];
    registers.r10 = arguments[3];
    registers.r8 = arguments[4];
    registers.r9 = arguments[5];
    bool outside = stopped->stands != WS_AT_ENTRY;
    if (outside) {
        registers.rip -= SYSCALL_SIZE;
        registers.rax = (unsigned long long)number;
        registers.orig_rax = (unsigned long long)-1;
    } else {
        registers.orig_rax = (unsigned long long)number;
    }
    if (ptrace(PTRACE_SETREGS, stopped->thread, NULL, &registers))
        return -errno;
    if (outside)
        error = come_to_own_entry(stopped, number);
    stopped->stands = WS_AFTER_OURS;
    if (!error)
        error = go_until(stopped->thread, OWN_CALL_NS, is_call_stop, &status);
    if (!error && ptrace(PTRACE_GETREGS, stopped->thread, NULL, &registers))
        error = -errno;
    if (!error)
        error = set_back(stopped, ws_stopped_back(stopped));
    return error == -EAGAIN ? -ETIMEDOUT : error ? error : (long)registers.rax;
}

uint64_t ws_stopped_back(const struct ws_stopped *stopped)
{
    return stopped->registers.rip - SYSCALL_SIZE;
}

/* Stops a thread that did not finish a system call of ours in time. If we let it run instead, the program would get
 * the result of our call as the result of its own call. */
static int stop_again(pid_t thread)
{
    int status;
    return ptrace(PTRACE_INTERRUPT, thread, NULL, NULL) ? -errno : ws_wait_for_stop(thread, RESCUE_NS, &status);
}

int64_t ws_stopped_go_through(struct ws_stopped *stopped, uint64_t through)
{
    if (stopped->stands == WS_INTERRUPTED && has_signals(stopped->thread)) {
        let_go(stopped->thread);
        return -EAGAIN;
    }
    int error = set_back(stopped, through);
    if (error == -ESRCH && !(error = stop_again(stopped->thread)))
        error = set_back(stopped, through);
    unmute(stopped);
    let_go(stopped->thread);
    return error == -EAGAIN ? -ETIMEDOUT : error ? error : ws_clock_ns() - stopped->since;
}

int64_t ws_stopped_go(struct ws_stopped *stopped)
{
    if (stopped->stands == WS_AFTER_OURS)
        return ws_stopped_go_through(stopped, ws_stopped_back(stopped));
    let_go(stopped->thread);
    return ws_clock_ns() - stopped->since;
}

/* --- all threads ------------------------------------------------------------------------------------ */

static bool is_listed(const struct ws_stopped_all *all, pid_t thread)
{
    for (size_t i = 0; i < all->count; i++)
        if (all->threads[i] == thread)
            return true;
    return false;
}

/* Seizes the threads that are not in `all` yet. Returns their number, or -errno. */
static int seize_new(int pid, pid_t except, struct ws_stopped_all *all)
{
    char path[64];
    int found = 0;
    snprintf(path, sizeof(path), "/proc/%d/task", pid);
    DIR *folder = opendir(path);
    if (!folder)
        return -errno;
    for (struct dirent *entry; (entry = readdir(folder)) && found >= 0;) {
        pid_t thread = (pid_t)atoi(entry->d_name);
        if (thread <= 0 || thread == except || is_listed(all, thread))
            continue;
        int error = all->count == WS_STOPPED_MOST ? -E2BIG : seize(thread);
        if (!error) {
            all->state[all->count] = WS_LISTED;
            all->threads[all->count++] = thread;
            found++;
        } else if (error != -ESRCH) {
            /* -EPERM cannot mean that tracing is forbidden, because this command traced the process before. */
            found = error == -EPERM ? -EAGAIN : error;
        }
    }
    closedir(folder);
    return found;
}

static void tell_listed(struct ws_stopped_all *all, size_t i)
{
    all->since[i] = ws_clock_ns();
    all->state[i] = WS_TOLD;
    ptrace(PTRACE_INTERRUPT, all->threads[i], NULL, NULL);
}

/* Handles the stop of thread i of the list. If PTRACE_INTERRUPT stopped the thread, stores the thread's registers.
 * If this stop ended a system call, restarts the call, so that the program does not see the stop. If the thread
 * stopped for a signal, does nothing. Returns 0 or -errno. */
static int note_stop(struct ws_stopped_all *all, size_t i, int status)
{
    struct user_regs_struct registers;
    if (!is_event_stop(status))
        return 0;
    if (ptrace(PTRACE_GETREGS, all->threads[i], NULL, &registers))
        return -errno;
    all->places[i] = registers.rip;
    all->stacks[i] = registers.rsp;
    all->descriptors[i] = registers.fs_base;
    begin_anew(all->threads[i], &registers);
    all->state[i] = WS_STANDS;
    return 0;
}

/* Waits until thread i of the list stands still, at most until `end`. Delivers to the thread the signals that come
 * before the thread stops. */
static int wait_listed(struct ws_stopped_all *all, size_t i, int64_t end)
{
    int status, error = 0;
    while (!error && all->state[i] != WS_STANDS) {
        error = ws_wait_for_stop(all->threads[i], end - ws_clock_ns(), &status);
        if (!error)
            error = note_stop(all, i, status);
        if (!error && all->state[i] != WS_STANDS &&
            ptrace(PTRACE_CONT, all->threads[i], NULL, (void *)(intptr_t)signal_of(status)))
            error = -errno;
    }
    if (error != -ESRCH)
        return error;
    all->state[i] = WS_GONE; /* the thread has ended */
    return 0;
}

/* A thread that still runs may start another thread. So the list of threads is read again until it has no new
 * threads. All new threads are seized before the first of them is stopped. Seizing does not stop a thread, so this
 * order keeps the time short in which threads stand still. */
int ws_stop_all(int pid, pid_t except, int64_t patience, struct ws_stopped_all *all)
{
    size_t stopped = 0;
    int found = 1, error = 0;
    all->count = 0;
    found = seize_new(pid, except, all);
    while (found > 0 && !error) {
        for (size_t i = stopped; i < all->count; i++)
            tell_listed(all, i);
        int64_t end = ws_clock_ns() + patience + (int64_t)(all->count - stopped) * EACH_NS;
        for (; stopped < all->count && !error; stopped++)
            error = wait_listed(all, stopped, end);
        if (!error)
            found = seize_new(pid, except, all);
    }
    return error ? error : found;
}

/* Detaches thread i of the list if it has stopped. Returns false if the thread still runs, because the kernel
 * detaches no running thread. */
static bool let_go_listed(struct ws_stopped_all *all, size_t i)
{
    int status = 0;
    if (all->state[i] == WS_TOLD) {
        pid_t seen = waitpid(all->threads[i], &status, __WALL | WNOHANG);
        if (!seen)
            return false;
        if (seen < 0 || !WIFSTOPPED(status) || note_stop(all, i, status))
            all->state[i] = WS_GONE;
    }
    if (all->state[i] == WS_TOLD) {
        /* The thread has stopped for a signal. The stop that we asked for comes right after the signal, and only then
         * is it known whether the signal has ended the thread's system call. */
        ptrace(PTRACE_CONT, all->threads[i], NULL, (void *)(intptr_t)signal_of(status));
        return false;
    }
    if (all->state[i] != WS_GONE)
        ptrace(PTRACE_DETACH, all->threads[i], NULL, NULL);
    return true;
}

int64_t ws_let_go_all(struct ws_stopped_all *all)
{
    int64_t longest = 0, begun = ws_clock_ns(), looked = 0;
    size_t running = all->count;
    for (size_t i = 0; i < all->count; i++)
        if (all->state[i] == WS_STANDS) {
            let_go_listed(all, i);
            longest = ws_max(longest, ws_clock_ns() - all->since[i]);
            all->state[i] = WS_GONE;
        } else if (all->state[i] == WS_LISTED) {
            tell_listed(all, i);
        }
    /* The other threads are let go as they stop, in any order, so that no thread has to wait for a slower one. A
     * thread that this round finds stopped has stood still since the previous round began (`looked`) at the
     * earliest. A thread that the first round finds stopped may have stood still since it was told to stop. */
    while (running && ws_clock_ns() - begun < LET_GO_NS) {
        int64_t round = ws_clock_ns();
        running = 0;
        for (size_t i = 0; i < all->count; i++) {
            if (all->state[i] == WS_GONE)
                continue;
            if (!let_go_listed(all, i))
                running++;
            else {
                all->state[i] = WS_GONE;
                longest = ws_max(longest, ws_clock_ns() - ws_max(looked, all->since[i]));
            }
        }
        looked = round;
        if (running)
            nanosleep(&(struct timespec){ 0, ROUND_NS }, NULL);
    }
    all->count = 0;
    return longest;
}
