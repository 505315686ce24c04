/* The time that recording costs the threads of the program. At its end, the trace states what events and stacks have
 * cost all threads together, and what one record costs. */
#ifndef WALLSHIM_SHIM_DRAIN_COST_H
#define WALLSHIM_SHIM_DRAIN_COST_H

#include <stdint.h>

struct shim_thread;

/* Adds to the sum the time that recording events and stacks has cost the thread since the last call for this
 * thread. */
void cost_of_thread(struct shim_thread *thread);

/* Writes two costs into the trace, in ns: the cost of events and stacks, summed over all threads, and the cost of one
 * record. */
void cost_say(void);

/* Called in each round of the drain thread. At the end of each window of 100 ms, takes the thread that made the most
 * records in the window, and returns the cost of these records divided by the cost that --overhead allows. Sets
 * *length to the window's length, ns, and sets threads_recording (objects/thread.h). The cost of events is not
 * included: calls/measure.h limits it. Returns -1 if no window has ended, if nothing is recorded, or if other options
 * leave --overhead without effect. */
double cost_of_records(int64_t now, int64_t *length);

#endif
