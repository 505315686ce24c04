/* A program for read_trace.py: writes a trace without compression, with rows of every family, and prints the rows
 * that the C reader reads from it. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "rows.h"
#include "trace/reader.h"
#include "training.h"
#include "wire/columns.h"
#include "wire/sink.h"

enum {
    ROWS = 400,
    OPS = 5000,
};

static int write_trace(const char *path)
{
    static struct ws_op ops[OPS];
    struct ws_file_sink sink;
    struct ws_encoder *encoder;
    const struct ws_encoder_options options = { .write = ws_file_sink_write, .sink = &sink };
    uint64_t seed = 1;
    if (ws_file_sink_open(&sink, path) || ws_encoder_create(&encoder, &options))
        return -1;
    int status = training_dictionaries(encoder);
    training_ops(ops, OPS, 1);
    for (int i = 0; i < OPS && !status; i++)
        status = ws_encoder_add(encoder, WS_FAMILY_op, &ops[i]);
    for (uint32_t family = 0; family < WS_FAMILY_COUNT; family++)
        for (int i = 0; i < ROWS && !status; i++) {
            char row[TEST_ROW_BYTES];
            test_row_fill(family, row, &seed, 20);
            status = ws_encoder_add(encoder, family, row);
        }
    status = status ? status : ws_encoder_finish(encoder);
    ws_encoder_destroy(encoder);
    return ws_file_sink_close(&sink) || status ? -1 : 0;
}

static void print_row(const struct ws_layout *layout, const char *row)
{
    printf("%s", layout->name);
    for (uint32_t i = 0; i < layout->column_count; i++) {
        const struct ws_column *column = &layout->columns[i];
        if (column->coding == WS_CODING_TEXT) {
            const struct ws_text *text = ws_column_text(column, row);
            printf(" ");
            for (uint32_t at = 0; at < text->length; at++)
                printf("%02x", (unsigned char)text->data[at]);
        } else if (column->is_signed) {
            printf(" %" PRId64, (int64_t)ws_column_load(column, row));
        } else {
            printf(" %" PRIu64, ws_column_load(column, row));
        }
    }
    printf("\n");
}

int main(int argc, char **argv)
{
    struct ws_reader *reader;
    struct ws_block block;
    char message[256];
    if (argc != 2 || write_trace(argv[1])) {
        fprintf(stderr, "plain_trace: cannot write a trace\n");
        return 1;
    }
    if (ws_reader_open(&reader, argv[1], message, sizeof(message))) {
        fprintf(stderr, "plain_trace: %s\n", message);
        return 1;
    }
    while (ws_reader_next(reader, &block) > 0)
        for (uint32_t i = 0; i < block.count; i++)
            print_row(ws_layout(block.family),
                      (const char *)block.rows + (size_t)i * ws_layout(block.family)->row_size);
    ws_reader_close(reader);
    return 0;
}
