/* Native frames of the calling thread: the C, C++ and Rust functions that lead to a call. */
#ifndef WALLSHIM_SHIM_STACKS_NATIVE_H
#define WALLSHIM_SHIM_STACKS_NATIVE_H

#include <stdint.h>

#include "shim/objects/thread.h"

/* Can native stacks be recorded in this process? Returns NULL if so, else the reason why not. */
const char *native_find(void);

/* Adds the calling thread's native stack to the dictionary `frame`, and returns the id of its innermost frame.
 * python: the id of the thread's innermost Python frame, or 0. If `python` is not 0, adds only the native functions
 * that Python's innermost function has called, with `python` as their caller. Returns `python` if there are no native
 * frames. */
uint32_t native_stack(struct shim_thread *thread, uint32_t python);

/* A text for the trace: how many native stacks were recorded, how many of them end before the outermost frame, and
 * why. NULL: none was recorded. */
const char *native_summary(void);

#endif
