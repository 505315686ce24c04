/* Stacks: where in the program's source a call was made. A stack is taken at calls that tell something: operations
 * that are measured anyway, waits, copies, allocations, loading of modules, collectives. They cost no more than a
 * quarter of --overhead.
 *
 * A stack is the id of its innermost frame in the dictionary of frames. Each frame names its caller, so stacks share
 * what they have in common. */
#ifndef WALLSHIM_SHIM_STACKS_STACKS_H
#define WALLSHIM_SHIM_STACKS_STACKS_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/objects/thread.h"

/* Called when the recording starts: looks for an interpreter, unless --stacks is none. */
void stacks_start(void);

/* Why no stacks are taken; NULL: they are, or there is nothing to say. */
const char *stacks_summary(void);

/* Puts the calling thread's stack into its ring, behind the record of its last call. ticks: the call's begin. shape:
 * the operation's, or 0. Call it while the thread is marked as within a call. */
void stack_note(struct shim_thread *thread, uint64_t ticks, uint32_t shape);

/* For the drain: takes the stack of a thread that is in no call. Returns false if that could not be done. */
bool stack_of_pause(struct shim_thread *thread, uint32_t *frame);

#endif
