#include "wire/frame.h"

#include <errno.h>
#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "record/families.h"

enum { BYTE_ORDER_MARK = 0x01020304 }; /* stored little-endian: the file holds the bytes 04 03 02 01 */

/* The bytes of the file have the layout of these structures. The assertions check that they have no padding. */
struct file_bytes {
    char magic[16];
    uint16_t major, minor;
    uint32_t file_id;
    uint32_t byte_order;
    uint32_t reserved;
    char creator[24];
    uint64_t hash;
};
_Static_assert(sizeof(struct file_bytes) == WS_FILE_HEADER_SIZE, "as in FORMAT.md");

struct frame_bytes {
    char magic[4];
    uint16_t family;
    uint8_t major;
    uint8_t flags;
    uint32_t file_id;
    uint32_t sequence;
    uint64_t first_row;
    uint32_t rows;
    uint32_t stored_size;
    uint32_t raw_size;
    uint32_t reserved;
    int64_t host_first;
    int64_t host_last;
    uint64_t payload_hash;
    uint64_t hash;
};
_Static_assert(sizeof(struct frame_bytes) == WS_FRAME_HEADER_SIZE, "as in FORMAT.md");

struct trailer_bytes {
    char magic[8];
    uint32_t file_id;
    uint32_t reserved;
    uint64_t footer_offset;
    uint64_t hash;
};
_Static_assert(sizeof(struct trailer_bytes) == WS_TRAILER_SIZE, "as in FORMAT.md");

/* Each structure ends with the hash of all its earlier bytes. */
static uint64_t hash_before_end(const void *bytes, size_t size)
{
    return ws_hash(bytes, size - sizeof(uint64_t));
}

void ws_file_header_write(uint8_t bytes[WS_FILE_HEADER_SIZE], const struct ws_file_header *header)
{
    struct file_bytes file = {
        .major = header->major,
        .minor = header->minor,
        .file_id = header->file_id,
        .byte_order = BYTE_ORDER_MARK,
    };
    memcpy(file.magic, WS_FILE_MAGIC, sizeof(file.magic));
    memcpy(file.creator, header->creator, sizeof(file.creator));
    file.hash = hash_before_end(&file, sizeof(file));
    memcpy(bytes, &file, sizeof(file));
}

int ws_file_header_read(const uint8_t bytes[WS_FILE_HEADER_SIZE], struct ws_file_header *header)
{
    struct file_bytes file;
    memcpy(&file, bytes, sizeof(file));
    *header = (struct ws_file_header){ .major = file.major, .minor = file.minor, .file_id = file.file_id };
    memcpy(header->creator, file.creator, sizeof(file.creator));
    if (memcmp(file.magic, WS_FILE_MAGIC, sizeof(file.magic)))
        return -EINVAL;
    if (file.hash != hash_before_end(&file, sizeof(file)))
        return -EBADMSG;
    return file.major > WS_FORMAT_MAJOR || file.byte_order != BYTE_ORDER_MARK ? -EPROTO : 0;
}

void ws_frame_header_write(uint8_t bytes[WS_FRAME_HEADER_SIZE], const struct ws_frame_header *header)
{
    struct frame_bytes frame = {
        .family = header->family,
        .major = header->major,
        .flags = header->flags,
        .file_id = header->file_id,
        .sequence = header->sequence,
        .first_row = header->first_row,
        .rows = header->rows,
        .stored_size = header->stored_size,
        .raw_size = header->raw_size,
        .host_first = header->host_first,
        .host_last = header->host_last,
        .payload_hash = header->payload_hash,
    };
    memcpy(frame.magic, WS_FRAME_MAGIC, sizeof(frame.magic));
    frame.hash = hash_before_end(&frame, sizeof(frame));
    memcpy(bytes, &frame, sizeof(frame));
}

bool ws_frame_header_read(const uint8_t bytes[WS_FRAME_HEADER_SIZE], struct ws_frame_header *header)
{
    struct frame_bytes frame;
    memcpy(&frame, bytes, sizeof(frame));
    *header = (struct ws_frame_header){
        .family = frame.family,
        .major = frame.major,
        .flags = frame.flags,
        .file_id = frame.file_id,
        .sequence = frame.sequence,
        .first_row = frame.first_row,
        .rows = frame.rows,
        .stored_size = frame.stored_size,
        .raw_size = frame.raw_size,
        .host_first = frame.host_first,
        .host_last = frame.host_last,
        .payload_hash = frame.payload_hash,
    };
    return !memcmp(frame.magic, WS_FRAME_MAGIC, sizeof(frame.magic)) &&
           frame.hash == hash_before_end(&frame, sizeof(frame)) && frame.major <= WS_FORMAT_MAJOR &&
           frame.rows <= WS_FRAME_ROWS_MAX && frame.stored_size <= WS_FRAME_BYTES_MAX &&
           frame.raw_size <= WS_FRAME_BYTES_MAX && frame.first_row <= UINT64_MAX - frame.rows;
}

void ws_trailer_write(uint8_t bytes[WS_TRAILER_SIZE], uint32_t file_id, uint64_t footer_offset)
{
    struct trailer_bytes trailer = { .file_id = file_id, .footer_offset = footer_offset };
    memcpy(trailer.magic, WS_TRAILER_MAGIC, sizeof(trailer.magic));
    trailer.hash = hash_before_end(&trailer, sizeof(trailer));
    memcpy(bytes, &trailer, sizeof(trailer));
}

bool ws_trailer_read(const uint8_t bytes[WS_TRAILER_SIZE], uint32_t file_id, uint64_t *footer_offset)
{
    struct trailer_bytes trailer;
    memcpy(&trailer, bytes, sizeof(trailer));
    *footer_offset = trailer.footer_offset;
    return !memcmp(trailer.magic, WS_TRAILER_MAGIC, sizeof(trailer.magic)) && trailer.file_id == file_id &&
           trailer.hash == hash_before_end(&trailer, sizeof(trailer));
}
