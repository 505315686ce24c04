/* Is a wrapped call that a thread began still under way? A call that was left by a jump or an exception never
 * returns, so nothing of ours runs when it ends. So each call notes where its frame is, and keeps a word there: a
 * frame that was left holds the word only until the stack is used again.
 *
 * One case looks the same: a call was left, and another is made further down the stack, over memory that nothing has
 * written to since. It counts as made by the call that was left. */
#ifndef WALLSHIM_SHIM_CALLS_FRAMES_H
#define WALLSHIM_SHIM_CALLS_FRAMES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "shim/objects/thread.h"

/* word: a variable of the wrapper's; at: where the thread keeps its address, 0 again when the call returns. */
static inline __attribute__((always_inline)) void frame_begin(struct shim_thread *thread, uintptr_t *at,
                                                              uintptr_t *word)
{
    *word = (uintptr_t)thread;
    atomic_signal_fence(memory_order_release); /* a signal may come in between */
    *at = (uintptr_t)word;
}

/* Counts our own work as within a call, where the thread is in none: calls that a handler makes there are nested.
 * True if so: then thread->within must be 0 again at the end. */
static inline __attribute__((always_inline)) bool frame_guard(struct shim_thread *thread, uintptr_t *word)
{
    if (thread->within)
        return false;
    frame_begin(thread, &thread->within, word);
    return true;
}

/* Does the call whose frame is at `at` make the call whose caller's frame ends at `caller`, and that returns to
 * `from`? Slow, except for those asked about lately: not for the way of a launch. */
bool frame_makes(struct shim_thread *thread, uintptr_t at, uintptr_t caller, const void *from);

#endif
