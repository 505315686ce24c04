/* The file of a trace, as it is relayed: where its last whole unit ends (stream.h). */
#ifndef WALLSHIM_COLLECTOR_RELAY_FILE_H
#define WALLSHIM_COLLECTOR_RELAY_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct relay_file {
    int fd;
    uint64_t end; /* of the last whole unit that was found */
};

/* Goes on from `end`, over some thousand units, and not farther than `limit`. Only heads are read: the other side
 * checks what the units hold. Returns whether nothing more can be found now. */
bool relay_file_look(struct relay_file *file, uint64_t limit);

/* Returns the bytes read, fewer only at the end of the file; or -errno. */
int64_t relay_file_read(const struct relay_file *file, uint64_t at, uint8_t *bytes, size_t size);

#endif
