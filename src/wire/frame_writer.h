/* Writes encoded columns as frames to a sink: compresses chunks, adds headers and hashes, builds the index. */
#ifndef WALLSHIM_WIRE_FRAME_WRITER_H
#define WALLSHIM_WIRE_FRAME_WRITER_H

#include "wire/encoder.h"
#include "wire/frame.h"
#include "wire/index.h"
#include "wire/pack.h"

/* The caller provides the memory of encoded.head, encoded.planes and frame, and sets options. */
struct ws_frame_writer {
    struct ws_encoder_options options;
    void *compression; /* context of the compressor; NULL: frames are not compressed */
    uint32_t file_id;
    uint32_t sequence;
    uint64_t bytes; /* number of bytes written to the sink so far */
    struct ws_encoded encoded;
    struct ws_bytes_out frame;
    /* For each family and byte plane (by its tag): number of further frames that store the plane uncompressed. */
    uint8_t hopeless[WS_FAMILY_COUNT][WS_CUT_TAGS];
    struct ws_index index;
};

/* Returns the maximum size of a frame with `head` bytes of head and `planes` bytes of byte planes (pack.h). */
size_t ws_frame_writer_bound(size_t head, size_t planes);

/* Makes the compressor, if the options have one. Call this function first. */
void ws_frame_writer_prepare(struct ws_frame_writer *writer);

/* Writes the file header. Returns 0 or -errno. */
int ws_frame_writer_start(struct ws_frame_writer *writer);

/* Empties encoded.head and encoded.planes for a new payload. */
void ws_frame_writer_begin(struct ws_frame_writer *writer);

/* Writes the payload as a frame. The caller sets family, flags, rows, first_row and host times. A frame whose write
 * failed uses up no sequence number. Returns 0 or -errno. */
int ws_frame_writer_put(struct ws_frame_writer *writer, struct ws_frame_header *header);

/* Writes the footer and the trailer. Returns 0 or -errno. */
int ws_frame_writer_finish(struct ws_frame_writer *writer);

#endif
