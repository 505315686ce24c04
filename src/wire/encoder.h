/* Turns rows into frames. The shim and the tools write all traces with this encoder.
 *
 * An encoder does not use malloc. At creation it reserves the address space of its buffers. It makes the memory
 * usable as the buffers fill. It is not thread safe: in the shim only the drain thread, which empties the rings, uses
 * it. */
#ifndef WALLSHIM_WIRE_ENCODER_H
#define WALLSHIM_WIRE_ENCODER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/record.h"

/* A function that takes the encoded bytes, for example writes them to a file. Returns 0 or -errno. After an error the
 * encoder counts the frame's rows as lost and continues (see ws_encoder_lost). */
typedef int (*ws_sink_write)(void *sink, const void *bytes, size_t size);

/* The functions of zstd, with the signatures of zstd.h. All NULL: frames are not compressed. */
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
    uint32_t rows_per_frame; /* maximum number of rows in a frame; 0: the default, 4096 */
    int level;               /* compression level; 0: the default, 1 */
};

struct ws_encoder;

/* Creates an encoder and writes the file header. Returns 0 or -errno. */
int ws_encoder_create(struct ws_encoder **encoder, const struct ws_encoder_options *options);

struct ws_frame_header;

/* Creates an encoder that appends to a trace without a footer. Before adding rows, the caller describes the trace
 * with the functions below: the file_id of its header, all its frames in order, and each dictionary row once. Returns
 * 0 or -errno. */
int ws_encoder_resume(struct ws_encoder **encoder, const struct ws_encoder_options *options);
void ws_encoder_has_header(struct ws_encoder *encoder, uint32_t file_id);
void ws_encoder_has_frame(struct ws_encoder *encoder, uint64_t offset, const struct ws_frame_header *header);
void ws_encoder_has_row(struct ws_encoder *encoder, enum ws_family family, const void *row);

/* Adds a row of the family's structure (struct ws_op for WS_FAMILY_op, …); texts are copied. The encoder writes a
 * dictionary row before all rows that are added after it. Returns 0; the sink's -errno if the sink refused a frame;
 * -ENOMEM; -EMSGSIZE if the row's texts exceed 1 MiB. With -EMSGSIZE the row is lost. After another error, this row
 * or earlier rows are lost: ws_encoder_lost counts them. */
int ws_encoder_add(struct ws_encoder *encoder, enum ws_family family, const void *row);

/* Writes all rows that wait for their frame, so that readers see them. Call it about every 250 ms. While the sink
 * refuses dictionary rows, all other rows are counted as lost, because they may refer to the missing dictionary
 * rows. */
int ws_encoder_flush(struct ws_encoder *encoder);

/* Flushes, then writes all dictionaries again, the footer with the index of frames, and the trailer. */
int ws_encoder_finish(struct ws_encoder *encoder);

/* Returns the number of the family's rows that are in no frame, because the sink refused them, they were too long or
 * memory ran out. A dictionary row no longer counts once a later copy of the dictionary contains it. */
uint64_t ws_encoder_lost(const struct ws_encoder *encoder, enum ws_family family);

/* Returns the number of frames in the trace. */
uint32_t ws_encoder_frames(const struct ws_encoder *encoder);

/* Returns the file_id of the trace (wire/frame.h). */
uint32_t ws_encoder_file_id(const struct ws_encoder *encoder);

/* Returns the number of bytes given to the sink so far. */
uint64_t ws_encoder_bytes(const struct ws_encoder *encoder);

/* Frees the encoder. Writes nothing. Accepts NULL. */
void ws_encoder_destroy(struct ws_encoder *encoder);

#endif
