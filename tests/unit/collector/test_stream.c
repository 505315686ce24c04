/* Tests that the collector passes on only whole units (header, frames) with right checksums, however the bytes of a
 * trace are divided when they arrive. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "collector/stream.h"
#include "small_trace.h"
#include "wire/frame.h"

static struct small_trace trace;
static char *taken;
static size_t taken_size, calls;
static int refuse_from; /* index of the first unit that the receiver refuses; -1: none */

static int take(void *data, const uint8_t *unit, size_t size)
{
    (void)data;
    if (refuse_from >= 0 && calls >= (size_t)refuse_from)
        return -ENOSPC;
    calls++;
    memcpy(taken + taken_size, unit, size);
    taken_size += size;
    return 0;
}

static void restart(void)
{
    taken_size = calls = 0;
    refuse_from = -1;
}

static int add_in_pieces(struct stream *stream, const char *bytes, size_t size, size_t piece)
{
    int status = 0;
    for (size_t at = 0; at < size && !status; at += piece) {
        size_t part = size - at < piece ? size - at : piece;
        status = stream_add(stream, (const uint8_t *)bytes + at, part, take, NULL);
    }
    return status;
}

static void pieces_of_any_size_make_the_trace(void **state)
{
    (void)state;
    static const size_t pieces[] = { 1, 7, 63, 64, 65, 1000, 65536, 1 << 24 };
    for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
        struct stream_memory memory = { .limit = 1 << 26 };
        struct stream stream;
        restart();
        stream_init(&stream, &memory);
        assert_int_equal(add_in_pieces(&stream, trace.bytes, trace.size, pieces[i]), 0);
        assert_true(stream.ended);
        assert_int_equal(stream.size, 0);
        assert_int_equal(stream.taken, trace.size);
        assert_int_equal(taken_size, trace.size);
        assert_memory_equal(taken, trace.bytes, trace.size);
        assert_int_equal(calls, trace.piece_count);
        assert_int_equal(stream.frames, trace.piece_count - 2); /* all pieces but the header and the trailer */
        assert_int_equal(stream_add(&stream, (const uint8_t *)"x", 1, take, NULL), -EBADMSG);
        stream_finish(&stream);
        assert_int_equal(memory.used, 0);
    }
}

static void a_wrong_bit_stops_the_trace_before_its_unit(void **state)
{
    (void)state;
    for (size_t at = 0; at < trace.size; at += at < 256 ? 1 : 37) {
        struct stream_memory memory = { .limit = 1 << 26 };
        struct stream stream;
        restart();
        stream_init(&stream, &memory);
        trace.bytes[at] ^= 4;
        int status = add_in_pieces(&stream, trace.bytes, trace.size, 1 << 24);
        trace.bytes[at] ^= 4;
        assert_int_equal(status, -EBADMSG);
        assert_true(taken_size <= at);
        assert_memory_equal(taken, trace.bytes, taken_size);
        stream_finish(&stream);
    }
}

static void a_unit_that_was_refused_comes_again(void **state)
{
    (void)state;
    struct stream_memory memory = { .limit = 1 << 26 };
    struct stream stream;
    restart();
    stream_init(&stream, &memory);
    refuse_from = 3;
    assert_int_equal(add_in_pieces(&stream, trace.bytes, trace.size, 1 << 24), -ENOSPC);
    assert_int_equal(stream.taken, taken_size);
    assert_int_equal(stream_retry(&stream, take, NULL), -ENOSPC);
    refuse_from = -1;
    assert_int_equal(stream_retry(&stream, take, NULL), 0);
    assert_true(stream.ended);
    assert_memory_equal(taken, trace.bytes, trace.size);
    stream_finish(&stream);
}

static void memory_is_bounded(void **state)
{
    (void)state;
    struct stream_memory memory = { .limit = 6 << 10 };
    struct stream streams[2];
    restart();
    stream_init(&streams[0], &memory);
    stream_init(&streams[1], &memory);
    refuse_from = 0;
    assert_int_equal(stream_add(&streams[0], (const uint8_t *)trace.bytes, 3000, take, NULL), -ENOSPC);
    assert_int_equal(stream_add(&streams[1], (const uint8_t *)trace.bytes, 64, take, NULL), -ENOMEM);
    stream_finish(&streams[0]);
    assert_int_equal(stream_add(&streams[1], (const uint8_t *)trace.bytes, 64, take, NULL), -ENOSPC);
    stream_finish(&streams[1]);
    assert_int_equal(memory.used, 0);
}

/* The header of a frame may state any size. Memory is allocated only for bytes that have arrived, not for the stated
 * size. */
static void a_large_size_takes_no_memory(void **state)
{
    (void)state;
    struct stream_memory memory = { .limit = 1 << 26 };
    struct stream stream;
    struct ws_file_header file;
    uint8_t bytes[WS_FRAME_HEADER_SIZE];
    restart();
    stream_init(&stream, &memory);
    assert_int_equal(stream_add(&stream, (const uint8_t *)trace.bytes, WS_FILE_HEADER_SIZE, take, NULL), 0);
    assert_int_equal(ws_file_header_read((const uint8_t *)trace.bytes, &file), 0);
    struct ws_frame_header header = { .major = (uint8_t)file.major,
                                      .file_id = file.file_id,
                                      .stored_size = WS_FRAME_BYTES_MAX,
                                      .raw_size = WS_FRAME_BYTES_MAX };
    ws_frame_header_write(bytes, &header);
    assert_int_equal(stream_add(&stream, bytes, sizeof(bytes), take, NULL), 0);
    assert_true(memory.used <= 64 << 10);
    stream_finish(&stream);
}

static int set_up(void **state)
{
    (void)state;
    small_trace_create(&trace, 16, 4, true, true);
    taken = malloc(trace.size);
    return taken ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    free(taken);
    small_trace_destroy(&trace);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_of_any_size_make_the_trace),
        cmocka_unit_test(a_wrong_bit_stops_the_trace_before_its_unit),
        cmocka_unit_test(a_unit_that_was_refused_comes_again),
        cmocka_unit_test(memory_is_bounded),
        cmocka_unit_test(a_large_size_takes_no_memory),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
