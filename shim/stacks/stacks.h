/* Stacks: where in the program's source a call was made. A stack is recorded at operations that get events anyway,
 * and at waits, copies, allocations, loads of modules and collectives. Stacks take no more than a quarter of the time
 * that the option --overhead allows, except with --stacks all.
 *
 * A stack is recorded as the id of its innermost frame in the dictionary `frame`. Each frame refers to its caller, so
 * stacks share their common outer frames. */
#ifndef WALLSHIM_SHIM_STACKS_STACKS_H
#define WALLSHIM_SHIM_STACKS_STACKS_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/objects/thread.h"

/* Called when the recording starts: looks for a Python interpreter, unless --stacks is none. */
void stacks_start(void);

/* Why stacks are missing in the trace; NULL: nothing to report. */
const char *stacks_summary(void);

/* Adds the calling thread's stack to its ring, after the record of its last call. Adds nothing if the thread's
 * earlier stacks have cost more than their share of what --overhead allows. begin: ticks at which the call began.
 * now: about the current ticks. shape: id of the operation's shape; 0: not an operation. During the call of this
 * function, the thread must be marked as within a call (thread->within). */
void stack_note(struct shim_thread *thread, uint64_t begin, uint64_t now, uint32_t shape);

/* Like stack_note, for a call that is captured into a graph. The stack is added however much earlier stacks have
 * cost, because a captured operation gets no other stack, and the graph may be launched often. The cost of this stack
 * delays the thread's later stacks. */
void stack_note_captured(struct shim_thread *thread, uint64_t begin, uint64_t now, uint32_t shape);

/* Called by the drain thread: reads the Python stack of a thread that is in no call which the shim intercepts.
 * *frame: id of the innermost frame. Returns false if the stack could not be read. */
bool stack_of_pause(struct shim_thread *thread, uint32_t *frame);

#endif
