#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "rows.h"
#include "trace/reader.h"
#include "trace/writer.h"
#include "wire/columns.h"

static char path[] = "round-trip-XXXXXX.wst";

static int set_up(void **state)
{
    (void)state;
    memset(path + 11, 'X', 6);
    int fd = mkstemps(path, 4);
    if (fd < 0)
        return -1;
    close(fd);
    return unlink(path);
}

static int tear_down(void **state)
{
    (void)state;
    unlink(path);
    return 0;
}

/* Makes test row `index` of a family: first in order to write it, and again in order to compare it with the row that
 * was read. */
static void row_number(uint32_t family, uint64_t index, uint32_t max_text, void *row)
{
    uint64_t seed = (uint64_t)family << 48 | index;
    test_row_fill(family, row, &seed, max_text);
}

static void write_rows(const uint32_t counts[WS_FAMILY_COUNT], uint32_t max_text)
{
    struct ws_writer *writer;
    char row[TEST_ROW_BYTES];
    assert_int_equal(ws_writer_create(&writer, path), 0);
    for (uint32_t family = 0; family < WS_FAMILY_COUNT; family++)
        for (uint32_t i = 0; i < counts[family]; i++) {
            row_number(family, i, max_text, row);
            assert_int_equal(ws_writer_add(writer, family, row), 0);
        }
    assert_int_equal(ws_writer_close(writer), 0);
}

static void read_rows(const uint32_t counts[WS_FAMILY_COUNT], uint32_t max_text, bool columns)
{
    struct ws_reader *reader;
    struct ws_block block;
    char message[256] = "", row[TEST_ROW_BYTES];
    uint32_t read[WS_FAMILY_COUNT] = { 0 };
    assert_int_equal(ws_reader_open(&reader, path, message, sizeof(message)), 0);
    int status;
    if (columns)
        ws_reader_want_columns(reader);
    while ((status = ws_reader_next(reader, &block)) > 0) {
        assert_int_equal(block.ops != NULL, columns && block.family == WS_FAMILY_op);
        for (uint32_t i = 0; i < block.count; i++) {
            struct ws_op op;
            row_number(block.family, read[block.family]++, max_text, row);
            assert_true(test_rows_equal(block.family, test_block_row(&block, i, &op), row));
        }
    }
    assert_int_equal(status, 0);
    assert_memory_equal(read, counts, sizeof(read));
    assert_false(ws_damage_any(ws_reader_damage(reader)));
    uint64_t done, total;
    ws_reader_position(reader, &done, &total);
    assert_int_equal(done, total);
    ws_reader_close(reader);
}

static void every_family_comes_back(void **state)
{
    (void)state;
    uint32_t counts[WS_FAMILY_COUNT];
    for (uint32_t i = 0; i < WS_FAMILY_COUNT; i++)
        counts[i] = 9000 + i;
    write_rows(counts, 40);
    read_rows(counts, 40, false);
    read_rows(counts, 40, true);
}

/* The footer holds the number of rows and the span of their times, so that a reader need not read the rows. */
static void the_footer_sums_up(void **state)
{
    (void)state;
    enum { CALLS = 10000 };
    struct ws_writer *writer;
    struct ws_reader *reader;
    struct ws_summary summary;
    char message[256];
    assert_int_equal(ws_writer_create(&writer, path), 0);
    for (int i = 0; i < CALLS; i++) {
        const struct ws_call call = { .host_begin = 1000 + i, .host_end = 2000 + 2 * i };
        assert_int_equal(ws_writer_add(writer, WS_FAMILY_call, &call), 0);
    }
    assert_int_equal(ws_writer_close(writer), 0);
    assert_int_equal(ws_reader_open(&reader, path, message, sizeof(message)), 0);
    assert_int_equal(ws_reader_summary(reader, &summary), 1);
    assert_int_equal(summary.rows[WS_FAMILY_call], CALLS);
    assert_int_equal(summary.rows[WS_FAMILY_op], 0);
    assert_int_equal(summary.host_first, 1000);
    assert_int_equal(summary.host_last, 2000 + 2 * (CALLS - 1));
    ws_reader_close(reader);

    assert_int_equal(truncate(path, 100), 0);
    assert_int_equal(ws_reader_open(&reader, path, message, sizeof(message)), 0);
    assert_int_equal(ws_reader_summary(reader, &summary), 0);
    ws_reader_close(reader);
}

static void an_empty_trace_is_whole(void **state)
{
    (void)state;
    uint32_t counts[WS_FAMILY_COUNT] = { 0 };
    write_rows(counts, 0);
    read_rows(counts, 0, false);
}

static void long_names_come_back(void **state)
{
    (void)state;
    uint32_t counts[WS_FAMILY_COUNT] = { [WS_FAMILY_meta] = 100, [WS_FAMILY_function] = 200, [WS_FAMILY_op] = 5 };
    write_rows(counts, 100000);
    read_rows(counts, 100000, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_family_comes_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_footer_sums_up, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_empty_trace_is_whole, set_up, tear_down),
        cmocka_unit_test_setup_teardown(long_names_come_back, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
