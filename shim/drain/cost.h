/* What recording cost the threads of the program. The trace says so at its end. */
#ifndef WALLSHIM_SHIM_DRAIN_COST_H
#define WALLSHIM_SHIM_DRAIN_COST_H

struct shim_thread;

/* Adds what the thread has spent since the last time. */
void cost_of_thread(struct shim_thread *thread);

/* Writes the sum of all threads into the trace. */
void cost_say(void);

#endif
