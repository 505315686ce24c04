/* Tests of tables, texts and buffers that grow without moving. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/chunks.h"
#include "base/reserve.h"

static void rows_stay_where_they_are(void **state)
{
    enum { ROWS = 5000 };
    struct ws_chunks table = { .row_size = 3 * sizeof(uint32_t) };
    static uint32_t *rows[ROWS];
    (void)state;
    for (uint32_t i = 0; i < ROWS; i++) {
        rows[i] = ws_chunks_make(&table, i);
        assert_non_null(rows[i]);
        assert_int_equal(rows[i][0] + rows[i][1] + rows[i][2], 0);
        rows[i][0] = rows[i][2] = i + 1;
    }
    for (uint32_t i = 0; i < ROWS; i++) {
        assert_ptr_equal(ws_chunks_row(&table, i), rows[i]);
        assert_int_equal(rows[i][0], i + 1);
        assert_int_equal(rows[i][2], i + 1);
    }
    assert_null(table.chunk[7]); /* chunk 7, which begins with row 8128, is not allocated */
    assert_null(ws_chunks_make(&table, UINT32_MAX));
    ws_chunks_finish(&table);
    assert_null(table.chunk[0]);
}

static void pieces_do_not_touch(void **state)
{
    struct ws_pieces pieces = { 0 };
    char *before = NULL;
    size_t size_before = 0;
    (void)state;
    for (size_t size = 1; size < 2000; size++) {
        char *piece = ws_pieces_take(&pieces, size);
        assert_non_null(piece);
        assert_int_equal((uintptr_t)piece % 8, 0);
        memset(piece, (int)(size % 127), size);
        for (size_t i = 0; i < size_before; i++)
            assert_int_equal(before[i], (size - 1) % 127);
        before = piece;
        size_before = size;
    }
    assert_in_range(pieces.size, 2000 * 1000, 2200 * 1000);
    assert_null(ws_pieces_take(&pieces, WS_PIECES_BLOCK));
    ws_pieces_finish(&pieces);
    assert_null(pieces.block);
}

static void buffers_grow_up_to_their_limit(void **state)
{
    struct ws_growing growing = { .limit = 1 << 20 };
    (void)state;
    assert_true(ws_growing_to(&growing, 0));
    assert_true(ws_growing_to(&growing, 10));
    char *data = growing.data;
    data[9] = 'a';
    assert_true(growing.ready < growing.limit);
    assert_true(ws_growing_to(&growing, 1 << 20));
    assert_ptr_equal(growing.data, data);
    assert_int_equal(data[9], 'a');
    data[(1 << 20) - 1] = 'z';
    assert_false(ws_growing_to(&growing, (1 << 20) + 1));
    ws_growing_finish(&growing);
    assert_null(growing.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_stay_where_they_are),
        cmocka_unit_test(pieces_do_not_touch),
        cmocka_unit_test(buffers_grow_up_to_their_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
