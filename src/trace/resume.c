#include "trace/resume.h"

#include "trace/reader.h"
#include "trace/recover.h"
#include "wire/columns.h"
#include "wire/dictionary.h"
#include "wire/encoder.h"

static int know_frames(struct ws_encoder *encoder, int file, uint64_t size)
{
    struct ws_frame_source source = { .fd = file, .size = size, .any_file_id = true };
    struct ws_frame_place place;
    struct ws_file_header header;
    uint8_t bytes[WS_FILE_HEADER_SIZE];
    int found;
    if (ws_frame_source_read(&source, 0, bytes, sizeof(bytes)) == sizeof(bytes) &&
        !ws_file_header_read(bytes, &header))
        ws_encoder_has_header(encoder, header.file_id);
    uint64_t at = WS_FILE_HEADER_SIZE;
    while ((found = ws_frame_find(&source, at, &place)) > 0) {
        ws_encoder_has_frame(encoder, place.offset, &place.header);
        at = place.offset + WS_FRAME_HEADER_SIZE + place.header.stored_size;
    }
    return found;
}

int ws_encoder_know_trace(struct ws_encoder *encoder, int file, uint64_t size, const char *path)
{
    struct ws_reader *reader;
    struct ws_block block;
    char message[256];
    int status = know_frames(encoder, file, size);
    if (!status)
        status = ws_reader_open(&reader, path, message, sizeof(message));
    if (status)
        return status;
    while ((status = ws_reader_next(reader, &block)) > 0)
        for (uint32_t i = 0; i < block.count && (uint32_t)block.family < WS_FAMILY_FIRST_DATA; i++)
            ws_encoder_has_row(encoder, block.family,
                               (const char *)block.rows + (size_t)i * ws_layout(block.family)->row_size);
    ws_reader_close(reader);
    return status;
}
