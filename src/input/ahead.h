/* Prepares data ahead of its use: a helper thread fills pieces of data (buffers) a few pieces before another thread
 * asks for them. */
#ifndef WALLSHIM_INPUT_AHEAD_H
#define WALLSHIM_INPUT_AHEAD_H

#include <stdbool.h>
#include <stddef.h>

struct ws_ahead;

/* Starts the helper thread. It calls `fill` for one piece after the other. When `fill` returns false, the piece that
 * it filled is the last. A piece has piece_size bytes, which are zero at first. The memory of a used piece serves for
 * a later piece and is not cleared in between, so `fill` finds in it what an earlier call of `fill` left there.
 * Returns NULL when there is no memory, or no thread can be started. */
struct ws_ahead *ws_ahead_start(size_t piece_size, bool (*fill)(void *user, void *piece), void *user);

/* Waits until the next piece is filled, and returns it. The piece is valid until the next call of this function.
 * After the last piece, every later call returns the last piece again. */
const void *ws_ahead_next(struct ws_ahead *ahead);

/* Ends the helper thread. Then calls `finish`, if it is not NULL, for the memory of every piece, so that `finish` can
 * free what `fill` allocated; a piece that was never filled is still zero. Accepts NULL for `ahead`. */
void ws_ahead_stop(struct ws_ahead *ahead, void (*finish)(void *piece));

#endif
