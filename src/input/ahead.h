/* Reads a file in a thread of its own, a few pieces ahead of the parser. So one thread decompresses the file while
 * another parses it. */
#ifndef WALLSHIM_INPUT_AHEAD_H
#define WALLSHIM_INPUT_AHEAD_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "input/input.h"

enum { WS_AHEAD_PIECE = 256 * 1024 };

struct ws_ahead_piece {
    ssize_t size;          /* number of bytes; 0: the end; below 0: -errno */
    uint64_t done;         /* position in the file behind these bytes */
    enum ws_input_end end; /* how the file ends, as far as known after these bytes */
    unsigned char bytes[WS_AHEAD_PIECE];
};

struct ws_ahead;

/* Starts the thread. The thread calls `fill` for one piece after the other, up to and including the first piece
 * without bytes. Returns NULL when there is no memory or no thread. */
struct ws_ahead *ws_ahead_start(void (*fill)(void *user, struct ws_ahead_piece *piece), void *user);

/* Returns the next piece, which is valid until the next call. A piece without bytes is the last: every later call
 * returns this piece again. */
const struct ws_ahead_piece *ws_ahead_next(struct ws_ahead *ahead);

/* Ends the thread. Accepts NULL. */
void ws_ahead_stop(struct ws_ahead *ahead);

#endif
