/* A bounded copy of the rows of one dictionary (a kind of record that explains the ids in other records). The encoder
 * uses this copy to write the dictionary into the file again.
 *
 * Rows beyond the bounds are only counted. The memory comes from mmap, and doubles when it is full. */
#ifndef WALLSHIM_WIRE_DICTIONARY_H
#define WALLSHIM_WIRE_DICTIONARY_H

#include <stddef.h>
#include <stdint.h>

#include "wire/columns.h"

/* Families (kinds of record) with numbers below this one are dictionaries: their rows explain the ids in other
 * rows. */
enum { WS_FAMILY_FIRST_DATA = WS_FAMILY_clock };

struct ws_dictionary {
    const struct ws_layout *layout;
    uint32_t count;    /* number of rows in the copy: the first rows of the family */
    uint64_t not_kept; /* number of later rows, which were not copied */
    char *rows;        /* row structures whose text pointers hold offsets into `texts` */
    size_t rows_capacity;
    char *texts;
    size_t texts_size, texts_capacity;
};

void ws_dictionary_add(struct ws_dictionary *dictionary, const void *row);

/* Copies rows to `rows` and their texts to `texts`, beginning with row number `first`, as long as they fit. Returns
 * the number of rows copied. max_text must be large enough for the texts of any row, so that at least one row is
 * copied. */
uint32_t ws_dictionary_copy(const struct ws_dictionary *dictionary, uint32_t first, uint32_t max_rows,
                            size_t max_text, char *rows, char *texts);

void ws_dictionary_finish(struct ws_dictionary *dictionary);

/* Returns the size of all texts of the row, in bytes. */
size_t ws_texts_size(const struct ws_layout *layout, const void *row);

/* Copies the row's texts to `to` and makes the row point to the copies. Returns the size of the texts in bytes. */
size_t ws_texts_move(const struct ws_layout *layout, void *row, char *to);

/* Makes the row point to its texts, which are at `from`. ws_texts_move has put them there, maybe in another process.
 * Returns false if the texts take more than `size` bytes. */
bool ws_texts_attach(const struct ws_layout *layout, void *row, const char *from, size_t size);

#endif
