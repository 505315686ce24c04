/* Finding the frames of a file that may be damaged, and keeping count of the rows already seen. */
#ifndef WALLSHIM_TRACE_RECOVER_H
#define WALLSHIM_TRACE_RECOVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/frame.h"

struct ws_frame_source {
    int fd;
    uint64_t size; /* when it was opened: nothing is read beyond */
    uint32_t file_id;
    bool any_file_id; /* the file header is unreadable: the first frame found says */
};

/* A frame's place, and what lay between it and where the search began. */
struct ws_frame_place {
    uint64_t offset; /* of the frame's header */
    uint64_t skipped;
    struct ws_frame_header header;
};

/* Reads up to `size` bytes at `offset`, fewer only at the end of the file. Returns the number or -errno. */
int64_t ws_frame_source_read(const struct ws_frame_source *source, uint64_t offset, void *bytes, size_t size);

/* The first frame at or after `offset` whose header is valid. 1 found; 0 none; -errno. */
int ws_frame_find(struct ws_frame_source *source, uint64_t offset, struct ws_frame_place *place);

/* A set of row numbers as sorted ranges [first, end). All zero is the empty set. */
struct ws_row_range {
    uint64_t first, end;
};

struct ws_row_set {
    struct ws_row_range *ranges;
    size_t count, capacity;
};

/* The first part of [*first, end) that is not in the set: *first and *count; false when there is none. */
bool ws_row_set_missing(const struct ws_row_set *set, uint64_t *first, uint64_t end, uint64_t *count);

/* 0, -ENOMEM, or -E2BIG when the set has become absurdly scattered. */
int ws_row_set_add(struct ws_row_set *set, uint64_t first, uint64_t end);

/* How many rows are in the set. */
uint64_t ws_row_set_size(const struct ws_row_set *set);

void ws_row_set_finish(struct ws_row_set *set);

#endif
