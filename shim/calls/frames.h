/* Tells whether a thread is still inside a wrapped call. A call that is left by longjmp or an exception never
 * returns, so nothing of ours runs when it ends. Therefore each wrapper keeps a marker word in its stack frame, and
 * its thread notes the address. In an abandoned frame, the marker lasts only until later calls use that part of the
 * stack.
 *
 * One case cannot be told apart: a call was abandoned, and the next one is made further down the stack before
 * anything has overwritten the marker. The next one then counts as made by the abandoned call. */
#ifndef WALLSHIM_SHIM_CALLS_FRAMES_H
#define WALLSHIM_SHIM_CALLS_FRAMES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "shim/objects/thread.h"

/* word: the marker, a local variable of the wrapper. at: the field of the thread that holds the marker's address; it
 * is set to 0 when the call returns. */
static inline __attribute__((always_inline)) void frame_begin(struct shim_thread *thread, uintptr_t *at,
                                                              uintptr_t *word)
{
    *word = (uintptr_t)thread;
    atomic_signal_fence(memory_order_release); /* a signal may come in between */
    *at = (uintptr_t)word;
}

/* Marks the shim's own work as a wrapped call, unless the thread is in one already. CUDA calls that a signal handler
 * makes meanwhile then count as nested. True: it was marked, and the caller sets thread->within to 0 at the end. */
static inline __attribute__((always_inline)) bool frame_guard(struct shim_thread *thread, uintptr_t *word)
{
    if (thread->within)
        return false;
    frame_begin(thread, &thread->within, word);
    return true;
}

/* Is the wrapped call with its marker at `at` still under way, so that it makes the new call? caller: the canonical
 * frame address of the new call's wrapper. from: the new call's return address. Slow, except for calls that were
 * asked about lately: not for the hot path. */
bool frame_makes(struct shim_thread *thread, uintptr_t at, uintptr_t caller, const void *from);

#endif
