#include "collector/flight.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "trace/resume.h"
#include "trace/writer.h"
#include "wire/encoder.h"

struct flight_file {
    int fd;
    uint64_t size;
};

/* The encoder's ws_sink_write. */
static int file_add(void *sink, const void *bytes, size_t size)
{
    struct flight_file *file = sink;
    for (size_t done = 0; done < size;) {
        ssize_t written = write(file->fd, (const char *)bytes + done, size - done);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return written ? -errno : -ENOSPC;
        done += (size_t)written;
    }
    file->size += size;
    return 0;
}

/* Rows and frames are numbered anew, without the gaps that readers take for losses: what came before the window is
 * not lost, it was never to be kept. */
static int add_frame(struct flight_file *file, const struct flight_frame *frame, uint32_t sequence,
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
    int status = file_add(file, bytes, sizeof(bytes));
    return status ? status : file_add(file, frame->bytes + sizeof(bytes), frame->size - sizeof(bytes));
}

static int add_frames(struct flight_file *file, const struct flight_view *view)
{
    uint64_t rows[WS_FAMILY_COUNT] = { 0 };
    int status = file_add(file, view->header, sizeof(view->header));
    for (size_t i = 0; i < view->count && !status; i++)
        status = add_frame(file, view->frames[i], (uint32_t)i, rows);
    return status;
}

static struct ws_text text_of(const char *text)
{
    return (struct ws_text){ text, (uint32_t)strlen(text) };
}

static int add_end(struct flight_file *file, const char *path, const char *const *say)
{
    const struct ws_encoder_options options = { .compressor = ws_zstd_compressor(), .write = file_add, .sink = file };
    struct ws_encoder *encoder;
    int status = ws_encoder_resume(&encoder, &options);
    if (status)
        return status;
    status = ws_encoder_know_trace(encoder, file->fd, file->size, path);
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
    struct flight_file file = { .fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600) };
    if (file.fd < 0)
        return -errno;
    int status = add_frames(&file, view);
    if (!status)
        status = add_end(&file, path, say);
    if (close(file.fd) && !status)
        status = -errno;
    if (status)
        unlink(path);
    return status;
}
