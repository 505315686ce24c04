/* Measures the size of a trace of a training loop and the speed of writing and reading it. For comparison it also
 * measures the best that the machine can do: copying the rows, and zstd alone on them. Prints a line of JSON for each
 * figure. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "base/clock.h"
#include "trace/reader.h"
#include "trace/writer.h"
#include "training.h"

enum { ROWS = 2000000, ROUNDS = 5 };

struct memory_sink {
    char *bytes;
    size_t size, capacity;
};

static int memory_write(void *context, const void *bytes, size_t size)
{
    struct memory_sink *sink = context;
    if (size > sink->capacity - sink->size)
        return -1;
    memcpy(sink->bytes + sink->size, bytes, size);
    sink->size += size;
    return 0;
}

static void fail(const char *what)
{
    fprintf(stderr, "bench_trace: %s\n", what);
    exit(1);
}

/* The rate in million rows a second of work on ROWS rows that began at `start` and ends now. */
static double rate(int64_t start)
{
    return ROWS * 1e3 / (double)(ws_clock_ns() - start);
}

static double larger(double left, double right)
{
    return left > right ? left : right;
}

static double encode(const struct ws_op *ops, struct memory_sink *sink)
{
    struct ws_encoder *encoder;
    const struct ws_encoder_options options = { .compressor = ws_zstd_compressor(),
                                                .write = memory_write,
                                                .sink = sink };
    sink->size = 0;
    if (ws_encoder_create(&encoder, &options) || training_dictionaries(encoder))
        fail("cannot create an encoder");
    int64_t start = ws_clock_ns();
    for (uint32_t i = 0; i < ROWS; i++)
        ws_encoder_add(encoder, WS_FAMILY_op, &ops[i]);
    if (ws_encoder_finish(encoder))
        fail("cannot encode");
    double result = rate(start);
    ws_encoder_destroy(encoder);
    return result;
}

static double decode(const char *path)
{
    struct ws_reader *reader;
    struct ws_block block;
    char message[256];
    uint64_t rows = 0, sum = 0;
    int64_t start = ws_clock_ns();
    if (ws_reader_open(&reader, path, message, sizeof(message)))
        fail(message);
    while (ws_reader_next(reader, &block) > 0)
        if (block.family == WS_FAMILY_op) {
            const struct ws_op *ops = block.rows;
            for (uint32_t i = 0; i < block.count; i++)
                sum += (uint64_t)(ops[i].end - ops[i].begin);
            rows += block.count;
        }
    double result = rate(start);
    ws_reader_close(reader);
    if (rows != ROWS || !sum)
        fail("rows are missing");
    return result;
}

/* Measures zstd -1 over the rows as they are in memory, in blocks with as many rows as a frame. */
static double zstd_alone(const struct ws_op *ops, struct memory_sink *sink, double *bytes_per_row)
{
    ZSTD_CCtx *context = ZSTD_createCCtx();
    size_t size = 0, block = 4096;
    int64_t start = ws_clock_ns();
    for (size_t i = 0; i < ROWS; i += block) {
        size_t rows = ROWS - i < block ? ROWS - i : block;
        size += ZSTD_compressCCtx(context, sink->bytes, sink->capacity, ops + i, rows * sizeof(*ops), 1);
    }
    double result = rate(start);
    *bytes_per_row = (double)size / ROWS;
    ZSTD_freeCCtx(context);
    return result;
}

/* Prints a figure as scripts/bench reads it. floor: the best possible value, which is the rate of memcpy, or the size
 * of the rows after zstd alone. */
static void print_figure(const char *name, double value, const char *unit, double budget, double floor)
{
    printf("{\"name\": \"%s\", \"value\": %.3f, \"unit\": \"%s\", \"floor\": %.3f", name, value, unit, floor);
    if (budget > 0)
        printf(", \"budget\": %g", budget);
    puts("}");
}

int main(void)
{
    struct ws_op *ops = malloc(ROWS * sizeof(*ops));
    struct memory_sink sink = { .capacity = ROWS * sizeof(*ops) };
    sink.bytes = malloc(sink.capacity);
    char path[] = "/tmp/bench-trace-XXXXXX";
    int fd = mkstemp(path);
    if (!ops || !sink.bytes || fd < 0)
        fail("no memory or no temporary file");
    training_ops(ops, ROWS, 1);

    double encoded = 0, decoded = 0, copied = 0, zstd = 0, zstd_bytes = 0;
    for (int round = 0; round < ROUNDS; round++) {
        encoded = larger(encoded, encode(ops, &sink));
        if (!round && write(fd, sink.bytes, sink.size) != (ssize_t)sink.size)
            fail("cannot write a temporary file");
        decoded = larger(decoded, decode(path));
    }
    size_t size = sink.size;
    for (int round = 0; round < ROUNDS; round++) {
        int64_t start = ws_clock_ns();
        memcpy(sink.bytes, ops, ROWS * sizeof(*ops));
        copied = larger(copied, rate(start));
    }
    zstd = zstd_alone(ops, &sink, &zstd_bytes);
    unlink(path);
    print_figure("trace: bytes a launch record", (double)size / ROWS, "bytes", 6.5, zstd_bytes);
    print_figure("trace: encode", encoded, "million records/s", 12, copied);
    print_figure("trace: decode", decoded, "million records/s", 25, copied);
    print_figure("trace: zstd alone, for comparison", zstd, "million records/s", 0, copied);
    free(ops);
    free(sink.bytes);
    return 0;
}
