/* Turns frames of native code, which are addresses in modules, into functions and lines. */
#ifndef WALLSHIM_MODEL_NATIVE_FRAMES_H
#define WALLSHIM_MODEL_NATIVE_FRAMES_H

#include "base/arena.h"
#include "model/stacks.h"

/* Replaces each frame in a module (program or shared library) by a frame in a function, with the function's name from
 * the module's file. If functions were inlined at the address, each of them gets a frame of its own. Each
 * function becomes a row of ws_stacks.codes whose `coding` is WS_LINES_GIVEN. The `offset` of its frames is then a
 * line number. If the function's name is unknown, module and offset become the name. Call this function before
 * ws_stacks_order. Returns 0 or -ENOMEM. */
int ws_native_frames(struct ws_stacks *stacks, struct ws_arena *texts);

/* Writes which module of the program's own code lacks names of functions, and why. Returns false if no module lacks
 * names. */
bool ws_native_lacks(const struct ws_stacks *stacks, char *text, size_t capacity);

#endif
