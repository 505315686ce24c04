#include "collector/flight.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "trace/resume.h"
#include "trace/writer.h"
#include "wire/encoder.h"
#include "wire/sink.h"

/* Gives rows and frames new numbers without gaps, because readers report missing numbers as losses. Frames from
 * before the flight recorder's window were dropped on purpose, so readers must not report them. */
static int add_frame(struct ws_file_sink *file, const struct flight_frame *frame, uint32_t sequence,
                     uint64_t rows[WS_FAMILY_COUNT])
{
    struct ws_frame_header header;
    uint8_t bytes[WS_FRAME_HEADER_SIZE];
    if (!ws_frame_header_read(frame->bytes, &header))
        return -EBADMSG;
    header.sequence = sequence;
    header.first_row = rows[header.family];
    rows[header.family] += header.rows;
    ws_frame_header_write(bytes, &header);
    int status = ws_file_sink_write(file, bytes, sizeof(bytes));
    return status ? status : ws_file_sink_write(file, frame->bytes + sizeof(bytes), frame->size - sizeof(bytes));
}

static int add_frames(struct ws_file_sink *file, const struct flight_view *view)
{
    uint64_t rows[WS_FAMILY_COUNT] = { 0 };
    int status = ws_file_sink_write(file, view->header, sizeof(view->header));
    for (size_t i = 0; i < view->count && !status; i++)
        status = add_frame(file, view->frames[i], (uint32_t)i, rows);
    return status;
}

static struct ws_text text_of(const char *text)
{
    return (struct ws_text){ text, (uint32_t)strlen(text) };
}

static int add_end(struct ws_file_sink *file, const char *const *say)
{
    const struct ws_encoder_options options = { .compressor = ws_zstd_compressor(),
                                                .write = ws_file_sink_write,
                                                .sink = file };
    struct ws_encoder *encoder;
    int status = ws_encoder_resume(&encoder, &options);
    if (status)
        return status;
    int fd = open(file->path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    status = fd < 0 ? -errno : ws_encoder_know_trace(encoder, fd, file->size, file->path);
    if (fd >= 0)
        close(fd);
    for (; *say && !status; say += 2) {
        const struct ws_meta row = { .key = text_of(say[0]), .value = text_of(say[1]) };
        status = ws_encoder_add(encoder, WS_FAMILY_meta, &row);
    }
    if (!status)
        status = ws_encoder_finish(encoder);
    ws_encoder_destroy(encoder);
    return status;
}

int flight_write(const struct flight_view *view, const char *path, const char *const *say)
{
    struct ws_file_sink file;
    int status = ws_file_sink_open(&file, path);
    if (status)
        return status;
    status = add_frames(&file, view);
    if (!status)
        status = add_end(&file, say);
    int closed = ws_file_sink_close(&file);
    status = status ? status : closed;
    if (status)
        unlink(path);
    return status;
}
