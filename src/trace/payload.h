/* The bytes of one frame, checked and decompressed. */
#ifndef WALLSHIM_TRACE_PAYLOAD_H
#define WALLSHIM_TRACE_PAYLOAD_H

#include "base/bytes.h"
#include "trace/recover.h"

/* Memory that grows to what was asked for most. All zero is empty; free() its bytes. */
struct ws_buffer {
    uint8_t *bytes;
    size_t capacity;
};

/* Its old content may be gone. 0 or -ENOMEM. */
int ws_buffer_reserve(struct ws_buffer *buffer, size_t size);

/* All zero is ready for use. */
struct ws_payload {
    const uint8_t *bytes; /* of the frame last read: valid until the next */
    size_t size;
    struct ws_buffer stored, raw;
    void *decompression;
};

/* 0; -EBADMSG: the frame is damaged; -errno. */
int ws_payload_read(struct ws_payload *payload, const struct ws_frame_source *source,
                    const struct ws_frame_place *place);

/* Of a footer: what is behind the head's size. */
struct ws_bytes_in ws_payload_footer(const struct ws_payload *payload);

void ws_payload_finish(struct ws_payload *payload);

#endif
