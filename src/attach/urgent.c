#include "attach/urgent.h"

#include <errno.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

#define ALARM SIGRTMIN /* unlike SIGALRM, no other program sends it */

enum { LOOK_NS = 1000000 }; /* ns between two alarms, or between two checks of the thread if there is no alarm */

/* The alarm is a signal that ends a wait (a blocking waitpid for one thread) at its deadline. Waiting for SIGCHLD
 * with a time-out would wake this command up for every other thread that stops, and delay those threads. */
static timer_t alarm_timer;
static bool has_alarm;

static void ring(int signal)
{
    (void)signal;
}

/* Sets the alarm to interrupt this command's calls after `delay` ns, and then every LOOK_NS, because the first signal
 * may come right before a call. A delay of 0 switches the alarm off. */
static void set_alarm(int64_t delay)
{
    const struct itimerspec times = { .it_value = { delay / 1000000000, delay % 1000000000 },
                                      .it_interval = { 0, LOOK_NS } };
    if (has_alarm)
        timer_settime(alarm_timer, 0, &times, NULL);
}

void ws_urgent_begin(struct ws_urgent *urgent)
{
    const struct sched_param lowest = { .sched_priority = sched_get_priority_min(SCHED_FIFO) };
    const struct sigaction action = { .sa_handler = ring };
    struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = ALARM };
    sigset_t mask;
    event._sigev_un._tid = gettid(); /* sigev_notify_thread_id in newer C libraries */
    sigaction(ALARM, &action, &urgent->alarm);
    sigfillset(&mask);
    sigdelset(&mask, ALARM);
    sigprocmask(SIG_SETMASK, &mask, &urgent->signals);
    has_alarm = !timer_create(CLOCK_MONOTONIC, &event, &alarm_timer);
    urgent->policy = sched_getscheduler(0);
    bool is_usual = urgent->policy == SCHED_OTHER || urgent->policy == SCHED_BATCH || urgent->policy == SCHED_IDLE;
    urgent->is_first =
        is_usual && !sched_getparam(0, &urgent->priority) && !sched_setscheduler(0, SCHED_FIFO, &lowest);
}

void ws_urgent_end(const struct ws_urgent *urgent)
{
    if (urgent->is_first)
        sched_setscheduler(0, urgent->policy, &urgent->priority);
    if (has_alarm)
        timer_delete(alarm_timer);
    has_alarm = false;
    sigaction(ALARM, &urgent->alarm, NULL);
    sigprocmask(SIG_SETMASK, &urgent->signals, NULL);
}

/* Returns what ws_wait_for_stop returns. If `waits` is set, waits until the thread stops or the alarm ends the
 * wait. */
static int look_for_stop(pid_t thread, bool waits, int *status)
{
    pid_t seen = waitpid(thread, status, __WALL | (waits ? 0 : WNOHANG));
    if (seen == thread)
        return WIFSTOPPED(*status) ? 0 : -ESRCH;
    return seen < 0 && errno != EINTR ? -errno : -EAGAIN;
}

int ws_wait_for_stop(pid_t thread, int64_t patience, int *status)
{
    int64_t end = ws_clock_ns() + patience;
    int error = look_for_stop(thread, false, status);
    if (error != -EAGAIN || patience <= 0)
        return error;
    set_alarm(patience);
    while (error == -EAGAIN && ws_clock_ns() < end) {
        if (!has_alarm)
            nanosleep(&(struct timespec){ 0, LOOK_NS }, NULL);
        error = look_for_stop(thread, has_alarm, status);
    }
    set_alarm(0);
    return error;
}
