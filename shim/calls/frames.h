/* Tells whether a thread is still inside a wrapped call: a call of the program to a wrapper of the shim. A call that
 * is left by longjmp or an exception never returns, so no code of the shim runs at its end. Therefore each wrapper
 * keeps a marker word in its stack frame, and the thread's state holds the marker's address. In an abandoned frame,
 * the marker lasts only until later calls use that part of the stack.
 *
 * In one case an abandoned call is not recognized: the next call is made deeper in the stack, before anything
 * overwrites the marker. Then the shim takes the next call for a call that the abandoned call makes. */
#ifndef WALLSHIM_SHIM_CALLS_FRAMES_H
#define WALLSHIM_SHIM_CALLS_FRAMES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "shim/objects/thread.h"

/* Called at the begin of a wrapped call: writes the marker, and stores its address. word: the marker, a local
 * variable of the wrapper. at: the field of the thread that holds the marker's address; the wrapper sets the field to
 * 0 when the call returns. */
static inline __attribute__((always_inline)) void frame_begin(struct shim_thread *thread, uintptr_t *at,
                                                              uintptr_t *word)
{
    *word = (uintptr_t)thread;
    atomic_signal_fence(memory_order_release); /* a signal handler may run between the two stores */
    *at = (uintptr_t)word;
}

/* Marks the shim's own work as a wrapped call, unless the thread is in a wrapped call already. So CUDA calls that a
 * signal handler makes during this work count as nested (calls inside another call), and write no record. Returns
 * true if this function set the mark. Then the caller sets thread->within to 0 at the end of the work. */
static inline __attribute__((always_inline)) bool frame_guard(struct shim_thread *thread, uintptr_t *word)
{
    if (thread->within)
        return false;
    frame_begin(thread, &thread->within, word);
    return true;
}

/* Is the wrapped call whose marker is at `at` still under way? If so, the new call is made inside it. caller: the
 * canonical frame address of the new call's wrapper. from: the new call's return address. This check is slow for a
 * call that it has not checked recently, so launches make it only in rare cases. */
bool frame_makes(struct shim_thread *thread, uintptr_t at, uintptr_t caller, const void *from);

#endif
