#include "trace/payload.h"

#include <errno.h>
#include <stdlib.h>
#include <zstd.h>

#include "base/hash.h"

int ws_buffer_reserve(struct ws_buffer *buffer, size_t size)
{
    if (size <= buffer->capacity)
        return 0;
    free(buffer->bytes);
    *buffer = (struct ws_buffer){ .bytes = malloc(size) };
    if (!buffer->bytes)
        return -ENOMEM;
    buffer->capacity = size;
    return 0;
}

void ws_payload_finish(struct ws_payload *payload)
{
    free(payload->stored.bytes);
    free(payload->raw.bytes);
    ZSTD_freeDCtx(payload->decompression);
    *payload = (struct ws_payload){ 0 };
}

/* Decompresses or copies the stored chunks to payload->raw, which holds header->raw_size bytes. */
static int decompress(struct ws_payload *payload, const struct ws_frame_header *header, const uint8_t *stored)
{
    uint32_t list_size, left = header->stored_size, filled = 0;
    if (left < sizeof(list_size))
        return -EBADMSG;
    left -= (uint32_t)sizeof(list_size);
    memcpy(&list_size, stored + left, sizeof(list_size));
    if (list_size > left)
        return -EBADMSG;
    left -= list_size;
    struct ws_bytes_in list = { .at = stored + left, .end = stored + left + list_size };
    while (list.at < list.end) {
        uint64_t size = ws_bytes_get_varint(&list), stored_size = ws_bytes_get_varint(&list);
        if (list.failed || size > header->raw_size - filled || stored_size > left)
            return -EBADMSG;
        uint8_t *to = payload->raw.bytes + filled;
        if (size == stored_size)
            memcpy(to, stored, size);
        else if (ZSTD_decompressDCtx(payload->decompression, to, size, stored, stored_size) != size)
            return -EBADMSG;
        stored += stored_size;
        left -= (uint32_t)stored_size;
        filled += (uint32_t)size;
    }
    return filled == header->raw_size && !left ? 0 : -EBADMSG;
}

int ws_payload_take(struct ws_payload *payload, const struct ws_frame_header *header, const uint8_t *stored)
{
    payload->bytes = stored;
    payload->size = header->raw_size;
    if (!(header->flags & WS_FRAME_COMPRESSED))
        return header->raw_size == header->stored_size ? 0 : -EBADMSG;
    if (!payload->decompression && !(payload->decompression = ZSTD_createDCtx()))
        return -ENOMEM;
    int status = ws_buffer_reserve(&payload->raw, (size_t)header->raw_size + 1);
    if (status)
        return status;
    payload->bytes = payload->raw.bytes;
    return decompress(payload, header, stored);
}

int ws_payload_read(struct ws_payload *payload, const struct ws_frame_source *source,
                    const struct ws_frame_place *place)
{
    const struct ws_frame_header *header = &place->header;
    /* Reserves one byte more than the payload needs, so that the buffer of an empty payload is not NULL. */
    int status = ws_buffer_reserve(&payload->stored, (size_t)header->stored_size + 1);
    if (status)
        return status;
    int64_t got = ws_frame_source_read(source, place->offset + WS_FRAME_HEADER_SIZE, payload->stored.bytes,
                                       header->stored_size);
    if (got < 0)
        return (int)got;
    if (got != header->stored_size || ws_hash(payload->stored.bytes, header->stored_size) != header->payload_hash)
        return -EBADMSG;
    return ws_payload_take(payload, header, payload->stored.bytes);
}

struct ws_bytes_in ws_payload_footer(const struct ws_payload *payload)
{
    struct ws_bytes_in in = { .at = payload->bytes, .end = payload->bytes + payload->size };
    ws_bytes_take(&in, sizeof(uint32_t));
    return in;
}
