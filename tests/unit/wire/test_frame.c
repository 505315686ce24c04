/* Tests of the headers of a trace and of its frames: a header with any wrong bit is refused. Also tests of the frames
 * that the encoder writes. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"
#include "record/families.h"
#include "small_trace.h"
#include "wire/dictionary.h"
#include "wire/frame.h"

static const struct ws_frame_header sample = {
    .family = WS_FAMILY_op,
    .major = WS_FORMAT_MAJOR,
    .flags = WS_FRAME_COMPRESSED,
    .file_id = 0xfedcba98,
    .sequence = 0x76543210,
    .first_row = 0x123456789abcdef0,
    .rows = WS_FRAME_ROWS_MAX,
    .stored_size = WS_FRAME_BYTES_MAX,
    .raw_size = WS_FRAME_BYTES_MAX - 1,
    .host_first = INT64_MIN,
    .host_last = INT64_MAX,
    .payload_hash = 0x0f1e2d3c4b5a6978,
};

static void a_frame_header_comes_back(void **state)
{
    (void)state;
    uint8_t bytes[WS_FRAME_HEADER_SIZE];
    struct ws_frame_header back;
    ws_frame_header_write(bytes, &sample);
    assert_true(ws_frame_header_read(bytes, &back));
    assert_int_equal(back.family, sample.family);
    assert_int_equal(back.major, sample.major);
    assert_int_equal(back.flags, sample.flags);
    assert_int_equal(back.file_id, sample.file_id);
    assert_int_equal(back.sequence, sample.sequence);
    assert_int_equal(back.first_row, sample.first_row);
    assert_int_equal(back.rows, sample.rows);
    assert_int_equal(back.stored_size, sample.stored_size);
    assert_int_equal(back.raw_size, sample.raw_size);
    assert_int_equal(back.host_first, sample.host_first);
    assert_int_equal(back.host_last, sample.host_last);
    assert_int_equal(back.payload_hash, sample.payload_hash);
}

static void each_wrong_bit_of_a_frame_header_is_refused(void **state)
{
    (void)state;
    uint8_t bytes[WS_FRAME_HEADER_SIZE];
    struct ws_frame_header back;
    ws_frame_header_write(bytes, &sample);
    for (unsigned bit = 0; bit < 8 * sizeof(bytes); bit++) {
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_false(ws_frame_header_read(bytes, &back));
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    assert_true(ws_frame_header_read(bytes, &back));
}

/* Whether the reader accepts this header. The header gets the right hash, whatever its members are. */
static bool is_read(struct ws_frame_header header)
{
    uint8_t bytes[WS_FRAME_HEADER_SIZE];
    struct ws_frame_header back;
    ws_frame_header_write(bytes, &header);
    return ws_frame_header_read(bytes, &back);
}

static void a_frame_header_beyond_its_limits_is_refused(void **state)
{
    (void)state;
    struct ws_frame_header header = sample;
    header.rows++;
    assert_false(is_read(header));
    header = sample;
    header.stored_size++;
    assert_false(is_read(header));
    header = sample;
    header.raw_size = WS_FRAME_BYTES_MAX;
    assert_true(is_read(header));
    header.raw_size++;
    assert_false(is_read(header));
    header = sample;
    header.major++;
    assert_false(is_read(header));
    header = sample;
    header.first_row = UINT64_MAX - header.rows;
    assert_true(is_read(header));
    header.first_row++;
    assert_false(is_read(header));
    header.rows--;
    assert_true(is_read(header));
}

/* Checks that the member at this offset has the expected value. */
static void check_field(const uint8_t *bytes, size_t offset, size_t size, uint64_t expected)
{
    uint64_t value = 0;
    memcpy(&value, bytes + offset, size);
    assert_int_equal(value, expected);
}

/* If two fields changed places in both writer and reader, a round trip would not show it, but other readers would
 * fail. So this test checks each offset. */
static void each_field_is_where_format_md_says(void **state)
{
    (void)state;
    uint8_t bytes[WS_FRAME_HEADER_SIZE];
    ws_frame_header_write(bytes, &sample);
    assert_memory_equal(bytes, WS_FRAME_MAGIC, 4);
    check_field(bytes, 4, 2, sample.family);
    check_field(bytes, 6, 1, sample.major);
    check_field(bytes, 7, 1, sample.flags);
    check_field(bytes, 8, 4, sample.file_id);
    check_field(bytes, 12, 4, sample.sequence);
    check_field(bytes, 16, 8, sample.first_row);
    check_field(bytes, 24, 4, sample.rows);
    check_field(bytes, 28, 4, sample.stored_size);
    check_field(bytes, 32, 4, sample.raw_size);
    check_field(bytes, 36, 4, 0);
    check_field(bytes, 40, 8, (uint64_t)sample.host_first);
    check_field(bytes, 48, 8, (uint64_t)sample.host_last);
    check_field(bytes, 56, 8, sample.payload_hash);
    check_field(bytes, 64, 8, ws_hash(bytes, 64));

    const struct ws_file_header file = { .major = 3, .minor = 77, .file_id = 0x89abcdef, .creator = "somebody" };
    ws_file_header_write(bytes, &file);
    assert_memory_equal(bytes, WS_FILE_MAGIC, 16);
    check_field(bytes, 16, 2, file.major);
    check_field(bytes, 18, 2, file.minor);
    check_field(bytes, 20, 4, file.file_id);
    check_field(bytes, 24, 4, 0x01020304);
    check_field(bytes, 28, 4, 0);
    assert_memory_equal(bytes + 32, file.creator, 24);
    check_field(bytes, 56, 8, ws_hash(bytes, 56));
}

/* The magic is checked even if the hash is right: a file of another kind may use the same hash function. */
static void another_magic_with_a_right_hash_is_refused(void **state)
{
    (void)state;
    uint8_t bytes[WS_FRAME_HEADER_SIZE];
    struct ws_frame_header header;
    uint64_t hash, offset;
    for (unsigned i = 0; i < sizeof(WS_FRAME_MAGIC) - 1; i++) {
        ws_frame_header_write(bytes, &sample);
        bytes[i]++;
        hash = ws_hash(bytes, WS_FRAME_HEADER_SIZE - sizeof(hash));
        memcpy(bytes + WS_FRAME_HEADER_SIZE - sizeof(hash), &hash, sizeof(hash));
        assert_false(ws_frame_header_read(bytes, &header));
    }
    for (unsigned i = 0; i < sizeof(WS_TRAILER_MAGIC) - 1; i++) {
        ws_trailer_write(bytes, 1234, 5678);
        bytes[i]++;
        hash = ws_hash(bytes, WS_TRAILER_SIZE - sizeof(hash));
        memcpy(bytes + WS_TRAILER_SIZE - sizeof(hash), &hash, sizeof(hash));
        assert_false(ws_trailer_read(bytes, 1234, &offset));
    }
}

static void a_file_header_comes_back(void **state)
{
    (void)state;
    uint8_t bytes[WS_FILE_HEADER_SIZE];
    struct ws_file_header header = { .major = WS_FORMAT_MAJOR, .minor = 77, .file_id = 0x89abcdef }, back;
    /* a name so long that no 0 byte follows it in the file */
    memset(header.creator, 'c', sizeof(header.creator) - 1);
    ws_file_header_write(bytes, &header);
    assert_int_equal(ws_file_header_read(bytes, &back), 0);
    assert_int_equal(back.major, header.major);
    assert_int_equal(back.minor, header.minor);
    assert_int_equal(back.file_id, header.file_id);
    assert_string_equal(back.creator, header.creator);
    header.major++;
    ws_file_header_write(bytes, &header);
    assert_int_equal(ws_file_header_read(bytes, &back), -EPROTO);
    assert_int_equal(back.major, header.major);
    assert_string_equal(back.creator, header.creator);
}

static void each_wrong_bit_of_a_file_header_is_refused(void **state)
{
    (void)state;
    uint8_t bytes[WS_FILE_HEADER_SIZE];
    struct ws_file_header header = { .major = WS_FORMAT_MAJOR, .creator = "somebody" }, back;
    ws_file_header_write(bytes, &header);
    for (unsigned bit = 0; bit < 8 * sizeof(bytes); bit++) {
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        int expected = bit / 8 < sizeof(WS_FILE_MAGIC) ? -EINVAL : -EBADMSG;
        assert_int_equal(ws_file_header_read(bytes, &back), expected);
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    /* A header in the other byte order, which is right otherwise. */
    static const size_t byte_order = 24;
    uint8_t swapped[4] = { bytes[byte_order + 3], bytes[byte_order + 2], bytes[byte_order + 1], bytes[byte_order] };
    memcpy(bytes + byte_order, swapped, sizeof(swapped));
    uint64_t hash = ws_hash(bytes, sizeof(bytes) - sizeof(hash));
    memcpy(bytes + sizeof(bytes) - sizeof(hash), &hash, sizeof(hash));
    assert_int_equal(ws_file_header_read(bytes, &back), -EPROTO);
}

static void each_wrong_bit_of_a_trailer_is_refused(void **state)
{
    (void)state;
    uint8_t bytes[WS_TRAILER_SIZE];
    uint64_t offset;
    ws_trailer_write(bytes, 1234, 0x123456789a);
    assert_true(ws_trailer_read(bytes, 1234, &offset));
    assert_int_equal(offset, 0x123456789a);
    assert_false(ws_trailer_read(bytes, 1235, &offset));
    for (unsigned bit = 0; bit < 8 * sizeof(bytes); bit++) {
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_false(ws_trailer_read(bytes, 1234, &offset));
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
}

/* --- frames as the encoder writes them ---------------------------------------------------------- */

/* Asserts that the pieces `from` to `to` of the trace are frames of one file: they are numbered, each is as long as
 * its header says, and no row is missing. */
static void check_frames(const struct small_trace *trace, size_t from, size_t to)
{
    uint64_t next_row[WS_FAMILY_COUNT] = { 0 };
    struct ws_file_header file;
    assert_int_equal(ws_file_header_read((const uint8_t *)trace->bytes, &file), 0);
    assert_int_equal(trace->pieces[0].size, WS_FILE_HEADER_SIZE);
    for (size_t i = from; i < to; i++) {
        const struct small_piece *piece = &trace->pieces[i];
        const uint8_t *bytes = (const uint8_t *)trace->bytes + piece->offset;
        struct ws_frame_header header;
        assert_true(ws_frame_header_read(bytes, &header));
        assert_int_equal(header.sequence, i - from);
        assert_int_equal(header.file_id, file.file_id);
        assert_int_equal(header.stored_size, piece->size - WS_FRAME_HEADER_SIZE);
        assert_int_equal(header.payload_hash, ws_hash(bytes + WS_FRAME_HEADER_SIZE, header.stored_size));
        if (header.family >= WS_FAMILY_COUNT || header.flags & WS_FRAME_REPEAT)
            continue;
        assert_int_equal(header.first_row, next_row[header.family]);
        next_row[header.family] += header.rows;
    }
    for (uint32_t family = 0; family < WS_FAMILY_COUNT; family++)
        assert_int_equal(next_row[family] + trace->lost[family], trace->rows[family]);
}

static void frames_are_numbered_and_whole(void **state)
{
    (void)state;
    for (int compress = 0; compress < 2; compress++) {
        struct small_trace trace = { 0 };
        small_trace_create(&trace, 8, 3, compress, true);
        assert_true(trace.piece_count > 20);
        check_frames(&trace, 1, trace.piece_count - 1);
        const struct small_piece *trailer = &trace.pieces[trace.piece_count - 1];
        uint64_t footer = 0;
        uint32_t file_id;
        memcpy(&file_id, trace.bytes + 20, sizeof(file_id));
        assert_int_equal(trailer->size, WS_TRAILER_SIZE);
        assert_true(ws_trailer_read((const uint8_t *)trace.bytes + trailer->offset, file_id, &footer));
        assert_int_equal(footer, trace.pieces[trace.piece_count - 2].offset);
        small_trace_destroy(&trace);
    }
}

/* A frame that the sink refuses takes no number, so that a reader does not miss a frame that never existed. The
 * frame's rows are counted as lost, and the next frame skips their numbers. */
static void a_refused_frame_takes_no_number(void **state)
{
    (void)state;
    for (int fail_from = 1; fail_from < 12; fail_from++) {
        struct small_trace trace = { .fail_from = fail_from, .fail_to = fail_from + 3 };
        small_trace_create(&trace, 8, 3, true, false);
        uint32_t sequence = 0;
        uint64_t written[WS_FAMILY_COUNT] = { 0 }, end[WS_FAMILY_COUNT] = { 0 };
        for (size_t i = 1; i < trace.piece_count; i++) {
            struct ws_frame_header header;
            assert_true(ws_frame_header_read((const uint8_t *)trace.bytes + trace.pieces[i].offset, &header));
            assert_int_equal(header.sequence, sequence++);
            if (header.family < WS_FAMILY_FIRST_DATA) /* dictionary rows are written again, in other frames */
                continue;
            assert_true(header.first_row >= end[header.family]);
            end[header.family] = header.first_row + header.rows;
            written[header.family] += header.rows;
        }
        for (uint32_t family = WS_FAMILY_FIRST_DATA; family < WS_FAMILY_COUNT; family++)
            assert_int_equal(written[family] + trace.lost[family], trace.rows[family]);
        small_trace_destroy(&trace);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_frame_header_comes_back),
        cmocka_unit_test(each_wrong_bit_of_a_frame_header_is_refused),
        cmocka_unit_test(a_frame_header_beyond_its_limits_is_refused),
        cmocka_unit_test(each_field_is_where_format_md_says),
        cmocka_unit_test(another_magic_with_a_right_hash_is_refused),
        cmocka_unit_test(a_file_header_comes_back),
        cmocka_unit_test(each_wrong_bit_of_a_file_header_is_refused),
        cmocka_unit_test(each_wrong_bit_of_a_trailer_is_refused),
        cmocka_unit_test(frames_are_numbered_and_whole),
        cmocka_unit_test(a_refused_frame_takes_no_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
