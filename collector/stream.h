/* The bytes of a trace, as a client sends them: checked, and cut into units that can be written. A unit is the file
 * header, a frame or the trailer. Nothing of a unit leaves here before its checksums are right. */
#ifndef WALLSHIM_COLLECTOR_STREAM_H
#define WALLSHIM_COLLECTOR_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stream;

/* The memory of all streams together. */
struct stream_memory {
    size_t used, limit;
    /* Called when memory is short: makes others give back what they do not need. Returns whether it is worth to try
     * again. NULL: nobody can. */
    bool (*reclaim)(void *data, const struct stream *asking);
    void *data;
};

/* After stream_finish it still says how far the trace has come, and can go on. */
struct stream {
    struct stream_memory *memory;
    uint8_t *bytes; /* units that are not taken yet, the last one perhaps not whole */
    size_t size, capacity;
    uint64_t taken; /* bytes of all units that were taken */
    uint64_t frames;
    uint32_t file_id, next_sequence;
    uint64_t footer_offset;
    bool begun, has_footer, ended;
};

/* Takes a whole unit. Returns 0, or -errno: the unit stays in the stream. */
typedef int (*stream_take)(void *data, const uint8_t *unit, size_t size);

void stream_init(struct stream *stream, struct stream_memory *memory);

/* Gives the memory back. Bytes of a unit that is not whole are forgotten. */
void stream_finish(struct stream *stream);

/* Adds bytes, and hands all units that are whole to `take`. Returns 0; -EBADMSG: the bytes are no trace; -ENOMEM; or
 * what `take` returned. After an error of `take`, stream_retry hands over the same unit again. */
int stream_add(struct stream *stream, const uint8_t *bytes, size_t size, stream_take take, void *data);
int stream_retry(struct stream *stream, stream_take take, void *data);

#endif
