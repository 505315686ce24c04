/* Reads the bytes of a file; decompresses gzip files. */
#ifndef WALLSHIM_INPUT_INPUT_H
#define WALLSHIM_INPUT_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* How the file ended. */
enum ws_input_end {
    WS_INPUT_WHOLE,
    WS_INPUT_CUT,    /* the file ends within gzip data */
    WS_INPUT_DAMAGED /* after the bytes that were read, the file is not valid gzip */
};

struct ws_input;

/* Returns 0 or -errno. */
int ws_input_open(struct ws_input **input, const char *path);

/* Starts a thread that decompresses the file ahead of ws_input_read. If the thread cannot be started, ws_input_read
 * decompresses the file itself. */
void ws_input_read_ahead(struct ws_input *input);

/* Reads at most size bytes. Returns the number of bytes, 0 at the end (see ws_input_end), or -errno. -E2BIG means
 * that a compressed file grows so much that it must be a decompression bomb. */
ssize_t ws_input_read(struct ws_input *input, void *to, size_t size);

enum ws_input_end ws_input_end(const struct ws_input *input);

/* Stores how many bytes of the file (compressed, if it is a gzip file) the returned bytes came from, and the size of
 * the file. */
void ws_input_position(const struct ws_input *input, uint64_t *done, uint64_t *total);

/* Closes the file. Accepts NULL. */
void ws_input_close(struct ws_input *input);

#endif
