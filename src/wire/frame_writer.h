/* Encoded columns to frames in a sink: chunks, compression, header, hashes, the index of it all. */
#ifndef WALLSHIM_WIRE_FRAME_WRITER_H
#define WALLSHIM_WIRE_FRAME_WRITER_H

#include "wire/encoder.h"
#include "wire/frame.h"
#include "wire/index.h"
#include "wire/pack.h"

/* The caller gives the memory of encoded.head, encoded.planes and frame, and sets options. */
struct ws_frame_writer {
    struct ws_encoder_options options;
    void *compression; /* NULL: frames are stored as they are */
    uint32_t file_id;
    uint32_t sequence;
    uint64_t bytes; /* handed to the sink */
    struct ws_encoded encoded;
    struct ws_bytes_out frame;
    uint8_t hopeless[WS_FAMILY_COUNT][WS_CUT_TAGS]; /* frames still to pass before compression is tried again */
    struct ws_index index;
};

/* Bytes that a frame of head and planes may take. */
size_t ws_frame_writer_bound(size_t head, size_t planes);

/* Writes the file header. These return 0 or -errno; a frame that was not written has no number. */
int ws_frame_writer_start(struct ws_frame_writer *writer);

/* Empties head and planes for a new payload. */
void ws_frame_writer_begin(struct ws_frame_writer *writer);

/* Writes the payload as a frame; family, flags, rows, first_row and host times are the caller's. */
int ws_frame_writer_put(struct ws_frame_writer *writer, struct ws_frame_header *header);

/* Writes the footer and the trailer. */
int ws_frame_writer_finish(struct ws_frame_writer *writer);

#endif
