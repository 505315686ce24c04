/* Tests of reading traces from newer or older writers. */
#include <errno.h>
#include <fcntl.h>
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
#include "wire/columns.h"
#include "wire/frame_writer.h"
#include "wire/sink.h"

enum {
    ROWS = 100,
    BUFFER_BYTES = 1 << 16,
};

static char path[] = "versions-XXXXXX.wst";
static uint8_t head[BUFFER_BYTES], planes[BUFFER_BYTES], frame[3 * BUFFER_BYTES];
static struct ws_frame_writer writer;
static struct ws_file_sink sink;

static int set_up(void **state)
{
    (void)state;
    memset(path + 9, 'X', 6);
    int fd = mkstemps(path, 4);
    if (fd < 0 || close(fd) || unlink(path) || ws_file_sink_open(&sink, path))
        return -1;
    writer = (struct ws_frame_writer){
        .options = { .write = ws_file_sink_write, .sink = &sink },
        .encoded = { .head = { .data = head, .capacity = sizeof(head) },
                     .planes = { .data = planes, .capacity = sizeof(planes) } },
        .frame = { .data = frame, .capacity = sizeof(frame) },
    };
    return ws_frame_writer_start(&writer);
}

static int tear_down(void **state)
{
    (void)state;
    return unlink(path);
}

/* Writes a frame of `count` rows, with the columns that another version of the format has. */
static void put_rows(uint16_t family, const struct ws_layout *layout, const void *rows, uint32_t count)
{
    void *memory = calloc(1, ws_columns_encoder_size(ROWS));
    struct ws_columns_encoder *encoder = ws_columns_encoder_init(memory, ROWS);
    struct ws_frame_header header = { .family = family,
                                      .rows = count,
                                      .first_row = family < WS_FAMILY_COUNT ? writer.index.rows[family] : 0 };
    ws_frame_writer_begin(&writer);
    ws_columns_encode(encoder, layout, rows, count, NULL, &writer.encoded);
    assert_int_equal(ws_frame_writer_put(&writer, &header), 0);
    if (family < WS_FAMILY_COUNT)
        writer.index.rows[family] += count;
    free(memory);
}

static void finish_file(void)
{
    assert_int_equal(ws_frame_writer_finish(&writer), 0);
    assert_int_equal(ws_file_sink_close(&sink), 0);
}

static int open_status(char message[256])
{
    struct ws_reader *reader;
    int status = ws_reader_open(&reader, path, message, 256);
    if (!status)
        ws_reader_close(reader);
    return status;
}

static struct ws_call calls[ROWS];

static void fill_calls(void)
{
    uint64_t seed = 1;
    for (int i = 0; i < ROWS; i++)
        test_row_fill(WS_FAMILY_call, &calls[i], &seed, 0);
}

/* Asserts that the file has one block of calls, with the rows that were written, and that nothing is missing. */
static void check_calls(bool (*same)(const struct ws_call *got, const struct ws_call *written))
{
    struct ws_reader *reader;
    struct ws_block block;
    char message[256];
    assert_int_equal(ws_reader_open(&reader, path, message, sizeof(message)), 0);
    assert_int_equal(ws_reader_next(reader, &block), 1);
    assert_int_equal(block.family, WS_FAMILY_call);
    assert_int_equal(block.count, ROWS);
    for (int i = 0; i < ROWS; i++)
        assert_true(same((const struct ws_call *)block.rows + i, &calls[i]));
    assert_int_equal(ws_reader_next(reader, &block), 0);
    assert_false(ws_damage_any(ws_reader_damage(reader)));
    ws_reader_close(reader);
}

static bool same_call(const struct ws_call *got, const struct ws_call *written)
{
    return test_rows_equal(WS_FAMILY_call, got, written);
}

static void unknown_families_are_passed_over(void **state)
{
    (void)state;
    fill_calls();
    put_rows(WS_FAMILY_COUNT, ws_layout(WS_FAMILY_call), calls, ROWS);
    put_rows(WS_FAMILY_call, ws_layout(WS_FAMILY_call), calls, ROWS);
    put_rows(65000, ws_layout(WS_FAMILY_call), calls, ROWS);
    finish_file();
    check_calls(same_call);
}

struct newer_call {
    struct ws_call call;
    uint64_t number;
    struct ws_text text;
    uint32_t key;
};

static void columns_of_a_newer_minor_are_passed_over(void **state)
{
    (void)state;
    const struct ws_layout *known = ws_layout(WS_FAMILY_call);
    struct ws_column columns[WS_COLUMNS_MAX];
    memcpy(columns, known->columns, known->column_count * sizeof(*columns));
    struct ws_column *more = columns + known->column_count;
    *more++ =
        (struct ws_column){ .name = "text", .offset = offsetof(struct newer_call, text), .coding = WS_CODING_TEXT };
    *more++ = (struct ws_column){
        .name = "key", .offset = offsetof(struct newer_call, key), .width = 4, .coding = WS_CODING_SLOTS
    };
    *more++ = (struct ws_column){ .name = "number",
                                  .offset = offsetof(struct newer_call, number),
                                  .width = 8,
                                  .coding = WS_CODING_LAST,
                                  .key = (uint8_t)(known->column_count + 1) };
    const struct ws_layout newer = { "call", columns, (uint16_t)(more - columns), 1, sizeof(struct newer_call) };
    static struct newer_call rows[ROWS];
    fill_calls();
    for (uint32_t i = 0; i < ROWS; i++)
        rows[i] = (struct newer_call){ calls[i], i * 77, { "words", 5 }, i % 7 };
    put_rows(WS_FAMILY_call, &newer, rows, ROWS);
    finish_file();
    check_calls(same_call);
}

static bool same_without_end(const struct ws_call *got, const struct ws_call *written)
{
    struct ws_call expected = *written;
    expected.bytes = 0;
    expected.result = 0;
    return same_call(got, &expected);
}

static void columns_an_older_writer_lacked_are_0(void **state)
{
    (void)state;
    struct ws_layout older = *ws_layout(WS_FAMILY_call);
    older.column_count -= 2; /* an older layout lacks the last two columns, `bytes` and `result` */
    fill_calls();
    put_rows(WS_FAMILY_call, &older, calls, ROWS);
    finish_file();
    check_calls(same_without_end);
}

static void patch_header(uint16_t major, uint16_t minor)
{
    uint8_t bytes[WS_FILE_HEADER_SIZE];
    const struct ws_file_header header = {
        .major = major, .minor = minor, .file_id = writer.file_id, .creator = "wallshim 99.1"
    };
    ws_file_header_write(bytes, &header);
    int fd = open(path, O_WRONLY);
    assert_int_equal(pwrite(fd, bytes, sizeof(bytes), 0), sizeof(bytes));
    close(fd);
}

static void data_rows_do_not_come_twice(void **state)
{
    (void)state;
    struct ws_reader *reader;
    struct ws_block block;
    char message[256];
    fill_calls();
    put_rows(WS_FAMILY_call, ws_layout(WS_FAMILY_call), calls, ROWS);
    writer.index.rows[WS_FAMILY_call] -= 1;
    put_rows(WS_FAMILY_call, ws_layout(WS_FAMILY_call), calls, ROWS);
    writer.index.rows[WS_FAMILY_call] = ROWS;
    finish_file();
    assert_int_equal(ws_reader_open(&reader, path, message, sizeof(message)), 0);
    assert_int_equal(ws_reader_next(reader, &block), 1);
    assert_int_equal(block.count, ROWS);
    assert_int_equal(ws_reader_next(reader, &block), 0);
    assert_int_equal(ws_reader_damage(reader)->lost_frames, 1);
    ws_reader_close(reader);
}

/* A reader sees the file as it was when it was opened, while the writer goes on writing. */
static void a_growing_file_ends_where_it_did(void **state)
{
    (void)state;
    struct ws_reader *reader;
    struct ws_block block;
    char message[256];
    fill_calls();
    put_rows(WS_FAMILY_call, ws_layout(WS_FAMILY_call), calls, ROWS);
    assert_int_equal(ws_reader_open(&reader, path, message, sizeof(message)), 0);
    put_rows(WS_FAMILY_call, ws_layout(WS_FAMILY_call), calls, ROWS);
    finish_file();
    assert_int_equal(ws_reader_next(reader, &block), 1);
    assert_int_equal(ws_reader_next(reader, &block), 0);
    const struct ws_damage *damage = ws_reader_damage(reader);
    assert_true(damage->no_footer);
    assert_true(!damage->lost_frames && !damage->lost_bytes && !damage->torn_bytes);
    ws_reader_close(reader);
}

static void a_newer_major_is_refused_by_name(void **state)
{
    (void)state;
    char message[256];
    finish_file();
    patch_header(WS_FORMAT_MAJOR + 1, 0);
    assert_int_equal(open_status(message), -EPROTO);
    assert_non_null(strstr(message, path));
    assert_non_null(strstr(message, "wallshim 99.1"));
    assert_null(strchr(message, '\n'));
}

static void a_newer_minor_is_read(void **state)
{
    (void)state;
    fill_calls();
    put_rows(WS_FAMILY_call, ws_layout(WS_FAMILY_call), calls, ROWS);
    finish_file();
    patch_header(WS_FORMAT_MAJOR, WS_FORMAT_MINOR + 1);
    check_calls(same_call);
}

static void what_is_no_trace_is_refused(void **state)
{
    (void)state;
    char message[256];
    struct ws_reader *reader;
    finish_file();
    int fd = open(path, O_WRONLY | O_TRUNC);
    assert_int_equal(open_status(message), -EINVAL);
    assert_int_equal(write(fd, "{\"traceEvents\": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]}", 72), 72);
    close(fd);
    assert_int_equal(open_status(message), -EINVAL);
    assert_non_null(strstr(message, "not a wallshim trace"));
    assert_int_equal(ws_reader_open(&reader, "/nowhere/at/all", message, sizeof(message)), -ENOENT);
    assert_non_null(strstr(message, "/nowhere/at/all"));
    assert_int_equal(ws_reader_open(&reader, "/", message, sizeof(message)), -EISDIR);
    assert_int_equal(ws_reader_open(&reader, "/dev/null", message, sizeof(message)), -EINVAL);
    assert_int_equal(ws_reader_open(&reader, "/", NULL, 0), -EISDIR);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(unknown_families_are_passed_over, set_up, tear_down),
        cmocka_unit_test_setup_teardown(columns_of_a_newer_minor_are_passed_over, set_up, tear_down),
        cmocka_unit_test_setup_teardown(columns_an_older_writer_lacked_are_0, set_up, tear_down),
        cmocka_unit_test_setup_teardown(data_rows_do_not_come_twice, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_growing_file_ends_where_it_did, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_newer_major_is_refused_by_name, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_newer_minor_is_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_no_trace_is_refused, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
