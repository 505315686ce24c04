#include "small_trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>

#include <cmocka.h>

#include "rows.h"
#include "trace/writer.h"
#include "wire/columns.h"
#include "wire/dictionary.h"
#include "wire/frame.h"

/* How many rows of each family one round writes. */
static const uint8_t per_round[WS_FAMILY_COUNT] = {
    [WS_FAMILY_meta] = 1,   [WS_FAMILY_stream] = 1, [WS_FAMILY_function] = 3, [WS_FAMILY_shape] = 4,
    [WS_FAMILY_params] = 2, [WS_FAMILY_op] = 10,    [WS_FAMILY_call] = 5,     [WS_FAMILY_loss] = 1,
};
enum {
    ROUNDS = 3,
    DIGITS = 6, /* digits of a row's number if its column is a text: the number is written in base 4 */
};

static uint32_t data_factor = 1;

static uint32_t rows_per_round(uint32_t family)
{
    return per_round[family] * (family < WS_FAMILY_FIRST_DATA ? 1 : data_factor);
}

/* The index of the column that contains the row's number: the third column of operations and calls, the first column
 * of all other families. */
static size_t identity_column(uint32_t family)
{
    return family == WS_FAMILY_op || family == WS_FAMILY_call ? 2 : 0;
}

void small_trace_row(uint32_t family, uint32_t index, void *row)
{
    static char digits[SMALL_ROWS_MAX][DIGITS];
    uint64_t seed = (uint64_t)family << 32 | index, number = index;
    const struct ws_column *column = &ws_layout(family)->columns[identity_column(family)];
    test_row_fill(family, row, &seed, 30);
    if (column->coding == WS_CODING_TEXT) {
        for (int i = 0; i < DIGITS; i++)
            digits[index][i] = (char)('0' + (index >> (2 * i) & 3));
        struct ws_text text = { digits[index], DIGITS };
        memcpy((char *)row + column->offset, &text, sizeof(text));
    } else {
        memcpy((char *)row + column->offset, &number, column->width);
    }
}

/* The number that a row contains; UINT32_MAX if small_trace_row makes no such row. */
static uint32_t row_index(uint32_t family, const void *row)
{
    const struct ws_column *column = &ws_layout(family)->columns[identity_column(family)];
    if (column->coding != WS_CODING_TEXT) {
        uint64_t number = ws_column_load(column, row);
        return number < SMALL_ROWS_MAX ? (uint32_t)number : UINT32_MAX;
    }
    const struct ws_text *text = ws_column_text(column, row);
    uint32_t index = 0;
    if (text->length != DIGITS)
        return UINT32_MAX;
    for (int i = 0; i < DIGITS; i++)
        index |= (uint32_t)(text->data[i] - '0') << (2 * i);
    return index < SMALL_ROWS_MAX ? index : UINT32_MAX;
}

static int keep_piece(void *context, const void *bytes, size_t size)
{
    struct small_trace *trace = context;
    int number = trace->piece_number++;
    if (number >= trace->fail_from && number < trace->fail_to)
        return -ENOSPC;
    assert_in_range(trace->piece_count, 0, SMALL_PIECES_MAX - 1);
    assert_in_range(trace->size + size, 0, trace->capacity);
    struct small_piece piece = { .offset = trace->size, .size = size, .family = -1 };
    struct ws_frame_header header;
    if (size >= WS_FRAME_HEADER_SIZE && ws_frame_header_read(bytes, &header) && header.family < WS_FAMILY_COUNT) {
        piece.family = header.family;
        piece.first_row = header.first_row;
        piece.rows = header.rows;
        piece.repeat = header.flags & WS_FRAME_REPEAT;
    }
    memcpy(trace->bytes + trace->size, bytes, size);
    trace->size += size;
    trace->pieces[trace->piece_count++] = piece;
    return 0;
}

static void write_round(struct small_trace *trace, struct ws_encoder *encoder)
{
    char row[TEST_ROW_BYTES];
    for (uint32_t family = 0; family < WS_FAMILY_COUNT; family++)
        for (uint32_t i = 0; i < rows_per_round(family); i++) {
            small_trace_row(family, trace->rows[family]++, row);
            ws_encoder_add(encoder, family, row);
        }
}

void small_trace_create(struct small_trace *trace, uint32_t rows_per_frame, uint32_t data, bool compress, bool finish)
{
    struct ws_encoder *encoder;
    struct ws_encoder_options options = { .write = keep_piece, .sink = trace, .rows_per_frame = rows_per_frame };
    if (compress)
        options.compressor = ws_zstd_compressor();
    data_factor = data;
    trace->capacity = 1 << 20;
    trace->bytes = malloc(trace->capacity);
    assert_non_null(trace->bytes);
    assert_int_equal(ws_encoder_create(&encoder, &options), 0);
    for (int i = 0; i < ROUNDS; i++)
        write_round(trace, encoder);
    if (finish)
        ws_encoder_finish(encoder);
    else
        ws_encoder_flush(encoder);
    for (uint32_t i = 0; i < WS_FAMILY_COUNT; i++)
        trace->lost[i] = ws_encoder_lost(encoder, i);
    ws_encoder_destroy(encoder);
}

void small_trace_destroy(struct small_trace *trace)
{
    free(trace->bytes);
    *trace = (struct small_trace){ 0 };
}

static void check_row(struct small_result *result, uint32_t family, const void *row)
{
    char expected[TEST_ROW_BYTES];
    uint32_t index = row_index(family, row);
    assert_int_not_equal(index, UINT32_MAX);
    small_trace_row(family, index, expected);
    assert_true(test_rows_equal(family, row, expected));
    assert_false(result->seen[family][index]);
    result->seen[family][index] = true;
    result->count[family]++;
    if (family < WS_FAMILY_FIRST_DATA)
        return;
    uint32_t round = index / rows_per_round(family);
    for (uint32_t i = 0; i < WS_FAMILY_FIRST_DATA; i++)
        for (uint32_t before = 0; before < (round + 1) * rows_per_round(i); before++)
            result->early += !result->seen[i][before];
}

static void read_once(const char *path, struct small_result *result, bool columns)
{
    struct ws_reader *reader;
    struct ws_block block;
    struct ws_op op;
    int status;
    memset(result, 0, sizeof(*result));
    result->open_status = ws_reader_open(&reader, path, result->message, sizeof(result->message));
    if (result->open_status)
        return;
    if (columns)
        ws_reader_want_columns(reader);
    while ((status = ws_reader_next(reader, &block)) > 0)
        for (uint32_t i = 0; i < block.count; i++)
            check_row(result, block.family, test_block_row(&block, i, &op));
    assert_int_equal(status, 0);
    result->damage = *ws_reader_damage(reader);
    ws_reader_close(reader);
}

/* Reads the file twice, first with operations as columns, then as rows, and checks that the results are equal. */
void small_trace_read(const char *path, struct small_result *result)
{
    static struct small_result columns;
    read_once(path, &columns, true);
    read_once(path, result, false);
    assert_memory_equal(&columns, result, sizeof(columns));
}

bool small_damage_reported(const struct small_result *result)
{
    return result->open_status ? result->message[0] : ws_damage_any(&result->damage);
}
