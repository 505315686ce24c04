/* Tests of encoding columns: every coding and every width is encoded and decoded again, and rows that repeat take
 * almost no bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "random.h"
#include "wire/columns.h"
#include "wire/index.h"

enum { ROWS = 3000 };

struct test_row {
    uint32_t key;
    uint32_t group;
    uint64_t begin;
    int64_t end;
    int32_t narrow;
    uint64_t value;
};

static struct ws_column columns[] = {
    { .name = "key", .offset = offsetof(struct test_row, key), .width = 4, .coding = WS_CODING_SLOTS },
    { .name = "group", .offset = offsetof(struct test_row, group), .width = 4, .coding = WS_CODING_SLOTS },
    { .name = "begin",
      .offset = offsetof(struct test_row, begin),
      .width = 8,
      .coding = WS_CODING_GAP,
      .base = 3,
      .key = 0,
      .group = 1 },
    { .name = "end",
      .offset = offsetof(struct test_row, end),
      .width = 8,
      .coding = WS_CODING_LENGTH,
      .base = 2,
      .key = 0 },
    { .name = "narrow", .offset = offsetof(struct test_row, narrow), .width = 4, .is_signed = true },
    { .name = "value", .offset = offsetof(struct test_row, value), .width = 8 },
};
static const struct ws_layout layout = { "test", columns, sizeof(columns) / sizeof(columns[0]), 0,
                                         sizeof(struct test_row) };
static struct test_row rows[ROWS], decoded[ROWS];
static struct ws_columns_encoder *encoder;
static struct ws_columns_decoder *decoder;
static struct ws_encoded encoded;
static uint8_t *payload;

static int set_up(void **state)
{
    (void)state;
    size_t bound = ws_columns_bound(&layout, ROWS, 0);
    encoder = ws_columns_encoder_init(calloc(1, ws_columns_encoder_size(ROWS)), ROWS);
    decoder = ws_columns_decoder_init(malloc(ws_columns_decoder_size(ROWS)), ROWS);
    encoded.head = (struct ws_bytes_out){ .data = malloc(bound), .capacity = bound };
    encoded.planes = (struct ws_bytes_out){ .data = malloc(bound), .capacity = bound };
    payload = malloc(2 * bound);
    memset(rows, 0, sizeof(rows));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    free(encoder);
    free(decoder);
    free(encoded.head.data);
    free(encoded.planes.data);
    free(payload);
    return 0;
}

/* Encodes the rows. Returns the size of the encoded bytes. */
static size_t encode(uint32_t count, const struct ws_map *groups)
{
    uint32_t head_size;
    encoded.head.size = encoded.planes.size = encoded.cut_count = 0;
    ws_columns_encode(encoder, &layout, rows, count, groups, &encoded);
    assert_false(encoded.head.failed || encoded.planes.failed);
    head_size = (uint32_t)encoded.head.size;
    memcpy(payload, &head_size, sizeof(head_size));
    memcpy(payload + sizeof(head_size), encoded.head.data, head_size);
    memcpy(payload + sizeof(head_size) + head_size, encoded.planes.data, encoded.planes.size);
    return sizeof(head_size) + head_size + encoded.planes.size;
}

static size_t round_trip(uint32_t count, const struct ws_map *groups)
{
    size_t size = encode(count, groups);
    memset(decoded, 0x55, sizeof(decoded));
    for (uint32_t i = 0; i < count; i++)
        memset((char *)&decoded[i], 0, sizeof(decoded[i]));
    assert_int_equal(ws_columns_decode(decoder, &layout, payload, size, count, decoded), 0);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(decoded[i].key, rows[i].key);
        assert_int_equal(decoded[i].group, rows[i].group);
        assert_int_equal(decoded[i].begin, rows[i].begin);
        assert_int_equal(decoded[i].end, rows[i].end);
        assert_int_equal(decoded[i].narrow, rows[i].narrow);
        assert_int_equal(decoded[i].value, rows[i].value);
    }
    return size;
}

static void every_coding_of_one_number(void **state)
{
    (void)state;
    static const uint8_t codings[] = { WS_CODING_PLAIN, WS_CODING_DELTA, WS_CODING_LAST, WS_CODING_LENGTH,
                                       WS_CODING_SLOTS };
    static const uint32_t counts[] = { 1, 2, 255, 256, 257, ROWS };
    struct ws_column *value = &columns[5];
    for (size_t c = 0; c < sizeof(codings); c++)
        for (unsigned bits = 0; bits <= 64; bits++) {
            uint64_t seed = bits;
            for (uint32_t i = 0; i < ROWS; i++) {
                uint64_t number = next_random(&seed);
                /* Most numbers have `bits` bits; one in 50 is of any size. */
                rows[i].value = bits && number % 50 ? number >> (64 - bits) : bits ? next_random(&seed) : 7;
                rows[i].key = (uint32_t)(number >> 60);
                rows[i].narrow = (int32_t)(number >> 20);
            }
            value->coding = codings[c];
            value->base = 4;
            value->key = 0;
            round_trip(counts[bits % 6], NULL);
        }
    value->coding = WS_CODING_PLAIN;
}

static void gaps_by_value_and_by_group(void **state)
{
    (void)state;
    struct ws_map groups = { 0 };
    uint64_t seed = 5;
    for (uint64_t i = 1; i < 40; i++)
        *ws_map_put(&groups, i) = i % 3 * 1000000007;
    for (uint32_t i = 0; i < ROWS; i++) {
        uint64_t number = next_random(&seed);
        rows[i].key = (uint32_t)(number % 20);
        rows[i].group = (uint32_t)(number >> 32) % 50;
        rows[i].begin = i % 100 ? 1000000 * (uint64_t)i : number;
        rows[i].end = (int64_t)(rows[i].begin + (number >> 48));
    }
    columns[2].grouped = false;
    round_trip(ROWS, NULL);
    columns[2].grouped = true;
    round_trip(ROWS, &groups);
    round_trip(ROWS, NULL);
    columns[2].grouped = false;
    ws_map_finish(&groups);
}

/* Rows whose lengths and gaps repeat on each stream take almost no bytes, which is the purpose of the coding. */
static void what_repeats_costs_nothing(void **state)
{
    (void)state;
    uint64_t ends[3] = { 500, 600, 700 };
    for (uint32_t i = 0; i < ROWS; i++) {
        rows[i].key = i % 12;
        rows[i].group = rows[i].key % 3;
        rows[i].begin = ends[rows[i].group] + 40 + rows[i].key;
        rows[i].end = (int64_t)(rows[i].begin + 100 * rows[i].key);
        ends[rows[i].group] = (uint64_t)rows[i].end;
        rows[i].narrow = -17;
        rows[i].value = UINT64_MAX - 5;
    }
    assert_in_range(round_trip(ROWS, NULL), 1, 400);
}

static void ids_of_every_kind(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < ROWS; i++) {
        rows[i].key = i;                    /* all values differ */
        rows[i].group = UINT32_MAX - i % 2; /* two values that take turns */
    }
    round_trip(ROWS, NULL);
    for (uint32_t i = 0; i < ROWS; i++)
        rows[i].key = 1000 - i / 3;
    round_trip(ROWS, NULL);
}

/* A payload that was cut short is never decoded. */
static void a_payload_cut_short_is_refused(void **state)
{
    (void)state;
    uint64_t seed = 9;
    for (uint32_t i = 0; i < 40; i++) {
        rows[i].key = (uint32_t)(next_random(&seed) % 3);
        rows[i].value = next_random(&seed);
        rows[i].begin = next_random(&seed) % 1000000;
    }
    size_t size = encode(40, NULL);
    for (size_t cut = 0; cut < size; cut++)
        assert_int_not_equal(ws_columns_decode(decoder, &layout, payload, cut, 40, decoded), 0);
    assert_int_not_equal(ws_columns_decode(decoder, &layout, payload, size, 41, decoded), 0);
    assert_int_not_equal(ws_columns_decode(decoder, &layout, payload, size, ROWS + 1, decoded), 0);
}

static void varints_and_their_bounds(void **state)
{
    (void)state;
    static const uint64_t numbers[] = { 0,         1, 127, 128, 16383, 16384, UINT32_MAX, INT64_MAX, UINT64_MAX - 1,
                                        UINT64_MAX };
    uint8_t bytes[WS_VARINT_MAX];
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        struct ws_bytes_out out = { .data = bytes, .capacity = sizeof(bytes) };
        ws_bytes_put_varint(&out, numbers[i]);
        assert_false(out.failed);
        struct ws_bytes_in in = { .at = bytes, .end = bytes + out.size };
        assert_int_equal(ws_bytes_get_varint(&in), numbers[i]);
        assert_true(!in.failed && in.at == in.end);
        struct ws_bytes_in cut = { .at = bytes, .end = bytes + out.size - 1 };
        assert_int_equal(ws_bytes_get_varint(&cut), 0);
        assert_true(cut.failed);
        assert_int_equal(ws_unzigzag(ws_zigzag((int64_t)numbers[i])), (int64_t)numbers[i]);
    }
    /* Two numbers that are too large: one has more than 64 bits, the other more than 10 bytes. */
    static const uint8_t too_large[][11] = { { 255, 255, 255, 255, 255, 255, 255, 255, 255, 2 },
                                             { 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 0 } };
    for (int i = 0; i < 2; i++) {
        struct ws_bytes_in in = { .at = too_large[i], .end = too_large[i] + sizeof(too_large[i]) };
        ws_bytes_get_varint(&in);
        assert_true(in.failed);
    }
    struct ws_bytes_out full = { .data = bytes, .capacity = 3 };
    ws_bytes_put(&full, "abcd", 4);
    assert_true(full.failed && full.size == 0);
}

/* The layouts (lists of columns) that families.h makes meet the requirements of the codings. */
static void every_layout_is_sound(void **state)
{
    (void)state;
    for (uint32_t family = 0; family < WS_FAMILY_COUNT; family++) {
        const struct ws_layout *made = ws_layout(family);
        unsigned keys = 0;
        assert_string_equal(made->name, ws_family_name(family));
        for (uint32_t i = 0; i < made->column_count; i++) {
            const struct ws_column *column = &made->columns[i];
            bool has_key = column->coding == WS_CODING_LAST || column->coding == WS_CODING_LENGTH ||
                           column->coding == WS_CODING_GAP;
            keys += column->coding == WS_CODING_SLOTS;
            assert_in_range(column->offset + column->width, 1, made->row_size);
            if (has_key) {
                assert_in_range(column->key, 0, i - 1);
                assert_int_equal(made->columns[column->key].coding, WS_CODING_SLOTS);
            }
            if (column->coding == WS_CODING_GAP) {
                assert_int_equal(made->columns[column->group].coding, WS_CODING_SLOTS);
                assert_int_equal(made->columns[column->base].coding, WS_CODING_LENGTH);
                assert_int_equal(made->columns[column->base].base, i);
            }
        }
        assert_in_range(keys, 0, WS_KEY_COLUMNS_MAX);
    }
    assert_null(ws_layout(WS_FAMILY_COUNT));
}

/* The index of a file covers all its frames, but has only as many spans (series of frames) as there is room for. */
static void an_index_stays_small(void **state)
{
    (void)state;
    enum { FRAMES = 100000 };
    static struct ws_index index, read;
    static uint8_t bytes[WS_INDEX_BYTES];
    for (int i = 0; i < FRAMES; i++)
        ws_index_add(&index, 64 + 1000 * (uint64_t)i, i % 7 ? i : INT64_MAX, i % 7 ? i + 10 : INT64_MIN);
    struct ws_bytes_out out = { .data = bytes, .capacity = sizeof(bytes) };
    ws_index_write(&index, &out);
    assert_false(out.failed);
    struct ws_bytes_in in = { .at = bytes, .end = bytes + out.size };
    ws_index_read(&read, &in);
    assert_false(in.failed);
    assert_ptr_equal(in.at, in.end);
    uint64_t frames = 0;
    for (uint32_t i = 0; i < read.span_count; i++) {
        assert_int_equal(read.spans[i].offset, 64 + 1000 * frames);
        int64_t first = (int64_t)frames, last = first + read.spans[i].frames - 1;
        assert_int_equal(read.spans[i].host_first, first % 7 ? first : first + 1);
        assert_int_equal(read.spans[i].host_last, last % 7 ? last + 10 : last + 9);
        frames += read.spans[i].frames;
    }
    assert_int_equal(frames, FRAMES);
    assert_in_range(read.span_count, WS_SPANS_MAX / 2, WS_SPANS_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_coding_of_one_number, set_up, tear_down),
        cmocka_unit_test_setup_teardown(gaps_by_value_and_by_group, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_repeats_costs_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(ids_of_every_kind, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_payload_cut_short_is_refused, set_up, tear_down),
        cmocka_unit_test(varints_and_their_bounds),
        cmocka_unit_test(every_layout_is_sound),
        cmocka_unit_test(an_index_stays_small),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
