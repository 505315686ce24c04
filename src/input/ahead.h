/* Reads data ahead: a helper thread makes pieces of data, a few pieces ahead of the thread that uses them. */
#ifndef WALLSHIM_INPUT_AHEAD_H
#define WALLSHIM_INPUT_AHEAD_H

#include <stdbool.h>
#include <stddef.h>

struct ws_ahead;

/* Starts the helper thread. It calls `fill` for one piece after the other. When `fill` returns false, the piece that
 * it filled is the last. A piece has piece_size bytes, which are zero at first. Pieces are reused: `fill` finds in a
 * piece what an earlier call left there. Returns NULL when there is no memory, or no thread can be started. */
struct ws_ahead *ws_ahead_start(size_t piece_size, bool (*fill)(void *user, void *piece), void *user);

/* Returns the next piece, which is valid until the next call. After the last piece, every later call returns the last
 * piece again. */
const void *ws_ahead_next(struct ws_ahead *ahead);

/* Ends the thread. Calls `finish` for each piece, unless `finish` is NULL. Accepts NULL for `ahead`. */
void ws_ahead_stop(struct ws_ahead *ahead, void (*finish)(void *piece));

#endif
