/* Where an encoder's bytes go: a file of its own. */
#ifndef WALLSHIM_WIRE_SINK_H
#define WALLSHIM_WIRE_SINK_H

#include <stddef.h>
#include <stdint.h>

struct ws_file_sink {
    int fd;
    uint64_t inode; /* and device in one, to know the file again; 0 unknown */
    uint64_t size;  /* of what is whole */
};

/* Creates the file; one that exists, or a symbolic link, is left alone. Returns 0 or -errno. */
int ws_file_sink_open(struct ws_file_sink *sink, const char *path);

/* A ws_sink_write: all of the bytes or, with -errno, none. The file then ends as it did before. -EBADF where the
 * number has come to mean another file, which is left alone. */
int ws_file_sink_write(void *sink, const void *bytes, size_t size);

/* Returns 0 or -errno of the file system's last word. */
int ws_file_sink_close(struct ws_file_sink *sink);

#endif
