/* Converts rows to columns of bytes and back. The tables in record/families.h list the columns.
 *
 * Both directions use memory given by the caller and allocate nothing. The decoder checks all input and refuses a
 * payload that is inconsistent. */
#ifndef WALLSHIM_WIRE_COLUMNS_H
#define WALLSHIM_WIRE_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "record/record.h"
#include "wire/pack.h"

/* How the values of a column are stored. The numbers of the codings are part of the format. A value is the sum,
 * modulo 2^64, of a prediction and the stored residual. A column may have a key column, a base column and a group
 * column (`key`, `base` and `group` below). The remembered value is the column's value in the last row with the same
 * key, or in the row before if the key is new. */
enum ws_coding {
    WS_CODING_PLAIN,  /* predicts 0 */
    WS_CODING_DELTA,  /* predicts the value of the row before */
    WS_CODING_LAST,   /* predicts the remembered value */
    WS_CODING_LENGTH, /* codes a difference: the value minus the base column's value in the same row. Predicts the
                         difference in the last row with the same key */
    /* Codes a difference: the value minus the base column's last value in the same group. Predicts the difference as
     * LENGTH does. */
    WS_CODING_GAP,
    WS_CODING_SLOTS, /* stores the frame's distinct values, and for each row the index of its value */
    WS_CODING_TEXT,
    WS_CODING_COUNT
};

struct ws_column {
    const char *name;
    uint16_t offset; /* offset of the value in the row structure, in bytes */
    uint8_t width;   /* bytes of the value: 4 or 8; TEXT: sizeof(struct ws_text) */
    bool is_signed;
    uint8_t coding;
    uint8_t base;  /* LENGTH, GAP: index of the column whose value is subtracted. LENGTH subtracts the value in the
                      same row, GAP the last value in the group */
    uint8_t key;   /* LAST, LENGTH, GAP: index of the SLOTS column that holds the key */
    uint8_t group; /* GAP: index of the SLOTS column that holds the group */
    /* GAP: true: the caller gives a map from the values in column `group` to groups; false: each value is a group of
     * its own. */
    bool grouped;
};

/* The memory layout and the codings of one family's rows. */
struct ws_layout {
    const char *name;
    const struct ws_column *columns;
    uint16_t column_count;
    uint16_t text_count; /* number of TEXT columns */
    uint16_t row_size;
};

enum {
    WS_COLUMNS_MAX = 24,
    WS_KEY_COLUMNS_MAX = 3, /* maximum number of SLOTS columns in a family */
};

/* Returns the layout of the rows of a family (kind of record), or NULL if there is no family of this number. */
const struct ws_layout *ws_layout(uint32_t family);

/* Encoding makes two parts: a head that describes the columns, and byte planes that hold their values (pack.h).
 * Returns the maximum number of bytes that each of the two parts takes, for `rows` rows with `text` bytes of strings.
 */
size_t ws_columns_bound(const struct ws_layout *layout, uint32_t rows, size_t text);

/* Working memory for encoding frames of at most max_rows rows. `memory` must have ws_columns_encoder_size() bytes,
 * all of them 0. */
struct ws_columns_encoder;
size_t ws_columns_encoder_size(uint32_t max_rows);
struct ws_columns_encoder *ws_columns_encoder_init(void *memory, uint32_t max_rows);

/* Appends the columns of `count` rows to `to`. Marks head or planes of `to` as failed if they are too small. For a
 * `grouped` column, `groups` maps each value of its group column to a group. Values that the map lacks belong to
 * group 0. */
void ws_columns_encode(struct ws_columns_encoder *encoder, const struct ws_layout *layout, const void *rows,
                       uint32_t count, const struct ws_map *groups, struct ws_encoded *to);

/* Working memory for decoding. The memory need not be zeroed. */
struct ws_columns_decoder;
size_t ws_columns_decoder_size(uint32_t max_rows);
struct ws_columns_decoder *ws_columns_decoder_init(void *memory, uint32_t max_rows);

/* The memory of a column: the value of row i is `stride` * i bytes after `at`. */
struct ws_column_place {
    void *at;
    size_t stride;
};

/* Decodes `count` rows, column by column. `places` has one entry per column of the layout. The memory of each entry
 * must be aligned for the column's values. Texts point into the payload. Columns absent from the payload become 0;
 * unknown columns are skipped. Returns 0 or -EBADMSG. */
int ws_columns_decode_into(struct ws_columns_decoder *decoder, const struct ws_layout *layout, const uint8_t *payload,
                           size_t size, uint32_t count, const struct ws_column_place *places);

/* Decodes `count` rows like ws_columns_decode_into, to an array of the family's structures at `rows`. */
int ws_columns_decode(struct ws_columns_decoder *decoder, const struct ws_layout *layout, const uint8_t *payload,
                      size_t size, uint32_t count, void *rows);

/* Finds the range of the family's host times over `count` rows. The range is empty (first > last) if the family has
 * no host times. */
void ws_columns_host_range(const struct ws_layout *layout, const void *rows, uint32_t count, int64_t *first,
                           int64_t *last);

/* Loads a value of this column as 64 bits. */
static inline uint64_t ws_column_load_field(const struct ws_column *column, const void *field)
{
    if (column->width == sizeof(uint64_t)) {
        uint64_t value;
        memcpy(&value, field, sizeof(value));
        return value;
    }
    uint32_t narrow;
    memcpy(&narrow, field, sizeof(narrow));
    return column->is_signed ? (uint64_t)(int64_t)(int32_t)narrow : narrow;
}

/* Load and store a value of a row structure of the family. */
static inline uint64_t ws_column_load(const struct ws_column *column, const void *row)
{
    return ws_column_load_field(column, (const char *)row + column->offset);
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
