/* Values that few rows have, by row: two bits a row of room to find them, whether or not it has one, and the values
 * themselves next to each other. Rows are added in ascending order.
 */
#ifndef WALLSHIM_MODEL_SPARSE_H
#define WALLSHIM_MODEL_SPARSE_H

#include <stddef.h>
#include <stdint.h>

#include "base/vector.h"

/* 64 rows: which have a value, and how many values rows before these have. */
struct ws_sparse_word {
    uint64_t has;
    uint64_t before;
};

/* All zero is an empty one. */
struct ws_sparse {
    struct ws_vector words;  /* struct ws_sparse_word */
    struct ws_vector values; /* uint64_t */
};

/* No row from this one on may have a value yet. Returns 0 or -ENOMEM. */
int ws_sparse_add(struct ws_sparse *sparse, size_t row, uint64_t value);

void ws_sparse_finish(struct ws_sparse *sparse);

/* How many rows have a value. */
static inline size_t ws_sparse_count(const struct ws_sparse *sparse)
{
    return sparse->values.count;
}

/* How many bits are set: mostly none or one, and to count more takes a call on processors of any kind. */
static inline size_t ws_sparse_bits(uint64_t word)
{
    return word & (word - 1) ? (size_t)__builtin_popcountll(word) : word != 0;
}

/* The value, or NULL when the row has none. */
static inline const uint64_t *ws_sparse_get(const struct ws_sparse *sparse, size_t row)
{
    if (row / 64 >= sparse->words.count)
        return NULL;
    const struct ws_sparse_word *word = (const struct ws_sparse_word *)sparse->words.data + row / 64;
    uint64_t bit = 1ULL << row % 64;
    if (!(word->has & bit))
        return NULL;
    return (const uint64_t *)sparse->values.data + word->before + ws_sparse_bits(word->has & (bit - 1));
}

/* The value of the last row up to this one that has any; NULL when none has. */
static inline const uint64_t *ws_sparse_last(const struct ws_sparse *sparse, size_t row)
{
    size_t rows = sparse->values.count; /* that have a value, up to this one */
    if (row / 64 < sparse->words.count) {
        const struct ws_sparse_word *word = (const struct ws_sparse_word *)sparse->words.data + row / 64;
        rows = word->before + ws_sparse_bits(word->has & ~0ULL >> (63 - row % 64));
    }
    return rows ? (const uint64_t *)sparse->values.data + rows - 1 : NULL;
}

/* The first row from this one on that has a value; SIZE_MAX when none has. */
size_t ws_sparse_next(const struct ws_sparse *sparse, size_t row);

#endif
