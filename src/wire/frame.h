/* The outer layout of a trace file: a file header, then frames, then a trailer. FORMAT.md describes every byte. Only
 * this module converts file headers, frame headers and trailers to bytes and back. All numbers are little-endian. */
#ifndef WALLSHIM_WIRE_FRAME_H
#define WALLSHIM_WIRE_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    WS_FILE_HEADER_SIZE = 64,
    WS_FRAME_HEADER_SIZE = 72,
    WS_TRAILER_SIZE = 32,
    WS_FRAME_ROWS_MAX = 1 << 16,
    WS_FRAME_BYTES_MAX =
        32 << 20, /* maximum size of a payload, both as stored and decompressed; limits the memory of a reader */
    WS_FAMILY_FOOTER = 0xffff,
};

#define WS_FILE_MAGIC "wallshim trace\n" /* 16 bytes with the final 0 */
#define WS_FRAME_MAGIC "WSfr"
#define WS_TRAILER_MAGIC "WSendtrc"

enum ws_frame_flags {
    WS_FRAME_COMPRESSED = 1, /* the payload is stored in chunks; each may be compressed by zstd */
    WS_FRAME_REPEAT = 2,     /* the frame repeats dictionary rows that an earlier frame carried */
};

struct ws_file_header {
    uint16_t major, minor;
    uint32_t file_id;
    char creator[25];
};

struct ws_frame_header {
    /* Kind of the rows: enum ws_family, WS_FAMILY_FOOTER, or a number that this version does not know. */
    uint16_t family;
    uint8_t major;
    uint8_t flags;
    uint32_t file_id;   /* the file_id of the file header; a frame with another file_id belongs to another trace */
    uint32_t sequence;  /* number of the frame in the file: 0, 1, 2 … */
    uint64_t first_row; /* number of the first row; each family counts its rows from 0 */
    uint32_t rows;
    uint32_t stored_size; /* bytes of the payload as stored after this header */
    uint32_t raw_size;    /* bytes of the payload after decompression */
    int64_t host_first;   /* range of the rows' host times; host_first > host_last: the rows have no host times */
    int64_t host_last;
    uint64_t payload_hash; /* hash of the payload as stored in the file */
};

void ws_file_header_write(uint8_t bytes[WS_FILE_HEADER_SIZE], const struct ws_file_header *header);

/* Returns 0; -EINVAL: not a trace; -EBADMSG: a damaged header; -EPROTO: a newer major version or another byte order.
 * After -EPROTO, header->major and header->creator are filled in. */
int ws_file_header_read(const uint8_t bytes[WS_FILE_HEADER_SIZE], struct ws_file_header *header);

void ws_frame_header_write(uint8_t bytes[WS_FRAME_HEADER_SIZE], const struct ws_frame_header *header);

/* Returns whether the header is valid: magic, hash, version and all limits. */
bool ws_frame_header_read(const uint8_t bytes[WS_FRAME_HEADER_SIZE], struct ws_frame_header *header);

/* The trailer is the last WS_TRAILER_SIZE bytes of a finished trace. It holds the position of the footer frame.
 * ws_trailer_read returns whether the bytes are a valid trailer of the file with this file_id. */
void ws_trailer_write(uint8_t bytes[WS_TRAILER_SIZE], uint32_t file_id, uint64_t footer_offset);
bool ws_trailer_read(const uint8_t bytes[WS_TRAILER_SIZE], uint32_t file_id, uint64_t *footer_offset);

#endif
