/* Checks the bytes of a trace as a client sends them, and cuts them into units. A unit is the file header, a frame or
 * the trailer. A frame is a block of records. Passes a unit to the callback `take` only when the unit is complete and
 * its checksums are right. */
#ifndef WALLSHIM_COLLECTOR_STREAM_H
#define WALLSHIM_COLLECTOR_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stream;

/* How many bytes the buffers of all streams together take (`used`), and may take (`limit`). */
struct stream_memory {
    size_t used, limit;
    /* Called when memory is short: frees memory of other streams. Returns whether it has freed any. May be NULL. */
    bool (*reclaim)(void *data, const struct stream *asking);
    void *data;
};

/* The position in one trace, and the bytes that were received after this position. stream_finish frees the bytes but
 * keeps the position, so stream_add can continue there. */
struct stream {
    struct stream_memory *memory;
    uint8_t *bytes; /* received bytes of the trace that were not passed on yet */
    size_t size, capacity;
    uint64_t taken; /* number of bytes that were passed on: the offset of `bytes` in the trace */
    uint64_t frames;
    uint32_t file_id, next_sequence;
    uint64_t footer_offset;
    bool begun, has_footer, ended;
};

/* Gets a complete unit (file header, frame or trailer). Returns 0; or -errno if the unit shall stay in the stream. */
typedef int (*stream_take)(void *data, const uint8_t *unit, size_t size);

void stream_init(struct stream *stream, struct stream_memory *memory);

/* Frees the buffer, and drops the bytes in it. */
void stream_finish(struct stream *stream);

/* Adds bytes, and passes all complete units to `take`. Returns 0; -EBADMSG: the bytes are no trace; -ENOMEM; or an
 * error of `take`. After an error of `take`, stream_retry passes the same unit again. */
int stream_add(struct stream *stream, const uint8_t *bytes, size_t size, stream_take take, void *data);
int stream_retry(struct stream *stream, stream_take take, void *data);

#endif
