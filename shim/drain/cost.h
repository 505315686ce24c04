/* The time that recording costs the threads of the program. The sum is written at the end of the trace. */
#ifndef WALLSHIM_SHIM_DRAIN_COST_H
#define WALLSHIM_SHIM_DRAIN_COST_H

#include <stdint.h>

struct shim_thread;

/* Adds the time that the thread's events have cost since the last call for this thread. */
void cost_of_thread(struct shim_thread *thread);

/* Writes the cost of events, summed over all threads, and the cost per record into the trace. */
void cost_say(void);

/* Called in each round. At the end of each window of 100 ms, takes the thread that made the most records, and returns
 * the cost of its records divided by the cost that --overhead allows. Sets *length to the window's length, ns. Events
 * do not count here: calls/measure.h limits their cost. Returns -1 if no window has ended, if nothing is recorded, or
 * if --overhead has no effect with the options. */
double cost_of_records(int64_t now, int64_t *length);

#endif
