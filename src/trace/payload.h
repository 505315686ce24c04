/* Reads the payload of a frame (the bytes after the frame's header), checks it and decompresses it. */
#ifndef WALLSHIM_TRACE_PAYLOAD_H
#define WALLSHIM_TRACE_PAYLOAD_H

#include "base/bytes.h"
#include "trace/recover.h"

/* Memory that grows to the largest size requested. A buffer filled with zeros is empty. Its owner frees `bytes` with
 * free(). */
struct ws_buffer {
    uint8_t *bytes;
    size_t capacity;
};

/* Makes room for `size` bytes. The old contents may be lost. Returns 0 or -ENOMEM. */
int ws_buffer_reserve(struct ws_buffer *buffer, size_t size);

/* The payload of one frame, and the memory to read it. A structure filled with zeros is ready for use. */
struct ws_payload {
    const uint8_t *bytes; /* payload of the last frame read; valid until the next read */
    size_t size;
    struct ws_buffer stored, raw;
    void *decompression;
};

/* Reads, checks and decompresses a payload. Returns 0, -EBADMSG if the frame is damaged, or another -errno. */
int ws_payload_read(struct ws_payload *payload, const struct ws_frame_source *source,
                    const struct ws_frame_place *place);

/* Decompresses a payload that is in memory: header->stored_size bytes at `stored`. The caller has checked their hash.
 * `stored` must stay valid while the payload is used. Returns 0, -EBADMSG or -ENOMEM. */
int ws_payload_take(struct ws_payload *payload, const struct ws_frame_header *header, const uint8_t *stored);

/* Returns the bytes of the footer from the payload of a footer frame: all bytes after the uint32_t at its start. */
struct ws_bytes_in ws_payload_footer(const struct ws_payload *payload);

void ws_payload_finish(struct ws_payload *payload);

#endif
