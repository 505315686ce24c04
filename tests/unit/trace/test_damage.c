#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "random.h"
#include "small_trace.h"
#include "trace/writer.h"
#include "wire/dictionary.h"
#include "wire/frame.h"

enum { ROWS_PER_FRAME = 8 };

static char path[] = "damage-XXXXXX.wst";
static int file;
static struct small_result result;

static int set_up(void **state)
{
    (void)state;
    memset(path + 7, 'X', 6);
    file = mkstemps(path, 4);
    return file < 0 ? -1 : 0;
}

static int tear_down(void **state)
{
    (void)state;
    close(file);
    return unlink(path);
}

static void put_file(const void *bytes, size_t size)
{
    assert_int_equal(ftruncate(file, 0), 0);
    assert_int_equal(pwrite(file, bytes, size, 0), size);
}

static void put_at(size_t offset, const void *bytes, size_t size)
{
    assert_int_equal(pwrite(file, bytes, size, (off_t)offset), size);
}

/* Counts the rows of each family in the first `count` pieces of the file, without the piece `left_out`. A piece is
 * the file's header, a frame, or the trailer. */
static void rows_in_pieces(const struct small_trace *trace, size_t count, size_t left_out,
                           uint32_t rows[WS_FAMILY_COUNT])
{
    bool present[WS_FAMILY_COUNT][SMALL_ROWS_MAX] = { { false } };
    memset(rows, 0, WS_FAMILY_COUNT * sizeof(*rows));
    for (size_t i = 0; i < count; i++) {
        const struct small_piece *piece = &trace->pieces[i];
        if (piece->family < 0 || i == left_out)
            continue;
        for (uint32_t k = 0; k < piece->rows; k++) {
            bool *row = &present[piece->family][piece->first_row + k];
            rows[piece->family] += !*row;
            *row = true;
        }
    }
}

static void everything_comes_back(void **state)
{
    (void)state;
    for (int compress = 0; compress < 2; compress++) {
        struct small_trace trace = { 0 };
        small_trace_create(&trace, ROWS_PER_FRAME, 1, compress, true);
        put_file(trace.bytes, trace.size);
        small_trace_read(path, &result);
        assert_int_equal(result.open_status, 0);
        assert_false(small_damage_reported(&result));
        assert_memory_equal(result.count, trace.rows, sizeof(trace.rows));
        assert_int_equal(result.early, 0);
        small_trace_destroy(&trace);
    }
}

/* Under ThreadSanitizer these tests take twelve times as long and have no threads to check, so they try fewer bytes.
 * The distance between tried bytes is odd, so that every bit of a byte is tried. */
#ifdef __SANITIZE_THREAD__
enum { BYTES_APART = 7 };
#else
enum { BYTES_APART = 1 };
#endif

static void cut_anywhere_gives_every_whole_frame(void **state)
{
    (void)state;
    struct small_trace trace = { 0 };
    small_trace_create(&trace, ROWS_PER_FRAME, 1, true, true);
    put_file(trace.bytes, trace.size);
    size_t whole = trace.piece_count;
    for (size_t cut = 1; cut <= trace.size; cut += BYTES_APART) {
        size_t size = trace.size - cut;
        uint32_t rows[WS_FAMILY_COUNT];
        assert_int_equal(ftruncate(file, (off_t)size), 0);
        while (whole && trace.pieces[whole - 1].offset + trace.pieces[whole - 1].size > size)
            whole--;
        small_trace_read(path, &result);
        if (size < WS_FILE_HEADER_SIZE) {
            assert_int_equal(result.open_status, -EINVAL);
            continue;
        }
        rows_in_pieces(&trace, whole, SIZE_MAX, rows);
        assert_int_equal(result.open_status, 0);
        assert_memory_equal(result.count, rows, sizeof(rows));
        assert_int_equal(result.early, 0);
        assert_int_equal(result.damage.lost_frames, 0);
        assert_int_equal(result.damage.lost_bytes, 0);
        size_t end = trace.pieces[whole - 1].offset + trace.pieces[whole - 1].size;
        assert_int_equal(result.damage.torn_bytes, size - end);
        assert_int_equal(result.damage.no_footer, whole < trace.piece_count - 1);
    }
    small_trace_destroy(&trace);
}

/* Checks a trace in which the piece `hurt` cannot be read. Only rows of that piece may be missing, and no dictionary
 * row. */
static void check_hurt(const struct small_trace *trace, size_t hurt)
{
    uint32_t rows[WS_FAMILY_COUNT];
    small_trace_read(path, &result);
    assert_int_equal(result.open_status, 0);
    assert_true(small_damage_reported(&result));
    rows_in_pieces(trace, trace->piece_count, hurt, rows);
    assert_memory_equal(result.count, rows, sizeof(rows));
    for (uint32_t i = 0; i < WS_FAMILY_FIRST_DATA; i++)
        assert_int_equal(result.count[i], trace->rows[i]);
    assert_int_equal(result.early, 0);
    for (uint32_t i = 0; i < WS_FAMILY_COUNT; i++)
        assert_int_equal(result.damage.lost_rows[i], trace->rows[i] - rows[i]);
}

static void a_wrong_byte_costs_its_frame_only(void **state)
{
    (void)state;
    for (int compress = 0; compress < 2; compress++) {
        struct small_trace trace = { 0 };
        small_trace_create(&trace, ROWS_PER_FRAME, 1, compress, true);
        put_file(trace.bytes, trace.size);
        for (size_t i = 0; i < trace.piece_count; i++) {
            const struct small_piece *piece = &trace.pieces[i];
            for (size_t at = piece->offset; at < piece->offset + piece->size; at += BYTES_APART) {
                char wrong = (char)(trace.bytes[at] ^ (1 << at % 8));
                put_at(at, &wrong, 1);
                check_hurt(&trace, i);
                put_at(at, &trace.bytes[at], 1);
            }
        }
        small_trace_destroy(&trace);
    }
}

/* Removes each frame but the footer in turn. The reader must count what is missing. */
static void a_missing_frame_is_counted(void **state)
{
    (void)state;
    struct small_trace trace = { 0 };
    small_trace_create(&trace, ROWS_PER_FRAME, 1, true, true);
    for (size_t i = 1; i + 2 < trace.piece_count; i++) {
        const struct small_piece *piece = &trace.pieces[i];
        size_t end = piece->offset + piece->size;
        put_file(trace.bytes, piece->offset);
        put_at(piece->offset, trace.bytes + end, trace.size - end);
        check_hurt(&trace, i);
        assert_int_equal(result.damage.lost_frames, 1);
        assert_int_equal(result.damage.lost_bytes, 0);
    }
    small_trace_destroy(&trace);
}

/* Two neighbouring pieces are exchanged. The reader must leave out the piece that comes too late in the file, and
 * give no row twice. */
static void a_frame_out_of_order_is_left_out(void **state)
{
    (void)state;
    struct small_trace trace = { 0 };
    small_trace_create(&trace, ROWS_PER_FRAME, 1, true, true);
    for (size_t i = 1; i + 3 < trace.piece_count; i++) {
        const struct small_piece *first = &trace.pieces[i], *second = first + 1;
        put_file(trace.bytes, trace.size);
        put_at(first->offset, trace.bytes + second->offset, second->size);
        put_at(first->offset + second->size, trace.bytes + first->offset, first->size);
        check_hurt(&trace, i);
    }
    small_trace_destroy(&trace);
}

static void two_traces_in_one_file_stay_apart(void **state)
{
    (void)state;
    struct small_trace trace = { 0 }, other = { 0 };
    small_trace_create(&trace, ROWS_PER_FRAME, 1, true, false);
    small_trace_create(&other, ROWS_PER_FRAME, 1, true, true);
    put_file(trace.bytes, trace.size);
    put_at(trace.size, other.bytes, other.size);
    small_trace_read(path, &result);
    assert_int_equal(result.open_status, 0);
    assert_memory_equal(result.count, trace.rows, sizeof(trace.rows));
    assert_int_equal(result.damage.lost_bytes, other.size);
    assert_true(result.damage.no_footer);
    small_trace_destroy(&trace);
    small_trace_destroy(&other);
}

static void rubbish_is_refused_or_skipped(void **state)
{
    (void)state;
    static const char magic[4] = WS_FRAME_MAGIC;
    static char rubbish[200000];
    uint64_t seed = 7;
    struct small_trace trace = { 0 };
    small_trace_create(&trace, ROWS_PER_FRAME, 1, true, true);
    for (size_t i = 0; i < sizeof(rubbish); i++)
        rubbish[i] = (char)next_random(&seed);
    put_file(rubbish, sizeof(rubbish));
    small_trace_read(path, &result);
    assert_int_equal(result.open_status, -EINVAL);

    /* Random bytes in the middle of the file, more than the reader searches at once. The magic number of frames
     * occurs in them every 1000 bytes. */
    for (size_t i = 0; i + 4 < sizeof(rubbish); i += 1000)
        memcpy(rubbish + i, magic, sizeof(magic));
    size_t middle = trace.pieces[trace.piece_count / 2].offset;
    put_file(trace.bytes, middle);
    put_at(middle, rubbish, sizeof(rubbish));
    put_at(middle + sizeof(rubbish), trace.bytes + middle, trace.size - middle);
    small_trace_read(path, &result);
    assert_int_equal(result.open_status, 0);
    assert_memory_equal(result.count, trace.rows, sizeof(trace.rows));
    assert_int_equal(result.damage.lost_bytes, sizeof(rubbish));
    small_trace_destroy(&trace);
}

/* The frames of a small file may state millions of equal rows. The reader must limit their number by the file's
 * size. */
static void rows_are_bounded_by_the_size_of_the_file(void **state)
{
    (void)state;
    enum { ROWS = 10 << 20 };
    const struct ws_call row = { .function = 1, .thread = 1, .host_begin = 5, .host_end = 6 };
    struct ws_writer *writer;
    struct ws_reader *reader;
    struct ws_block block;
    struct stat about;
    uint64_t count = 0;
    assert_int_equal(unlink(path), 0);
    assert_int_equal(ws_writer_create(&writer, path), 0);
    for (uint32_t i = 0; i < ROWS; i++)
        assert_int_equal(ws_writer_add(writer, WS_FAMILY_call, &row), 0);
    assert_int_equal(ws_writer_close(writer), 0);
    assert_int_equal(stat(path, &about), 0);
    assert_true(about.st_size < ROWS / 10);
    assert_int_equal(ws_reader_open(&reader, path, NULL, 0), 0);
    while (ws_reader_next(reader, &block) > 0)
        count += block.count;
    assert_true(count > ROWS / 4 && count < ROWS * 9 / 10);
    assert_int_equal(ws_reader_damage(reader)->lost_rows[WS_FAMILY_call], ROWS - count);
    assert_true(ws_reader_damage(reader)->lost_frames);
    ws_reader_close(reader);
}

/* A sparse file of terabytes: the reader must find the frame behind the hole, and quickly. */
static void holes_cost_nothing(void **state)
{
    (void)state;
    const off_t middle = (off_t)1 << 42;
    struct small_trace trace = { 0 };
    small_trace_create(&trace, ROWS_PER_FRAME, 1, true, false);
    put_file(trace.bytes, trace.size);
    put_at((size_t)middle, trace.bytes + trace.pieces[1].offset, trace.pieces[1].size);
    small_trace_read(path, &result);
    assert_int_equal(result.open_status, 0);
    assert_memory_equal(result.count, trace.rows, sizeof(trace.rows));
    assert_int_equal(result.damage.lost_bytes, (size_t)middle - trace.size + trace.pieces[1].size);
    small_trace_destroy(&trace);
}

/* A damaged trace without a footer still gives its dictionaries, because the writer repeats them at intervals. The
 * repetition costs less than 5 % of the file. */
static void dictionaries_are_repeated_on_the_way(void **state)
{
    (void)state;
    struct small_trace trace = { 0 };
    small_trace_create(&trace, ROWS_PER_FRAME, 100, true, false);
    size_t repeated = 0;
    for (size_t i = 0; i < trace.piece_count; i++)
        repeated += trace.pieces[i].repeat ? trace.pieces[i].size : 0;
    assert_in_range(repeated, 1, trace.size / 20);

    for (size_t i = 0; trace.pieces[i].family <= WS_FAMILY_op; i++) {
        if (trace.pieces[i].family < 0 || trace.pieces[i].family == WS_FAMILY_op)
            continue;
        size_t middle = trace.pieces[i].offset + trace.pieces[i].size / 2;
        put_file(trace.bytes, trace.size);
        put_at(middle, "hurt", 4);
        small_trace_read(path, &result);
        assert_memory_equal(result.count, trace.rows, sizeof(trace.rows));
        assert_int_equal(result.early, 0);
        assert_int_equal(result.damage.lost_frames, 1);
    }
    small_trace_destroy(&trace);
}

/* The sink fails for a while, as a full disk does. The rows that it refused are counted. Dictionary rows are written
 * again, before the rows that use them. */
static void a_failing_sink_costs_what_it_refused(void **state)
{
    (void)state;
    uint64_t lost = 0;
    for (int from = 1; from < 20; from++) {
        struct small_trace trace = { .fail_from = from, .fail_to = from + 4 };
        small_trace_create(&trace, ROWS_PER_FRAME, 1, true, true);
        put_file(trace.bytes, trace.size);
        small_trace_read(path, &result);
        assert_int_equal(result.open_status, 0);
        assert_false(small_damage_reported(&result));
        assert_int_equal(result.early, 0);
        for (uint32_t i = 0; i < WS_FAMILY_COUNT; i++) {
            lost += trace.lost[i];
            assert_int_equal(result.count[i], trace.rows[i] - trace.lost[i]);
        }
        small_trace_destroy(&trace);
    }
    assert_int_not_equal(lost, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(everything_comes_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(cut_anywhere_gives_every_whole_frame, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_wrong_byte_costs_its_frame_only, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_missing_frame_is_counted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_frame_out_of_order_is_left_out, set_up, tear_down),
        cmocka_unit_test_setup_teardown(two_traces_in_one_file_stay_apart, set_up, tear_down),
        cmocka_unit_test_setup_teardown(rubbish_is_refused_or_skipped, set_up, tear_down),
        cmocka_unit_test_setup_teardown(rows_are_bounded_by_the_size_of_the_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(holes_cost_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(dictionaries_are_repeated_on_the_way, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_failing_sink_costs_what_it_refused, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
