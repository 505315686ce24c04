/* A bounded copy of one dictionary family's rows, kept so that they can be written again.
 *
 * Rows beyond the bounds are counted and not kept. The memory is its own mapping and grows by doubling. */
#ifndef WALLSHIM_WIRE_DICTIONARY_H
#define WALLSHIM_WIRE_DICTIONARY_H

#include <stddef.h>
#include <stdint.h>

#include "wire/columns.h"

/* Families before this one are dictionaries: their rows give names to the ids in other rows. */
enum { WS_FAMILY_FIRST_DATA = WS_FAMILY_clock };

struct ws_dictionary {
    const struct ws_layout *layout;
    uint32_t count;    /* the first `count` rows of the family are kept */
    uint64_t not_kept; /* rows after them */
    char *rows;        /* the texts' pointers are offsets into texts */
    size_t rows_capacity;
    char *texts;
    size_t texts_size, texts_capacity;
};

void ws_dictionary_add(struct ws_dictionary *dictionary, const void *row);

/* Copies rows from number `first` on to `rows` and their texts to `texts`: as many as fit, at least
 * one. Returns how many. */
uint32_t ws_dictionary_copy(const struct ws_dictionary *dictionary, uint32_t first, uint32_t max_rows,
                            size_t max_text, char *rows, char *texts);

void ws_dictionary_finish(struct ws_dictionary *dictionary);

/* Bytes of all texts of one row. */
size_t ws_texts_size(const struct ws_layout *layout, const void *row);

/* Copies the row's texts to `to` and makes the row point there. Returns their bytes. */
size_t ws_texts_move(const struct ws_layout *layout, void *row, char *to);

#endif
