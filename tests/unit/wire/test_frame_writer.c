/* Tests of wire/frame_writer: the bytes that it gives to its sink, what it does if the sink fails or memory is too
 * small, and which planes (groups of bytes of one column) it compresses. The compressor is a stand-in. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "wire/frame_writer.h"

enum { HEAD = 1 << 12, PLANES = 1 << 20, PLANE = 2048, SKIPPED = 15, TRIES = 64 };

static struct ws_frame_writer writer;
static uint8_t head[HEAD], planes[PLANES], frame[2 * PLANES], written[4 * PLANES];
static size_t written_size;
static int refuses;
static size_t tried[TRIES]; /* sizes of the chunks that were given to the compressor */
static unsigned tried_count;

static int keep(void *sink, const void *bytes, size_t size)
{
    (void)sink;
    if (refuses)
        return refuses;
    assert_in_range(written_size + size, 0, sizeof(written));
    memcpy(written + written_size, bytes, size);
    written_size += size;
    return 0;
}

static void *create(void)
{
    return &writer;
}

/* A stand-in for a compressor: bytes that are all equal become one byte, other bytes do not shrink. */
static size_t compress(void *context, void *to, size_t capacity, const void *from, size_t size, int level)
{
    (void)context, (void)level;
    tried[tried_count++ % TRIES] = size;
    if (!size || !capacity || memcmp(from, (const char *)from + 1, size - 1))
        return size;
    memcpy(to, from, 1);
    return 1;
}

static unsigned is_error(size_t code)
{
    return code > PLANES;
}

static int begin_anew(void **state)
{
    (void)state;
    writer = (struct ws_frame_writer){
        .options = { .compressor = { .create = create, .compress = compress, .is_error = is_error }, .write = keep },
        .encoded = { .head = { .data = head, .capacity = HEAD }, .planes = { .data = planes, .capacity = PLANES } },
        .frame = { .data = frame, .capacity = sizeof(frame) },
    };
    written_size = tried_count = 0;
    refuses = 0;
    ws_frame_writer_prepare(&writer);
    return ws_frame_writer_start(&writer);
}

/* Adds a plane (the bytes of a part of a column). `tag`: the plane's number, which is the same in all frames of a
 * family. The bytes are all equal if the plane shall shrink; else each byte differs from its neighbours. */
static void put_plane(uint8_t tag, uint32_t size, bool shrinks)
{
    struct ws_encoded *encoded = &writer.encoded;
    for (uint32_t i = 0; i < size; i++)
        ws_bytes_put_u8(&encoded->planes, shrinks ? tag : (uint8_t)i);
    encoded->cuts[encoded->cut_count++] =
        (struct ws_encoded_cut){ .end = (uint32_t)encoded->planes.size, .tag = tag };
}

static int put_frame(uint16_t family)
{
    struct ws_frame_header header = { .family = family, .rows = 1, .host_first = 10, .host_last = 20 };
    return ws_frame_writer_put(&writer, &header);
}

/* Returns how many of the noted chunks have this size, and forgets all noted chunks. */
static unsigned tries_of(size_t size)
{
    unsigned count = 0;
    assert_in_range(tried_count, 0, TRIES);
    for (unsigned i = 0; i < tried_count; i++)
        count += tried[i] == size;
    tried_count = 0;
    return count;
}

static void traces_have_ids_of_their_own(void **state)
{
    uint32_t before = writer.file_id;
    struct ws_file_header header;
    assert_int_equal(ws_file_header_read(written, &header), 0);
    assert_int_equal(header.file_id, before);
    begin_anew(state);
    assert_int_not_equal(writer.file_id, before);
}

static void a_refused_frame_leaves_nothing(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 3; i++) {
        size_t at = written_size;
        ws_frame_writer_begin(&writer);
        put_plane(0, PLANE, true);
        refuses = -ENOSPC;
        assert_int_equal(put_frame(0), -ENOSPC);
        assert_int_equal(writer.bytes, at);
        assert_int_equal(writer.sequence, i);
        assert_int_equal(writer.index.span_count, i);
        refuses = 0;
        assert_int_equal(put_frame(0), 0);
        assert_int_equal(writer.bytes, written_size);
        assert_int_equal(writer.sequence, i + 1);
        assert_int_equal(writer.index.spans[i].offset, at);
        assert_int_equal(writer.index.spans[i].host_first, 10);
        assert_int_equal(writer.index.spans[i].host_last, 20);
    }
}

static void a_footer_that_is_refused_gets_no_trailer(void **state)
{
    (void)state;
    static uint8_t large[WS_INDEX_BYTES];
    size_t at = written_size;
    writer.encoded.head = (struct ws_bytes_out){ .data = large, .capacity = sizeof(large) };
    refuses = -EIO;
    assert_int_equal(ws_frame_writer_finish(&writer), -EIO);
    assert_int_equal(writer.bytes, at);
    refuses = 0;
    writer.encoded.head.capacity = 16; /* too small for the index */
    assert_int_equal(ws_frame_writer_finish(&writer), -ENOBUFS);
    assert_int_equal(written_size, at);
    writer.encoded.head.capacity = sizeof(large);
    assert_int_equal(ws_frame_writer_finish(&writer), 0);
    uint64_t footer = 0;
    assert_true(ws_trailer_read(written + written_size - WS_TRAILER_SIZE, writer.file_id, &footer));
    assert_int_equal(footer, at);
    struct ws_frame_header header;
    assert_true(ws_frame_header_read(written + footer, &header));
    assert_int_equal(header.family, WS_FAMILY_FOOTER);
    assert_int_equal(header.major, WS_FORMAT_MAJOR);
    assert_true(header.host_first > header.host_last); /* first > last: the footer has no times */
}

static void what_does_not_fit_is_not_written(void **state)
{
    (void)state;
    size_t at = written_size;
    static const uint8_t bytes[HEAD];
    for (int which = 0; which < 3; which++) {
        ws_frame_writer_begin(&writer);
        writer.frame.capacity = sizeof(frame);
        if (which == 0)
            ws_bytes_put(&writer.encoded.head, bytes, HEAD);
        else if (which == 1)
            ws_bytes_put(&writer.encoded.planes, written, PLANES + 1);
        else
            put_plane(0, PLANE, false);
        if (which == 2)
            writer.frame.capacity = PLANE;
        assert_int_equal(put_frame(0), -ENOBUFS);
        assert_int_equal(written_size, at);
        assert_int_equal(writer.sequence, which);
        /* The next frame fits. */
        ws_frame_writer_begin(&writer);
        put_plane(1, 10, false);
        assert_int_equal(put_frame(0), 0);
        at = written_size;
    }
}

/* Writes a frame with the largest number of planes, none of which shrinks. The buffer has exactly the size that
 * ws_frame_writer_bound promises to be enough. */
static void a_frame_is_never_larger_than_its_bound(void **state)
{
    (void)state;
    ws_frame_writer_begin(&writer);
    for (unsigned i = 0; i < WS_CUTS_MAX; i++)
        put_plane((uint8_t)i, PLANE, false);
    writer.frame.capacity = ws_frame_writer_bound(writer.encoded.head.size, writer.encoded.planes.size);
    assert_int_equal(put_frame(0), 0);
    writer.compression = NULL;
    assert_int_equal(put_frame(0), 0);
}

/* If a plane did not shrink, the writer does not compress it in the next frames of the same family, and then tries
 * again. The other planes and the head are tried each time. */
static void a_plane_that_does_not_shrink_is_left_alone(void **state)
{
    (void)state;
    static uint8_t noise[PLANE];
    for (unsigned i = 0; i < PLANE; i++)
        noise[i] = (uint8_t)i;
    for (unsigned round = 0; round <= SKIPPED + 1; round++) {
        ws_frame_writer_begin(&writer);
        ws_bytes_put(&writer.encoded.head, noise, PLANE);
        put_plane(0, PLANE + 1, true);
        put_plane(7, PLANE + 2, false);
        put_plane(8, PLANE + 3, true);
        tried_count = 0;
        assert_int_equal(put_frame(0), 0);
        assert_int_equal(tried_count, round % (SKIPPED + 1) ? 3 : 4);
        assert_int_equal(tries_of(PLANE + 2), round % (SKIPPED + 1) ? 0 : 1);
        if (round == 1) { /* in a frame of another family, the same tag means another plane */
            assert_int_equal(put_frame(1), 0);
            assert_int_equal(tries_of(PLANE + 2), 1);
        }
    }
}

/* If a small plane did not shrink, the next plane with its tag is tried all the same. */
static void small_planes_are_always_tried(void **state)
{
    (void)state;
    for (int round = 0; round < 3; round++) {
        ws_frame_writer_begin(&writer);
        put_plane(7, 100, false);
        tried_count = 0;
        assert_int_equal(put_frame(0), 0);
        assert_int_equal(tries_of(100), 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(traces_have_ids_of_their_own, begin_anew),
        cmocka_unit_test_setup(a_refused_frame_leaves_nothing, begin_anew),
        cmocka_unit_test_setup(a_footer_that_is_refused_gets_no_trailer, begin_anew),
        cmocka_unit_test_setup(what_does_not_fit_is_not_written, begin_anew),
        cmocka_unit_test_setup(a_frame_is_never_larger_than_its_bound, begin_anew),
        cmocka_unit_test_setup(a_plane_that_does_not_shrink_is_left_alone, begin_anew),
        cmocka_unit_test_setup(small_planes_are_always_tried, begin_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
