/* An encoder's sink that writes to a file.
 *
 * The file may be written inside somebody else's program. That program may close descriptors that it did not open,
 * and reuse their numbers for its own files. So the sink uses a high descriptor number. Before each write it checks
 * that the descriptor still refers to the trace file; if not, it opens the trace file again. */
#ifndef WALLSHIM_WIRE_SINK_H
#define WALLSHIM_WIRE_SINK_H

#include <stddef.h>
#include <stdint.h>

struct ws_file_sink {
    int fd;
    const char *path; /* owned by the caller; must be absolute if the program may change its directory */
    uint64_t device, inode;
    uint64_t size; /* size of all complete frames in the file, in bytes */
};

/* Creates the file. Only its owner can read it, because traces hold command lines and names. Fails if the path
 * exists, even as a symbolic link. The path must stay valid as long as the sink. Returns 0 or -errno. */
int ws_file_sink_open(struct ws_file_sink *sink, const char *path);

/* Uses the empty file that is already open as fd, instead of creating a file. Closes fd on error. Returns 0 or
 * -errno. */
int ws_file_sink_adopt(struct ws_file_sink *sink, int fd, const char *path);

/* A function for ws_encoder_options.write. Writes all bytes. After an error the file ends where it ended before the
 * call. Returns 0 or -errno. */
int ws_file_sink_write(void *sink, const void *bytes, size_t size);

/* Closes the file. Returns 0 or the -errno of close. */
int ws_file_sink_close(struct ws_file_sink *sink);

/* Stores the two numbers that identify the file behind a descriptor. Returns 0 or -errno. */
int ws_descriptor_identity(int fd, uint64_t *device, uint64_t *inode);

/* Moves the descriptor to a high number, if the limit of open files allows that. Returns the descriptor's number,
 * which is unchanged if the move failed. */
int ws_descriptor_move_high(int fd);

#endif
