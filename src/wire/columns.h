/* Rows to columns of bytes and back, driven by the tables of record/families.h.
 *
 * Both directions work in memory given by the caller and allocate nothing. Decoding trusts no byte:
 * what does not add up is refused.
 */
#ifndef WALLSHIM_WIRE_COLUMNS_H
#define WALLSHIM_WIRE_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "record/record.h"
#include "wire/pack.h"

/* How a column's bytes give its values; the numbers are part of the format. A residual is what is
 * added to the prediction, modulo 2^64. "Remembered" is what the last row with the same key had, or
 * the row before where the key is new. */
enum ws_coding {
    WS_CODING_PLAIN,  /* predicted: 0 */
    WS_CODING_DELTA,  /* the row before */
    WS_CODING_LAST,   /* the value remembered */
    WS_CODING_LENGTH, /* of value - base column: the difference remembered */
    WS_CODING_GAP,    /* of value - last value of the base column in the same group: the one remembered */
    WS_CODING_SLOTS,  /* the frame's distinct values, and which of them each row has */
    WS_CODING_TEXT,
    WS_CODING_COUNT
};

struct ws_column {
    const char *name;
    uint16_t offset; /* of the value in the row structure */
    uint8_t width;   /* 4 or 8; TEXT: sizeof(struct ws_text) */
    bool is_signed;
    uint8_t coding;
    uint8_t base;  /* LENGTH: index of the column it is counted from; GAP: of that column's LENGTH */
    uint8_t key;   /* LAST, LENGTH, GAP: index of the SLOTS column whose values remember */
    uint8_t group; /* GAP: index of the SLOTS column that tells which rows follow each other */
    bool grouped;  /* GAP: not each value of it is a group, the caller's map says which is in which */
};

/* How one family's rows lie in memory and are coded. */
struct ws_layout {
    const char *name;
    const struct ws_column *columns;
    uint16_t column_count;
    uint16_t row_size;
};

enum {
    WS_COLUMNS_MAX = 16,
    WS_KEY_COLUMNS_MAX = 3, /* SLOTS columns in one family */
};

/* The family's layout; NULL for a number this version does not know. */
const struct ws_layout *ws_layout(uint32_t family);

/* Bytes that head or planes can take at most for `rows` rows with `text` bytes of strings. */
size_t ws_columns_bound(const struct ws_layout *layout, uint32_t rows, size_t text);

/* Working memory for encoding frames of at most max_rows rows: `size` bytes at `memory`, all 0. */
struct ws_columns_encoder;
size_t ws_columns_encoder_size(uint32_t max_rows);
struct ws_columns_encoder *ws_columns_encoder_init(void *memory, uint32_t max_rows);

/* Appends the columns of `count` rows to `to`; what is marked failed there did not fit. `groups` maps
 * values of a `grouped` column's group column to groups; values it lacks are in group 0. */
void ws_columns_encode(struct ws_columns_encoder *encoder, const struct ws_layout *layout, const void *rows,
                       uint32_t count, const struct ws_map *groups, struct ws_encoded *to);

/* The same for decoding; the memory need not be 0. */
struct ws_columns_decoder;
size_t ws_columns_decoder_size(uint32_t max_rows);
struct ws_columns_decoder *ws_columns_decoder_init(void *memory, uint32_t max_rows);

/* Fills `count` rows at `rows` (count * row_size bytes). Texts point into the payload. Columns the
 * layout has and the payload has not become 0; further ones are passed over. 0 or -EBADMSG. */
int ws_columns_decode(struct ws_columns_decoder *decoder, const struct ws_layout *layout, const uint8_t *payload,
                      size_t size, uint32_t count, void *rows);

/* Range of the family's host times over `count` rows; first > last when it has none. */
void ws_columns_host_range(const struct ws_layout *layout, const void *rows, uint32_t count, int64_t *first,
                           int64_t *last);

/* One number of a row, widened, and back. */
static inline uint64_t ws_column_load(const struct ws_column *column, const void *row)
{
    const char *field = (const char *)row + column->offset;
    if (column->width == sizeof(uint64_t)) {
        uint64_t value;
        memcpy(&value, field, sizeof(value));
        return value;
    }
    uint32_t narrow;
    memcpy(&narrow, field, sizeof(narrow));
    return column->is_signed ? (uint64_t)(int64_t)(int32_t)narrow : narrow;
}

static inline void ws_column_store(const struct ws_column *column, void *row, uint64_t value)
{
    /* Little-endian: the low half comes first. */
    memcpy((char *)row + column->offset, &value, column->width == sizeof(uint64_t) ? sizeof(uint64_t) : 4);
}

static inline struct ws_text *ws_column_text(const struct ws_column *column, const void *row)
{
    return (struct ws_text *)((uintptr_t)row + column->offset);
}

#endif
