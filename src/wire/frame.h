/* The outer layout of a trace: one file header, then frames, then a trailer. FORMAT.md says what each
 * byte is; this is the only code that knows. All numbers are little-endian. */
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
    WS_FRAME_BYTES_MAX = 32 << 20, /* of a payload, stored or decompressed: a reader's limit on memory */
    WS_FAMILY_FOOTER = 0xffff,
};

#define WS_FILE_MAGIC "wallshim trace\n" /* with its final 0 byte: 16 bytes */
#define WS_FRAME_MAGIC "WSfr"
#define WS_TRAILER_MAGIC "WSendtrc"

enum ws_frame_flags {
    WS_FRAME_COMPRESSED = 1, /* the payload is one zstd frame */
    WS_FRAME_REPEAT = 2,     /* dictionary rows that an earlier frame has carried */
};

struct ws_file_header {
    uint16_t major, minor;
    uint32_t file_id;
    char creator[25];
};

struct ws_frame_header {
    uint16_t family; /* enum ws_family, WS_FAMILY_FOOTER, or one this version does not know */
    uint8_t major;
    uint8_t flags;
    uint32_t file_id;   /* of the file header: frames of another trace are not ours */
    uint32_t sequence;  /* 0, 1, 2 … over all frames of the file */
    uint64_t first_row; /* number of the first row within its family */
    uint32_t rows;
    uint32_t stored_size; /* bytes of payload that follow */
    uint32_t raw_size;    /* bytes of payload once decompressed */
    int64_t host_first;   /* range of host times in it; first > last: none */
    int64_t host_last;
    uint64_t payload_hash; /* of the bytes as stored */
};

void ws_file_header_write(uint8_t bytes[WS_FILE_HEADER_SIZE], const struct ws_file_header *header);

/* 0; -EINVAL not a trace; -EBADMSG a trace whose header is damaged; -EPROTO a newer major version
 * (header->major and creator are filled then, too). */
int ws_file_header_read(const uint8_t bytes[WS_FILE_HEADER_SIZE], struct ws_file_header *header);

void ws_frame_header_write(uint8_t bytes[WS_FRAME_HEADER_SIZE], const struct ws_frame_header *header);

/* False unless magic, hash, version and every limit hold. */
bool ws_frame_header_read(const uint8_t bytes[WS_FRAME_HEADER_SIZE], struct ws_frame_header *header);

/* The last bytes of a finished trace: where its footer frame starts. */
void ws_trailer_write(uint8_t bytes[WS_TRAILER_SIZE], uint32_t file_id, uint64_t footer_offset);
bool ws_trailer_read(const uint8_t bytes[WS_TRAILER_SIZE], uint32_t file_id, uint64_t *footer_offset);

#endif
