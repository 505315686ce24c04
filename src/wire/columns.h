/* Rows to columns of bytes and back, driven by the tables of record/families.h.
 *
 * Both directions work in memory given by the caller (struct ws_columns_scratch) and allocate
 * nothing. Decoding trusts no byte: what does not add up is refused.
 */
#ifndef WALLSHIM_WIRE_COLUMNS_H
#define WALLSHIM_WIRE_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "record/record.h"
#include "wire/frame.h"

/* How a column's bytes give its values; the numbers are part of the format. A residual is what is
 * added to the prediction, modulo 2^64. */
enum ws_coding {
    WS_CODING_PLAIN,      /* predicted 0 */
    WS_CODING_DELTA,      /* the row before */
    WS_CODING_LAST,       /* the last row with the same key */
    WS_CODING_AFTER,      /* the base column of this row, plus what that difference was in the row before */
    WS_CODING_AFTER_LAST, /* the same, but in the last row with the same key */
    WS_CODING_SLOTS,      /* the frame's distinct values, and which of them each row has */
    WS_CODING_TEXT,
    WS_CODING_COUNT
};

struct ws_column {
    const char *name;
    uint16_t offset; /* of the value in the row structure */
    uint8_t width;   /* 4 or 8; TEXT: sizeof(struct ws_text) */
    bool is_signed;
    uint8_t coding;
    uint8_t base; /* AFTER…: index of the column it follows */
    uint8_t key;  /* LAST, AFTER_LAST: index of the SLOTS column */
};

/* How one family's rows lie in memory and are coded. */
struct ws_layout {
    const char *name;
    const struct ws_column *columns;
    uint16_t column_count;
    uint16_t row_size;
};

enum { WS_COLUMNS_MAX = 32 };

/* The family's layout; NULL for a number this version does not know. */
const struct ws_layout *ws_layout(uint32_t family);

/* Working memory for frames of at most max_rows rows, in `size` bytes at `memory` (page aligned or
 * malloc's, all 0). */
struct ws_columns_scratch;
size_t ws_columns_scratch_size(uint32_t max_rows);
struct ws_columns_scratch *ws_columns_scratch_init(void *memory, uint32_t max_rows);

/* Bytes that encoding `rows` rows with `text` bytes of strings can take at most. */
size_t ws_columns_bound(const struct ws_layout *layout, uint32_t rows, size_t text);

/* Appends the columns of `rows` rows to out; out->failed says that they did not fit. */
void ws_columns_encode(const struct ws_layout *layout, const void *rows, uint32_t count,
                       struct ws_columns_scratch *scratch, struct ws_bytes_out *out);

/* Fills `count` rows at `rows` (count * row_size bytes). Texts point into the payload. Columns the
 * layout has and the payload has not become 0; further ones are passed over. 0 or -EBADMSG. */
int ws_columns_decode(const struct ws_layout *layout, const uint8_t *payload, size_t size, uint32_t count,
                      struct ws_columns_scratch *scratch, void *rows);

/* Range of the family's host times over `count` rows; first > last when it has none. */
void ws_columns_host_range(const struct ws_layout *layout, const void *rows, uint32_t count, int64_t *first,
                           int64_t *last);

#endif
