/* Is a wrapped call that a thread began still under way? One that was left by a jump or an exception never returns,
 * so nothing of ours runs when it ends. It says where its frame is, and keeps a word there: a frame that was left
 * holds it only until the stack there is used again.
 *
 * What cannot be told apart: a call that was left, from one that is made further down than it was, over a stretch of
 * stack that nothing has written to since. That one counts as made by the one that was left. */
#ifndef WALLSHIM_SHIM_FRAMES_H
#define WALLSHIM_SHIM_FRAMES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "thread.h"

/* word: a variable of the wrapper's; at: where the thread keeps its address, 0 again when the call returns. */
static inline __attribute__((always_inline)) void frame_begin(struct shim_thread *thread, uintptr_t *at,
                                                              uintptr_t *word)
{
    *word = (uintptr_t)thread;
    atomic_signal_fence(memory_order_release); /* a signal may come in between */
    *at = (uintptr_t)word;
}

/* Marks a stretch of our own as within a call, where the thread is in none: what a handler calls there is nested.
 * True if so: then thread->within is to be 0 again at its end. */
static inline __attribute__((always_inline)) bool frame_guard(struct shim_thread *thread, uintptr_t *word)
{
    if (thread->within)
        return false;
    frame_begin(thread, &thread->within, word);
    return true;
}

/* Does the call whose frame is at `at` make the one whose caller's frame ends at `caller`, and that returns to
 * `from`? Slow, but for those asked about lately as well: not for the way of a launch. */
bool frame_makes(struct shim_thread *thread, uintptr_t at, uintptr_t caller, const void *from);

#endif
