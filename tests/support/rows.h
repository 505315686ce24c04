/* Rows for tests of writing and reading traces: random rows of any family, and comparing rows. */
#ifndef WALLSHIM_TESTS_ROWS_H
#define WALLSHIM_TESTS_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/record.h"
#include "trace/reader.h"

enum { TEST_ROW_BYTES = 256 }; /* large enough for a row of any family */

/* Fills one row of this family with random values. About every fourth value is an extreme one, such as 0 or
 * INT64_MAX. Texts have up to max_text bytes, in memory that is never freed. */
void test_row_fill(uint32_t family, void *row, uint64_t *state, uint32_t max_text);

/* Returns row i of a block as a structure of its family. If the block stores operations as columns, the row is put
 * together in *op. */
const void *test_block_row(const struct ws_block *block, uint32_t i, struct ws_op *op);

bool test_rows_equal(uint32_t family, const void *left, const void *right);

#endif
