/* A form of traces for fuzzers: decoded rows, without the hashes of frames. With hashes, every changed trace would be
 * rejected. An input is a sequence of items. Each item is a byte that gives its kind, followed by its content:
 *
 *     0xff            the rows of another process follow
 *     0xfe N16 S32    N more copies of the last row. Each has an identifier higher by 1 than the copy before it, and
 *                     times and a correlation number higher by S.
 *     any other       a row of the family with the number (byte modulo the number of families): its columns in order,
 *                     numbers in their width, little-endian, texts as a byte of length and their bytes
 */
#ifndef WALLSHIM_TESTS_FUZZ_ROWS_H
#define WALLSHIM_TESTS_FUZZ_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "record/record.h"

enum { ROWS_ROW_SIZE = 256, ROWS_TEXT_MOST = 255, ROWS_PROCESS = 0xff, ROWS_REPEAT = 0xfe };

struct rows_item {
    uint8_t what;  /* ROWS_PROCESS, ROWS_REPEAT, or a family */
    uint16_t more; /* of ROWS_REPEAT: number of copies */
    uint32_t step;
    _Alignas(16) char row[ROWS_ROW_SIZE]; /* the row's texts point into the input */
};

/* Takes the item at `at`. Returns the address of the next item, or NULL if the input ends before the item does. */
const uint8_t *rows_take(const uint8_t *at, const uint8_t *end, struct rows_item *item);

/* Writes a row as an item. Returns the item's size, or 0 if `capacity` is too small for the item. */
size_t rows_put(uint8_t *to, size_t capacity, enum ws_family family, const void *row);

/* Changes a row into the next copy of a ROWS_REPEAT item: adds 1 to its identifier, and `step` to its times and its
 * correlation number. */
void rows_advance(enum ws_family family, void *row, uint32_t step);

/* The address of a column's bytes in the row at `at`. */
const uint8_t *rows_column(const uint8_t *at, uint32_t column);

#endif
