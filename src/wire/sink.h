/* Where an encoder's bytes go: a file of its own.
 *
 * The file may be written inside somebody else's program, which may close descriptors it did not open
 * and open files of its own under their numbers. So the sink keeps out of the low numbers, looks before
 * every write whether its descriptor still is its file, and opens the file again when it is not. */
#ifndef WALLSHIM_WIRE_SINK_H
#define WALLSHIM_WIRE_SINK_H

#include <stddef.h>
#include <stdint.h>

struct ws_file_sink {
    int fd;
    const char *path; /* the caller's; absolute, if the program may change its folder */
    uint64_t device, inode;
    uint64_t size; /* of what is whole */
};

/* Creates the file, for its user alone to read: traces hold command lines and names. One that exists, or a symbolic
 * link, is left alone. The path must stay as long as
 * the sink. Returns 0 or -errno. */
int ws_file_sink_open(struct ws_file_sink *sink, const char *path);

/* A ws_sink_write: all of the bytes or, with -errno, none. The file then ends as it did before. */
int ws_file_sink_write(void *sink, const void *bytes, size_t size);

/* Returns 0 or -errno of the file system's last word. */
int ws_file_sink_close(struct ws_file_sink *sink);

#endif
