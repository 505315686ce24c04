/* A sparse column: values that few rows have. The column takes two bits per row, plus the values in a list. Rows are
 * added in ascending order. */
#ifndef WALLSHIM_MODEL_SPARSE_H
#define WALLSHIM_MODEL_SPARSE_H

#include <stddef.h>
#include <stdint.h>

#include "base/vector.h"

/* For 64 rows: one bit for each row that has a value, and the number of values in all earlier rows. */
struct ws_sparse_word {
    uint64_t has;
    uint64_t before;
};

/* A structure filled with zeros is an empty column. */
struct ws_sparse {
    struct ws_vector words;  /* elements: struct ws_sparse_word */
    struct ws_vector values; /* elements: uint64_t; the values of all rows that have one */
};

/* Adds a value. Neither this row nor a later row may have a value yet. Returns 0 or -ENOMEM. */
int ws_sparse_add(struct ws_sparse *sparse, size_t row, uint64_t value);

void ws_sparse_finish(struct ws_sparse *sparse);

/* Returns the number of rows with a value. */
static inline size_t ws_sparse_count(const struct ws_sparse *sparse)
{
    return sparse->values.count;
}

/* Counts the bits that are set in a word. Most words have at most one set bit. Only words with more set bits use the
 * builtin, because the compiler turns the builtin into a library call unless all target CPUs have a popcount
 * instruction. */
static inline size_t ws_sparse_bits(uint64_t word)
{
    return word & (word - 1) ? (size_t)__builtin_popcountll(word) : word != 0;
}

/* Returns the row's value, or NULL. */
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

/* Returns the value of this row. If the row has no value, returns the value of the nearest earlier row that has one,
 * or NULL. */
static inline const uint64_t *ws_sparse_last(const struct ws_sparse *sparse, size_t row)
{
    size_t rows = sparse->values.count; /* number of rows with a value, up to this row */
    if (row / 64 < sparse->words.count) {
        const struct ws_sparse_word *word = (const struct ws_sparse_word *)sparse->words.data + row / 64;
        rows = word->before + ws_sparse_bits(word->has & ~0ULL >> (63 - row % 64));
    }
    return rows ? (const uint64_t *)sparse->values.data + rows - 1 : NULL;
}

/* Returns the first row, from this row on, that has a value, or SIZE_MAX if there is none. */
size_t ws_sparse_next(const struct ws_sparse *sparse, size_t row);

#endif
