#include "collector/stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/minmax.h"
#include "wire/frame.h"

enum {
    SMALLEST_BUFFER = 4 << 10,
    LARGEST_BUFFER = WS_FRAME_HEADER_SIZE + WS_FRAME_BYTES_MAX + (64 << 10), /* the largest frame and a message */
};

void stream_init(struct stream *stream, struct stream_memory *memory)
{
    *stream = (struct stream){ .memory = memory };
}

static void resize(struct stream *stream, uint8_t *bytes, size_t capacity)
{
    stream->memory->used += capacity;
    stream->memory->used -= stream->capacity;
    stream->bytes = bytes;
    stream->capacity = capacity;
}

void stream_finish(struct stream *stream)
{
    free(stream->bytes);
    resize(stream, NULL, 0);
    stream->size = 0;
}

/* Makes room in the buffer for `more` bytes. The buffer grows only with the bytes that have come, because the size
 * that a frame header announces cannot be trusted. */
static bool make_room(struct stream *stream, size_t more)
{
    size_t capacity = stream->capacity ? stream->capacity : SMALLEST_BUFFER;
    while (capacity < stream->size + more)
        capacity *= 2;
    if (stream->size + more <= LARGEST_BUFFER)
        capacity = ws_min(capacity, (size_t)LARGEST_BUFFER);
    if (capacity == stream->capacity)
        return true;
    struct stream_memory *memory = stream->memory;
    while (capacity - stream->capacity > memory->limit - memory->used)
        if (!memory->reclaim || !memory->reclaim(memory->data, stream))
            return false;
    uint8_t *bytes = realloc(stream->bytes, capacity);
    if (bytes)
        resize(stream, bytes, capacity);
    return bytes != NULL;
}

static int check_file_header(struct stream *stream, const uint8_t *bytes)
{
    struct ws_file_header header;
    if (ws_file_header_read(bytes, &header))
        return -EBADMSG;
    stream->file_id = header.file_id;
    return 0;
}

static bool is_next_frame(const struct stream *stream, const struct ws_frame_header *header)
{
    return header->file_id == stream->file_id && header->sequence == stream->next_sequence;
}

/* Returns the size of the unit (file header, frame or trailer) at `bytes`. Returns the size of a frame header if that
 * header is still incomplete, or 0 if no unit begins with these bytes. */
static size_t unit_size(const struct stream *stream, const uint8_t *bytes, size_t left)
{
    struct ws_frame_header header;
    if (!stream->begun)
        return WS_FILE_HEADER_SIZE;
    if (stream->ended)
        return 0;
    if (stream->has_footer)
        return WS_TRAILER_SIZE;
    if (left < WS_FRAME_HEADER_SIZE)
        return WS_FRAME_HEADER_SIZE;
    if (!ws_frame_header_read(bytes, &header) || !is_next_frame(stream, &header))
        return 0;
    return WS_FRAME_HEADER_SIZE + (size_t)header.stored_size;
}

static int check_unit(struct stream *stream, const uint8_t *unit)
{
    struct ws_frame_header header;
    uint64_t footer;
    if (!stream->begun)
        return check_file_header(stream, unit);
    if (stream->has_footer) {
        bool right = ws_trailer_read(unit, stream->file_id, &footer) && footer == stream->footer_offset;
        return right ? 0 : -EBADMSG;
    }
    if (!ws_frame_header_read(unit, &header) ||
        ws_hash(unit + WS_FRAME_HEADER_SIZE, header.stored_size) != header.payload_hash)
        return -EBADMSG;
    return 0;
}

/* Advances the stream's position over a unit (file header, frame or trailer) that the callback `take` has got. */
static void pass(struct stream *stream, const uint8_t *unit, size_t size)
{
    struct ws_frame_header header;
    if (!stream->begun) {
        stream->begun = true;
    } else if (stream->has_footer) {
        stream->ended = true;
    } else if (ws_frame_header_read(unit, &header)) {
        stream->frames++;
        stream->next_sequence++;
        stream->has_footer = header.family == WS_FAMILY_FOOTER;
        if (stream->has_footer)
            stream->footer_offset = stream->taken;
    }
    stream->taken += size;
}

int stream_retry(struct stream *stream, stream_take take, void *data)
{
    size_t at = 0, size = 0;
    int status = 0;
    while (!status && at < stream->size) {
        const uint8_t *unit = stream->bytes + at;
        size = unit_size(stream, unit, stream->size - at);
        if (!size)
            status = -EBADMSG;
        else if (stream->size - at < size)
            break;
        if (!status)
            status = check_unit(stream, unit);
        if (!status)
            status = take(data, unit, size);
        if (!status) {
            pass(stream, unit, size);
            at += size;
        }
    }
    stream->size -= at;
    if (at)
        memmove(stream->bytes, stream->bytes + at, stream->size);
    return status;
}

int stream_add(struct stream *stream, const uint8_t *bytes, size_t size, stream_take take, void *data)
{
    if (!size)
        return 0;
    if (!make_room(stream, size))
        return -ENOMEM;
    memcpy(stream->bytes + stream->size, bytes, size);
    stream->size += size;
    return stream_retry(stream, take, data);
}
