/* The bytes of a file, unpacked where it is packed by gzip. */
#ifndef WALLSHIM_IMPORT_INPUT_H
#define WALLSHIM_IMPORT_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* How a file came to its end. */
enum ws_input_end {
    WS_INPUT_WHOLE,
    WS_INPUT_CUT,    /* in the middle of what gzip wrote */
    WS_INPUT_DAMAGED /* no gzip from here on */
};

struct ws_input;

/* Returns 0 or -errno. */
int ws_input_open(struct ws_input **input, const char *path);

/* Bytes, at most size of them; 0 the end, see ws_input_end; -errno, -E2BIG where a packed file becomes so much larger
 * that it can only be made for that. */
ssize_t ws_input_read(struct ws_input *input, void *to, size_t size);

enum ws_input_end ws_input_end(const struct ws_input *input);

/* Bytes of the file read of bytes in all. */
void ws_input_position(const struct ws_input *input, uint64_t *done, uint64_t *total);

/* Accepts NULL. */
void ws_input_close(struct ws_input *input);

#endif
