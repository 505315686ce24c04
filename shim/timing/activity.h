/* Measures for which part of the time a thread works.
 *
 * --overhead bounds what recording may cost a thread, as a share of the time in which the thread works. If it were a
 * share of all time, a server that mostly waits for requests would spend the budget of its waiting time within its
 * requests, and answer them later. Waiting for the device counts as work. The driver may wait in a busy loop, which
 * shows in the thread's CPU time, or it may sleep, which does not. So a thread's work is its CPU time or its time in
 * calls, whichever is greater. Launches count among these calls, because a launch waits if the stream's queue is
 * full. */
#ifndef WALLSHIM_SHIM_TIMING_ACTIVITY_H
#define WALLSHIM_SHIM_TIMING_ACTIVITY_H

#include "shim/objects/thread.h"

enum { ACTIVITY_ONE = 256 }; /* unit of thread_activity.stretch */

/* Called after each call that waits until the device has done its work, if there is any. begin, end: ticks at which
 * the call began and returned. */
void activity_waited(struct shim_thread *thread, uint64_t begin, uint64_t end);

/* Called after each call, except those that launch operations: the drain thread counts the time of these. */
static inline void activity_called(struct shim_thread *thread, uint64_t begin, uint64_t end)
{
    thread->activity.in_calls += end - begin;
}

/* How long the thread usually works from one wait for the device to the next, in ticks. This time is about one
 * request in a server, and about one step in a training loop. 0: not known, or the thread does not wait. */
uint64_t activity_between_waits(const struct shim_thread *thread);

/* Reads the calling thread's CPU time, and computes the thread's `stretch` anew. now: the tick counter now. */
void activity_read(struct shim_thread *thread, uint64_t now);

/* Returns how many ticks pass while the calling thread works for `ticks`. Call it regularly: it also reads the
 * thread's CPU time (activity_read), at most once in 25 ms. now: the tick counter now. */
static inline uint64_t activity_stretch(struct shim_thread *thread, uint64_t now, uint64_t ticks)
{
    if (__builtin_expect(now >= thread->activity.next_read, 0))
        activity_read(thread, now);
    return ticks * thread->activity.stretch / ACTIVITY_ONE;
}

#endif
