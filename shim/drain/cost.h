/* What recording costs the threads of the program. The trace says at its end what it cost. */
#ifndef WALLSHIM_SHIM_DRAIN_COST_H
#define WALLSHIM_SHIM_DRAIN_COST_H

#include <stdint.h>

struct shim_thread;

/* Adds what the thread has spent since the last time. */
void cost_of_thread(struct shim_thread *thread);

/* Writes the sum of all threads into the trace. */
void cost_say(void);

/* If a window of 100 ms has ended: how many times as much as --overhead allows did the records take of the time of
 * the thread that made most of them? Sets *length to that of the window, ns. Events do not count: those that can be
 * left out are (calls/measure.h). Returns -1 while no window has ended, while nothing is recorded, and where
 * --overhead has no meaning. */
double cost_of_records(int64_t now, int64_t *length);

#endif
