/* Finds the frames of a file that may be damaged, and records the numbers of the rows that were read. */
#ifndef WALLSHIM_TRACE_RECOVER_H
#define WALLSHIM_TRACE_RECOVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/frame.h"

struct ws_frame_source {
    int fd;
    uint64_t size; /* size of the file when it was opened; bytes appended later are not read */
    uint32_t file_id;
    bool any_file_id; /* the file header is unreadable; the first frame found sets file_id */
};

/* The position of a frame, and the number of bytes skipped to find it. */
struct ws_frame_place {
    uint64_t offset; /* offset of the frame's header in the file */
    uint64_t skipped;
    struct ws_frame_header header;
};

/* Reads up to `size` bytes at `offset`. Reads fewer only at the end of the file. Returns the number of bytes read, or
 * -errno. */
int64_t ws_frame_source_read(const struct ws_frame_source *source, uint64_t offset, void *bytes, size_t size);

/* Finds the first valid frame header at or after `offset`. Returns 1 if it found a header, 0 if not, or -errno. */
int ws_frame_find(struct ws_frame_source *source, uint64_t offset, struct ws_frame_place *place);

/* The row numbers [first, end). */
struct ws_row_range {
    uint64_t first, end;
};

/* A set of row numbers, as sorted ranges that do not touch. A set filled with zeros is empty. */
struct ws_row_set {
    struct ws_row_range *ranges;
    size_t count, capacity;
};

/* Finds the first part of [*first, end) that is not in the set. Stores the start and the length of this part in
 * *first and *count. Returns false if the set holds all of [*first, end). */
bool ws_row_set_missing(const struct ws_row_set *set, uint64_t *first, uint64_t end, uint64_t *count);

/* Adds the row numbers [first, end) to the set. Returns 0, -ENOMEM, or -E2BIG if the set would have too many
 * ranges. */
int ws_row_set_add(struct ws_row_set *set, uint64_t first, uint64_t end);

/* Returns the number of rows in the set. */
uint64_t ws_row_set_size(const struct ws_row_set *set);

void ws_row_set_finish(struct ws_row_set *set);

#endif
