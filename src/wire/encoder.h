/* Rows in, frames out: the one way records become bytes, in the application, in the collector and in
 * tools that write traces.
 *
 * An encoder owns all its buffers from creation on; adding rows allocates nothing. It is not thread
 * safe: in the shim the drain thread owns it.
 */
#ifndef WALLSHIM_WIRE_ENCODER_H
#define WALLSHIM_WIRE_ENCODER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/record.h"

/* Where finished bytes go. Returns 0, or -errno: the encoder then counts the frame's rows as lost and
 * goes on (see ws_encoder_lost). */
typedef int (*ws_sink_write)(void *sink, const void *bytes, size_t size);

/* zstd, found by whoever may load it (the shim at run time, tools by linking). All NULL: frames are
 * stored as they are. Signatures are those of zstd.h. */
struct ws_compressor {
    size_t (*compress_bound)(size_t size);
    void *(*create)(void);
    size_t (*free)(void *context);
    size_t (*compress)(void *context, void *to, size_t capacity, const void *from, size_t size, int level);
    unsigned (*is_error)(size_t code);
};

struct ws_encoder_options {
    struct ws_compressor compressor;
    ws_sink_write write;
    void *sink;
    uint32_t rows_per_frame; /* 0: the default, 4096 */
    int level;               /* of compression; 0: the default, 1 */
};

struct ws_encoder;

/* Writes the file header at once. Returns 0 or -errno. */
int ws_encoder_create(struct ws_encoder **encoder, const struct ws_encoder_options *options);

/* row is the family's structure (struct ws_op for WS_FAMILY_op, …); texts are copied. Rows of a
 * dictionary family come out before any row added after them. Returns 0; -errno of the sink, which has
 * then refused a frame; -EMSGSIZE when the row's texts are longer than 1 MiB: it is lost. */
int ws_encoder_add(struct ws_encoder *encoder, enum ws_family family, const void *row);

/* Puts out every row still held, so that a reader sees all there is. Call it every 250 ms or so.
 * While the sink refuses dictionary rows it is given no others: these are counted as lost. */
int ws_encoder_flush(struct ws_encoder *encoder);

/* Flushes and writes the footer: dictionaries once more and the index of frames. */
int ws_encoder_finish(struct ws_encoder *encoder);

/* Rows of a family that no frame carries, because the sink refused them or they were too long.
 * Dictionary rows that the sink refused come off this count when it takes them later. */
uint64_t ws_encoder_lost(const struct ws_encoder *encoder, enum ws_family family);

/* Bytes handed to the sink so far. */
uint64_t ws_encoder_bytes(const struct ws_encoder *encoder);

/* Accepts NULL. Writes nothing. */
void ws_encoder_destroy(struct ws_encoder *encoder);

#endif
