/* The file of a trace that is relayed, and where its last complete unit (file header, frame or trailer) ends. */
#ifndef WALLSHIM_COLLECTOR_RELAY_FILE_H
#define WALLSHIM_COLLECTOR_RELAY_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct relay_file {
    int fd;
    uint64_t end; /* offset at which the last complete frame found so far ends */
};

/* Moves `end` forward over some thousand frames (blocks of records) at most, and not beyond `limit`. Reads only the
 * headers of the frames, because the collector that receives the frames checks their contents. Returns true if no
 * further complete frame can be found now. */
bool relay_file_look(struct relay_file *file, uint64_t limit);

/* Reads `size` bytes at the offset `at`. Returns the number of bytes read, or -errno. The number is less than `size`
 * only at the end of the file. */
int64_t relay_file_read(const struct relay_file *file, uint64_t at, uint8_t *bytes, size_t size);

#endif
