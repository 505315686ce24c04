/* Keeps this command fast and undisturbed while it works on stopped threads of another process.
 *
 * Between ws_urgent_begin and ws_urgent_end, this command runs before all programs without a real-time priority, if
 * that is permitted, and its signals are blocked, except the alarm of its own waits (SIGRTMIN). So the threads stand
 * still only briefly, and this command does not end while they stand still. Only one thread of this command may be
 * between the two calls. */
#ifndef WALLSHIM_ATTACH_URGENT_H
#define WALLSHIM_ATTACH_URGENT_H

#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct ws_urgent {
    sigset_t signals;
    int policy;
    struct sched_param priority;
    bool is_first; /* this command runs before other programs */
    struct sigaction alarm;
};

void ws_urgent_begin(struct ws_urgent *urgent);
void ws_urgent_end(const struct ws_urgent *urgent);

/* Waits until the thread, which this process traces, stops. Returns 0 and stores the thread's status; -EAGAIN: the
 * thread did not stop within `patience` ns; -ESRCH: the thread has ended; or -errno. */
int ws_wait_for_stop(pid_t thread, int64_t patience, int *status);

#endif
