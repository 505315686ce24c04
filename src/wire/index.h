/* What a trace's footer says: how many rows there are, and where the rows of a time are.
 *
 * The index divides the frames into spans of neighbours. It has a fixed size: when it is full each two
 * neighbours become one, so that it always covers the whole file. */
#ifndef WALLSHIM_WIRE_INDEX_H
#define WALLSHIM_WIRE_INDEX_H

#include <stdint.h>

#include "base/bytes.h"
#include "record/record.h"

enum { WS_SPANS_MAX = 1024 };

struct ws_span {
    uint64_t offset; /* of its first frame's header */
    uint32_t frames;
    int64_t host_first; /* range of host times in it; first > last: none */
    int64_t host_last;
};

struct ws_index {
    uint64_t rows[WS_FAMILY_COUNT];
    uint64_t repeated[WS_FAMILY_COUNT]; /* how many of them the dictionaries before the footer carry */
    uint64_t dictionaries;              /* offset of these */
    uint32_t span_count;
    uint32_t frames_per_span;
    struct ws_span spans[WS_SPANS_MAX];
};

/* All zero is an empty index. */
void ws_index_add(struct ws_index *index, uint64_t offset, int64_t host_first, int64_t host_last);

/* Bytes that ws_index_write may take. */
enum { WS_INDEX_BYTES = (WS_SPANS_MAX * 4 + WS_FAMILY_COUNT * 2 + 8) * WS_VARINT_MAX };

void ws_index_write(const struct ws_index *index, struct ws_bytes_out *out);

/* Marks `in` failed when it is no index. Offsets are as the file says: check them. */
void ws_index_read(struct ws_index *index, struct ws_bytes_in *in);

#endif
