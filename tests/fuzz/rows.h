/* Traces as a fuzzer can change them: rows as they are once frames are decoded, so that nothing that is changed fails
 * at a hash. An input is items, each a byte that says what it is and then its content:
 *
 *     0xff            the rows of another process follow
 *     0xfe N16 S32    the last row N times more, its identifier 1 and its times S further each time
 *     any other       a row of family (byte modulo their number): its columns in order, numbers in their width,
 *                     little-endian, texts as a byte of length and their bytes
 */
#ifndef WALLSHIM_TESTS_FUZZ_ROWS_H
#define WALLSHIM_TESTS_FUZZ_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "record/record.h"

enum { ROWS_ROW_SIZE = 256, ROWS_TEXT_MOST = 255, ROWS_PROCESS = 0xff, ROWS_REPEAT = 0xfe };

struct rows_item {
    uint8_t what;  /* ROWS_PROCESS, ROWS_REPEAT, or a family */
    uint16_t more; /* of ROWS_REPEAT */
    uint32_t step;
    _Alignas(16) char row[ROWS_ROW_SIZE]; /* its texts point into the input */
};

/* Takes the item at `at`; returns where the next one begins, NULL where there is no whole one. */
const uint8_t *rows_take(const uint8_t *at, const uint8_t *end, struct rows_item *item);

/* Writes a row; returns its size, 0 where there is no room for it. */
size_t rows_put(uint8_t *to, size_t capacity, enum ws_family family, const void *row);

/* Moves a row on as ROWS_REPEAT says. */
void rows_advance(enum ws_family family, void *row, uint32_t step);

/* Where the bytes of a column lie in a row that begins at `at`. */
const uint8_t *rows_column(const uint8_t *at, uint32_t column);

#endif
