/* Writes the trace of a training loop with COUNT operations: make_trace TRACE COUNT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/writer.h"
#include "training.h"
#include "wire/sink.h"

enum { MOST_OPERATIONS = 100000000, CLOCK_COMPARISONS = 600 };

static int add_surroundings(struct ws_encoder *encoder)
{
    const struct ws_device device = { .id = 1, .cc_major = 9, .name = { "Bench GPU", 9 } };
    const struct ws_context context = { .id = 1, .device = 1 };
    int status = ws_encoder_add(encoder, WS_FAMILY_device, &device);
    if (!status)
        status = ws_encoder_add(encoder, WS_FAMILY_context, &context);
    /* The device's clock gains 12 µs a second on the host's clock. The trace compares the two clocks once a
     * second. */
    for (int64_t i = 0; i < CLOCK_COMPARISONS && !status; i++) {
        const struct ws_clock clock = { .context = 1,
                                        .device_ns = 1000000000000 + i * 1000012000,
                                        .host_ns = 1000000000000 + i * 1000000000,
                                        .error_ns = 900 };
        status = ws_encoder_add(encoder, WS_FAMILY_clock, &clock);
    }
    return status ? status : training_dictionaries(encoder);
}

int main(int count, char **words)
{
    long operations = count == 3 ? strtol(words[2], NULL, 10) : 0;
    struct ws_file_sink sink;
    struct ws_encoder *encoder;
    if (operations <= 0 || operations > MOST_OPERATIONS) {
        fprintf(stderr, "usage: make_trace TRACE COUNT\n");
        return 2;
    }
    struct ws_op *ops = malloc((size_t)operations * sizeof(*ops));
    struct ws_encoder_options options = { .compressor = ws_zstd_compressor(),
                                          .write = ws_file_sink_write,
                                          .sink = &sink };
    int status = ops ? ws_file_sink_open(&sink, words[1]) : -ENOMEM;
    if (!status)
        status = ws_encoder_create(&encoder, &options);
    if (status) {
        fprintf(stderr, "make_trace: %s: %s\n", words[1], strerror(-status));
        free(ops);
        return 1;
    }
    training_ops(ops, (uint32_t)operations, 1);
    status = add_surroundings(encoder);
    for (long i = 0; i < operations && !status; i++)
        status = ws_encoder_add(encoder, WS_FAMILY_op, &ops[i]);
    if (!status)
        status = ws_encoder_finish(encoder);
    ws_encoder_destroy(encoder);
    free(ops);
    int closed = ws_file_sink_close(&sink);
    return status || closed ? 1 : 0;
}
