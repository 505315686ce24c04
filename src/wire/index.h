/* The contents of a trace's footer: the number of rows per kind of record (family), and an index that finds the
 * frames with the rows of a given time.
 *
 * The index divides the frames into spans of adjacent frames. The index has a fixed size. When it is full, each pair
 * of adjacent spans is merged into one. So the index always covers the whole file. */
#ifndef WALLSHIM_WIRE_INDEX_H
#define WALLSHIM_WIRE_INDEX_H

#include <stdint.h>

#include "base/bytes.h"
#include "record/record.h"

enum { WS_SPANS_MAX = 1024 };

struct ws_span {
    uint64_t offset; /* file offset of the span's first frame */
    uint32_t frames;
    int64_t host_first; /* range of the rows' host times; host_first > host_last: the rows have no host times */
    int64_t host_last;
};

struct ws_index {
    uint64_t rows[WS_FAMILY_COUNT];
    uint64_t repeated[WS_FAMILY_COUNT]; /* number of the family's rows that are repeated right before the footer */
    /* File offset of the first frame that repeats dictionaries right before the footer. */
    uint64_t dictionaries;
    uint32_t span_count;
    uint32_t frames_per_span;
    struct ws_span spans[WS_SPANS_MAX];
};

/* Adds the frame whose header is at `offset`. An index filled with zeros is empty. */
void ws_index_add(struct ws_index *index, uint64_t offset, int64_t host_first, int64_t host_last);

/* Maximum number of bytes that ws_index_write writes. */
enum { WS_INDEX_BYTES = (WS_SPANS_MAX * 4 + WS_FAMILY_COUNT * 2 + 8) * WS_VARINT_MAX };

void ws_index_write(const struct ws_index *index, struct ws_bytes_out *out);

/* Marks `in` as failed if it holds no valid index. Offsets are unchecked: the caller must check them. */
void ws_index_read(struct ws_index *index, struct ws_bytes_in *in);

#endif
