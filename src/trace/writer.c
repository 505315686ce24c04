#include "trace/writer.h"

#include <errno.h>
#include <stdlib.h>
#include <zstd.h>

#include "wire/sink.h"

struct ws_writer {
    struct ws_file_sink sink;
    struct ws_encoder *encoder;
    int status; /* 0, or -errno of the first error */
};

static void *compressor_create(void)
{
    return ZSTD_createCCtx();
}

static size_t compressor_free(void *context)
{
    return ZSTD_freeCCtx(context);
}

static size_t compressor_compress(void *context, void *to, size_t capacity, const void *from, size_t size, int level)
{
    return ZSTD_compressCCtx(context, to, capacity, from, size, level);
}

struct ws_compressor ws_zstd_compressor(void)
{
    return (struct ws_compressor){
        .compress_bound = ZSTD_compressBound,
        .create = compressor_create,
        .free = compressor_free,
        .compress = compressor_compress,
        .is_error = ZSTD_isError,
    };
}

int ws_writer_create(struct ws_writer **result, const char *path)
{
    struct ws_writer *writer = calloc(1, sizeof(*writer));
    if (!writer)
        return -ENOMEM;
    int status = ws_file_sink_open(&writer->sink, path);
    if (status)
        goto free_writer;
    const struct ws_encoder_options options = {
        .compressor = ws_zstd_compressor(),
        .write = ws_file_sink_write,
        .sink = &writer->sink,
    };
    status = ws_encoder_create(&writer->encoder, &options);
    if (status)
        goto close_sink;
    *result = writer;
    return 0;

close_sink:
    ws_file_sink_close(&writer->sink);
free_writer:
    free(writer);
    return status;
}

static int first_error(struct ws_writer *writer, int status)
{
    if (!writer->status)
        writer->status = status;
    return status;
}

int ws_writer_add(struct ws_writer *writer, enum ws_family family, const void *row)
{
    return first_error(writer, ws_encoder_add(writer->encoder, family, row));
}

int ws_writer_close(struct ws_writer *writer)
{
    if (!writer)
        return 0;
    first_error(writer, ws_encoder_finish(writer->encoder));
    ws_encoder_destroy(writer->encoder);
    first_error(writer, ws_file_sink_close(&writer->sink));
    int status = writer->status;
    free(writer);
    return status;
}
