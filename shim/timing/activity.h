/* The part of its time in which a thread works.
 *
 * --overhead bounds what recording may cost a thread, as a share of the time in which the thread works. A server that
 * mostly waits for requests would otherwise spend the budget of its waiting time within its requests, and answer them
 * later. A thread that waits for the device works. If the driver waits in a busy loop, this is part of the thread's
 * CPU time. If it sleeps, it is not: so the time in calls is counted, and the greater of the two counts. A launch
 * waits, too, if the stream's queue is full. */
#ifndef WALLSHIM_SHIM_TIMING_ACTIVITY_H
#define WALLSHIM_SHIM_TIMING_ACTIVITY_H

#include "shim/objects/thread.h"

enum { ACTIVITY_ONE = 256 }; /* unit of thread_activity.stretch */

/* Called when a call has returned that took from `begin` to `end`, in ticks. waits: the call waits for the device, if
 * the device has work. */
void activity_called(struct shim_thread *thread, uint64_t begin, uint64_t end, bool waits);

/* The time in which the thread usually works from one wait for the device to the next, as for one request or one
 * step, in ticks. 0: not known, or the thread does not wait. */
uint64_t activity_between_waits(const struct shim_thread *thread);

/* Reads the calling thread's CPU time, and computes the thread's `stretch` anew. now: the tick counter now. */
void activity_read(struct shim_thread *thread, uint64_t now);

/* Returns the time, in ticks, in which the calling thread works for `ticks`. Call it now and then: it reads the
 * thread's CPU time at most once in some milliseconds. now: the tick counter now. */
static inline uint64_t activity_stretch(struct shim_thread *thread, uint64_t now, uint64_t ticks)
{
    if (__builtin_expect(now >= thread->activity.next_read, 0))
        activity_read(thread, now);
    return ticks * thread->activity.stretch / ACTIVITY_ONE;
}

#endif
