/* Stops threads of another process with ptrace. A single thread can be stopped at the entry of a system call, before
 * the call does anything, or in a call that can be restarted. The stopped thread can then make other system calls for
 * us. Every wait has a deadline. If this process dies, the kernel lets all threads continue. */
#ifndef WALLSHIM_ATTACH_STOP_H
#define WALLSHIM_ATTACH_STOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

#include "attach/urgent.h"

/* A thread that is stopped at the entry of a system call or inside a system call. */
struct ws_stopped {
    pid_t thread;
    /* The thread's own registers, to be restored, as they are at the entry of its own system call. */
    struct user_regs_struct registers;
    /* Where the thread stands: at the entry of its own call; in its own call, which the stop has interrupted and
     * which the kernel restarts; or at the exit of a call that it has made for us. WS_AFTER_OURS also stands for a
     * thread whose own call returned EINTR because of the stop, because the thread must make that call again. */
    enum { WS_AT_ENTRY, WS_INTERRUPTED, WS_AFTER_OURS } stands;
    bool blocks;   /* the thread's signals are blocked for a system call of ours */
    uint64_t mask; /* if `blocks`: the thread's own signal mask, to be restored */
    int64_t since; /* ws_clock_ns when the thread began to stand still (see ws_stop_at_call) */
};

/* Stops the thread in its system call if that call can be restarted, else at the entry of its next call. Sets
 * stopped->since. A thread that waits in a call must get a CPU before it can stop, and the program loses no time
 * until then. If urgent->is_first is set, this command sees the stop at once, and `since` is the time at which it
 * saw the stop. Otherwise `since` is the time at which the thread was told to stop. If the thread had to go on to
 * its next call, `since` is the time at which it stopped at that call. Returns 0; -EAGAIN: the thread made no call
 * in time, or its call cannot be restarted; -EPERM; -ESRCH; or -errno. */
int ws_stop_at_call(pid_t thread, const struct ws_urgent *urgent, struct ws_stopped *stopped);

/* Makes a system call in the stopped thread. Returns the call's result, or -errno. -ETIMEDOUT: the call did not end
 * in time, and the thread can make no further call for us. */
long ws_stopped_call(struct ws_stopped *stopped, long number, const uint64_t arguments[6]);

/* Let the thread continue with its own system call. ws_stopped_go lets it continue at once. ws_stopped_go_through
 * first runs the code at address `through`. That code must end with a jump to ws_stopped_back. The thread must not
 * stand at its call's entry (WS_AT_ENTRY): call ws_stopped_call first. If the thread is still in a system call of
 * ours, both functions wait until the thread stops. They return how long the thread stood still, in ns, or -errno.
 * -EAGAIN: a signal has come that may end the thread's call, so the thread goes on in its call. */
int64_t ws_stopped_go(struct ws_stopped *stopped);
int64_t ws_stopped_go_through(struct ws_stopped *stopped, uint64_t through);

/* Returns the address of the instruction at which the stopped thread makes its own system call. */
uint64_t ws_stopped_back(const struct ws_stopped *stopped);

/* --- all threads --------------------------------------------------------------------------------- */

enum { WS_STOPPED_MOST = 4096 };

/* The states of a thread: traced and running; told to stop; stopped; ended or detached. */
enum ws_stop_state { WS_LISTED, WS_TOLD, WS_STANDS, WS_GONE };

struct ws_stopped_all {
    pid_t threads[WS_STOPPED_MOST];
    uint8_t state[WS_STOPPED_MOST];   /* enum ws_stop_state of each thread */
    int64_t since[WS_STOPPED_MOST];   /* ws_clock_ns when each thread was told to stop */
    uint64_t places[WS_STOPPED_MOST]; /* instruction pointer of each thread */
    /* The stack pointer of each thread; the address of each thread's descriptor, which is its register fs_base. */
    uint64_t stacks[WS_STOPPED_MOST], descriptors[WS_STOPPED_MOST];
    size_t count;
};

/* Stops all threads of the process except `except`, wherever they are. Returns 0; -EAGAIN: a thread did not stop
 * in time (`patience` ns, and a little more for each thread), perhaps because it is in a long system call; -E2BIG:
 * there are too many threads; or -errno. Call ws_let_go_all after success and after errors. */
int ws_stop_all(int pid, pid_t except, int64_t patience, struct ws_stopped_all *all);

/* Lets all threads continue. Returns the longest time that a thread stood still, in ns. */
int64_t ws_let_go_all(struct ws_stopped_all *all);

#endif
