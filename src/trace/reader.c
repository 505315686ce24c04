#include "trace/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/minmax.h"
#include "trace/payload.h"
#include "trace/recover.h"
#include "wire/columns.h"
#include "wire/dictionary.h"
#include "wire/index.h"

/* Limits against files made to exhaust memory or time. In real files a row takes two to five bytes, and one and a
 * half times as many bytes after decompression. The limits are much higher: rows_anyhow rows and raw_anyhow
 * decompressed bytes, plus ROWS_A_BYTE rows and RAW_A_BYTE decompressed bytes per byte of the file. Frames beyond a
 * limit count as lost. */
enum { ROWS_A_BYTE = 4, RAW_A_BYTE = 64 };
static const uint64_t rows_anyhow = 4 << 20, raw_anyhow = 64 << 20;

struct ws_reader {
    struct ws_frame_source source;
    /* Number of rows that may still be decoded, and of bytes that may still be decompressed. */
    uint64_t rows_left, raw_left;
    uint64_t at;
    uint32_t next_sequence;
    uint64_t next_row[WS_FAMILY_COUNT];
    struct ws_row_set seen[WS_FAMILY_FIRST_DATA]; /* dictionary rows returned so far */
    struct ws_damage damage;
    bool footer_seen, ended;
    struct ws_index index; /* index of the file's frames, read from the footer */
    /* A file holds copies of its dictionary frames. At the first damage, the reader finds all copies in the rest of
     * the file and reads them before it goes on with the other frames. The reader does this once per file. */
    bool rescuing, rescued;
    uint64_t rescue_at;
    /* The frame that was decoded last. Its rows from number current_row on are still to be returned. */
    struct ws_frame_header current;
    uint64_t current_row;
    struct ws_payload payload;
    struct ws_buffer rows, decoder_memory;
    bool wants_columns;
    struct ws_op_columns ops; /* operations of the current frame as columns, if the caller requested columns */
    struct ws_columns_decoder *decoder;
    uint32_t decoder_rows;
};

static int decoder_reserve(struct ws_reader *reader, uint32_t rows)
{
    if (reader->decoder && rows <= reader->decoder_rows)
        return 0;
    int status = ws_buffer_reserve(&reader->decoder_memory, ws_columns_decoder_size(rows));
    if (status)
        return status;
    reader->decoder = ws_columns_decoder_init(reader->decoder_memory.bytes, rows);
    reader->decoder_rows = rows;
    return 0;
}

/* ---- opening ---- */

static int refuse(char *message, size_t capacity, const char *path, int status, const char *why)
{
    if (capacity)
        snprintf(message, capacity, "%s: %s", path, why);
    return status;
}

/* Reads the file header. A damaged header is no error if the file has a valid frame. */
static int read_file_header(struct ws_reader *reader, const char *path, char *message, size_t capacity)
{
    uint8_t bytes[WS_FILE_HEADER_SIZE];
    struct ws_file_header header;
    struct ws_frame_place place;
    int64_t got = ws_frame_source_read(&reader->source, 0, bytes, sizeof(bytes));
    if (got < 0)
        return refuse(message, capacity, path, (int)got, strerror((int)-got));
    if (got < (int64_t)sizeof(bytes))
        return refuse(message, capacity, path, -EINVAL,
                      got && !memcmp(bytes, WS_FILE_MAGIC, got < 16 ? (size_t)got : 16)
                          ? "cut short within its header: nothing can be read"
                      : got ? "not a wallshim trace"
                            : "empty");
    reader->at = sizeof(bytes);
    int status = ws_file_header_read(bytes, &header);
    reader->source.file_id = header.file_id;
    if (!status)
        return 0;
    if (status == -EPROTO) {
        char why[128];
        snprintf(why, sizeof(why),
                 "written in format %u by \"%s\", newer than this wallshim reads (%u); update wallshim", header.major,
                 header.creator, WS_FORMAT_MAJOR);
        return refuse(message, capacity, path, -EPROTO, why);
    }
    reader->source.any_file_id = true;
    int found = ws_frame_find(&reader->source, sizeof(bytes), &place);
    if (found < 0)
        return refuse(message, capacity, path, found, strerror(-found));
    if (!found || (status == -EINVAL && place.skipped))
        return refuse(message, capacity, path, -EINVAL,
                      status == -EINVAL ? "not a wallshim trace" : "its header is damaged and no frame is left");
    reader->damage.lost_bytes = sizeof(bytes);
    return 0;
}

int ws_reader_open(struct ws_reader **result, const char *path, char *message, size_t capacity)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        int status = -errno;
        return refuse(message, capacity, path, status, strerror(-status));
    }
    struct ws_reader *reader = calloc(1, sizeof(*reader));
    int status = -ENOMEM;
    if (!reader) {
        refuse(message, capacity, path, status, "not enough memory to read it");
        goto fail;
    }
    struct stat file;
    if (fstat(fd, &file)) {
        status = -errno;
        refuse(message, capacity, path, status, strerror(errno));
        goto fail;
    }
    if (!S_ISREG(file.st_mode)) {
        status = refuse(message, capacity, path, S_ISDIR(file.st_mode) ? -EISDIR : -EINVAL,
                        S_ISDIR(file.st_mode) ? "a folder, not a trace" : "not a regular file");
        goto fail;
    }
    reader->source = (struct ws_frame_source){ .fd = fd, .size = (uint64_t)file.st_size };
    reader->rows_left = rows_anyhow + reader->source.size * ROWS_A_BYTE;
    reader->raw_left = raw_anyhow + reader->source.size * RAW_A_BYTE;
    status = read_file_header(reader, path, message, capacity);
    if (status)
        goto fail;
    *result = reader;
    return 0;

fail:
    free(reader);
    close(fd);
    return status;
}

void ws_reader_close(struct ws_reader *reader)
{
    if (!reader)
        return;
    for (size_t i = 0; i < WS_FAMILY_FIRST_DATA; i++)
        ws_row_set_finish(&reader->seen[i]);
    ws_payload_finish(&reader->payload);
    free(reader->rows.bytes);
    free(reader->decoder_memory.bytes);
    close(reader->source.fd);
    free(reader);
}

/* ---- one frame ---- */

/* Reads the payload of a frame. Returns 0, -EBADMSG or -errno. */
static int read_payload(struct ws_reader *reader, const struct ws_frame_place *place)
{
    const struct ws_frame_header *header = &place->header;
    if (header->rows > reader->rows_left || header->raw_size > reader->raw_left)
        return -EBADMSG;
    reader->rows_left -= header->rows;
    reader->raw_left -= header->raw_size;
    return ws_payload_read(&reader->payload, &reader->source, place);
}

/* Decodes operations into columns, one array per column. */
static int decode_op_columns(struct ws_reader *reader, const struct ws_layout *layout, uint32_t rows)
{
    struct ws_column_place places[WS_COLUMNS_MAX];
    const struct ws_payload *payload = &reader->payload;
    size_t room = (size_t)rows * sizeof(uint64_t), i = 0;
    int status = ws_buffer_reserve(&reader->rows, room * layout->column_count);
    if (status)
        return status;
    for (; i < layout->column_count; i++)
        places[i] = (struct ws_column_place){ reader->rows.bytes + i * room, layout->columns[i].width };
    i = 0;
    reader->ops.row_size = 0;
#define PLACE(type, name, coding) reader->ops.name = places[i++].at;
#define NO_TEXT(name)
    WS_COLUMNS_op(PLACE, NO_TEXT)
#undef NO_TEXT
#undef PLACE
        return ws_columns_decode_into(reader->decoder, layout, payload->bytes, payload->size, rows, places);
}

/* Decodes the payload that was read. Its frame becomes the current frame. Returns 0, -EBADMSG or -errno. */
static int decode_rows(struct ws_reader *reader, const struct ws_frame_header *header)
{
    const struct ws_layout *layout = ws_layout(header->family);
    const struct ws_payload *payload = &reader->payload;
    int status = decoder_reserve(reader, header->rows);
    if (!status && header->family == WS_FAMILY_op && reader->wants_columns) {
        status = decode_op_columns(reader, layout, header->rows);
    } else if (!status) {
        status = ws_buffer_reserve(&reader->rows, (size_t)header->rows * layout->row_size);
        if (!status)
            status = ws_columns_decode(reader->decoder, layout, payload->bytes, payload->size, header->rows,
                                       reader->rows.bytes);
    }
    if (status)
        return status;
    reader->current = *header;
    reader->current_row = header->first_row;
    return 0;
}

/* Stores in *block the next rows of the current frame that were not returned before. Returns false if none are
 * left. */
static bool take_rows(struct ws_reader *reader, struct ws_block *block)
{
    const struct ws_frame_header *header = &reader->current;
    uint64_t end = header->first_row + header->rows, first = reader->current_row, count = end - first;
    if (first >= end)
        return false;
    if (header->family < WS_FAMILY_FIRST_DATA) {
        struct ws_row_set *seen = &reader->seen[header->family];
        if (!ws_row_set_missing(seen, &first, end, &count) || ws_row_set_add(seen, first, first + count)) {
            reader->current_row = end;
            return false;
        }
    }
    reader->current_row = first + count;
    *block = (struct ws_block){ .family = (enum ws_family)header->family, .count = (uint32_t)count };
    /* No frame repeats operations, so the reader returns each frame of operations whole. */
    if (header->family == WS_FAMILY_op && reader->wants_columns)
        block->ops = &reader->ops;
    else
        block->rows = reader->rows.bytes + (first - header->first_row) * ws_layout(header->family)->row_size;
    return true;
}

static bool has_new_rows(const struct ws_reader *reader, const struct ws_frame_header *header)
{
    uint64_t first = header->first_row, count;
    return header->rows &&
           (header->family >= WS_FAMILY_FIRST_DATA ||
            ws_row_set_missing(&reader->seen[header->family], &first, header->first_row + header->rows, &count));
}

static bool fits_file(const struct ws_reader *reader, const struct ws_frame_place *place)
{
    return place->header.stored_size <= reader->source.size - WS_FRAME_HEADER_SIZE - place->offset;
}

static uint64_t frame_end(const struct ws_frame_place *place)
{
    return place->offset + WS_FRAME_HEADER_SIZE + place->header.stored_size;
}

/* ---- damage ---- */

static void start_rescue(struct ws_reader *reader, uint64_t from)
{
    if (reader->rescued)
        return;
    reader->rescuing = reader->rescued = true;
    reader->rescue_at = from;
}

/* Finds the next copy of a dictionary frame that has rows not returned yet, and decodes it. Returns 1 if it found a
 * frame, 0 if not, or -errno. */
static int rescue_next(struct ws_reader *reader)
{
    struct ws_frame_place place;
    int found;
    while ((found = ws_frame_find(&reader->source, reader->rescue_at, &place)) > 0 && fits_file(reader, &place)) {
        reader->rescue_at = frame_end(&place);
        if (!(place.header.flags & WS_FRAME_REPEAT) || place.header.family >= WS_FAMILY_FIRST_DATA ||
            !has_new_rows(reader, &place.header))
            continue;
        int status = read_payload(reader, &place);
        if (!status)
            status = decode_rows(reader, &place.header);
        if (status != -EBADMSG)
            return status ? status : 1;
    }
    return found < 0 ? found : 0;
}

/* Counts the dictionary rows that were written but not read. The footer and the row numbers of later frames tell how
 * many were written. */
static void count_lost_rows(struct ws_reader *reader)
{
    for (uint32_t i = 0; i < WS_FAMILY_FIRST_DATA; i++) {
        uint64_t seen = ws_row_set_size(&reader->seen[i]);
        reader->damage.lost_rows[i] = reader->next_row[i] > seen ? reader->next_row[i] - seen : 0;
    }
}

/* Classifies the bytes after the last frame: a valid trailer, a frame or trailer cut short, or damage. */
static int end_file(struct ws_reader *reader)
{
    uint8_t bytes[WS_FRAME_HEADER_SIZE] = { 0 };
    uint64_t footer, left = reader->source.size - reader->at;
    int64_t got = ws_frame_source_read(&reader->source, reader->at, bytes, sizeof(bytes));
    if (got < 0)
        return (int)got;
    const char *magic = reader->footer_seen ? WS_TRAILER_MAGIC : WS_FRAME_MAGIC;
    size_t magic_size = strlen(magic), whole = reader->footer_seen ? WS_TRAILER_SIZE : WS_FRAME_HEADER_SIZE;
    if (reader->footer_seen && left == WS_TRAILER_SIZE && ws_trailer_read(bytes, reader->source.file_id, &footer))
        ; /* the file is complete */
    else if (left < whole && !memcmp(bytes, magic, ws_min(left, magic_size)))
        reader->damage.torn_bytes += left;
    else
        reader->damage.lost_bytes += left;
    reader->at = reader->source.size;
    reader->damage.no_footer = !reader->footer_seen;
    reader->ended = true;
    count_lost_rows(reader);
    return 0;
}

/* Reads the footer. If the footer counts more rows than the frames before it held, the missing rows count as lost. */
static int read_footer(struct ws_reader *reader)
{
    struct ws_bytes_in in = ws_payload_footer(&reader->payload);
    ws_index_read(&reader->index, &in);
    if (in.failed)
        return -EBADMSG;
    for (uint32_t i = 0; i < WS_FAMILY_COUNT; i++) {
        uint64_t rows = reader->index.rows[i];
        if (rows <= reader->next_row[i])
            continue;
        reader->damage.lost_rows[i] += rows - reader->next_row[i];
        reader->next_row[i] = rows;
    }
    reader->footer_seen = true;
    return 0;
}

/* ---- the file in order ---- */

/* Counts the frames that are missing before the frame at `place`. */
static void reader_note_gap(struct ws_reader *reader, const struct ws_frame_place *place)
{
    const struct ws_frame_header *header = &place->header;
    uint32_t missing = header->sequence - reader->next_sequence;
    reader->damage.lost_bytes += place->skipped;
    reader->damage.lost_frames += missing;
    reader->next_sequence = header->sequence + 1;
    if (missing || place->skipped)
        start_rescue(reader, place->offset);
}

/* Counts the rows that are missing before the first row of this frame. Returns false if the frame is invalid: it
 * repeats row numbers of earlier frames, but is not a dictionary frame. */
static bool note_rows(struct ws_reader *reader, const struct ws_frame_header *header)
{
    if (header->family >= WS_FAMILY_COUNT)
        return true;
    uint64_t *next_row = &reader->next_row[header->family];
    if (header->first_row < *next_row && header->family >= WS_FAMILY_FIRST_DATA)
        return false;
    if (header->first_row > *next_row)
        reader->damage.lost_rows[header->family] += header->first_row - *next_row;
    if (header->first_row + header->rows > *next_row)
        *next_row = header->first_row + header->rows;
    return true;
}

/* Reads the frame at `place`. If it has rows that were not returned before, it becomes the current frame. */
static int take_frame(struct ws_reader *reader, const struct ws_frame_place *place)
{
    const struct ws_frame_header *header = &place->header;
    if (!note_rows(reader, header)) {
        reader->damage.lost_frames++;
        return 0;
    }
    int status = read_payload(reader, place);
    if (!status && header->family == WS_FAMILY_FOOTER)
        status = read_footer(reader);
    else if (!status && header->family < WS_FAMILY_COUNT && has_new_rows(reader, header))
        status = decode_rows(reader, header);
    if (status != -EBADMSG)
        return status;
    reader->damage.lost_frames++;
    if (header->family >= WS_FAMILY_FIRST_DATA && header->family < WS_FAMILY_COUNT)
        reader->damage.lost_rows[header->family] += header->rows;
    start_rescue(reader, frame_end(place));
    return 0;
}

/* Reads the next frame of the file, or handles the end of the file. Returns 0 or -errno. */
static int advance(struct ws_reader *reader)
{
    struct ws_frame_place place;
    int found = reader->footer_seen ? 0 : ws_frame_find(&reader->source, reader->at, &place);
    if (found < 0)
        return found;
    if (!found)
        return end_file(reader);
    if (place.header.sequence < reader->next_sequence) {
        /* Skip the frame: it has an earlier sequence number, so it is in a wrong place. */
        reader->damage.lost_bytes += frame_end(&place) - reader->at;
        reader->at = frame_end(&place);
        return 0;
    }
    if (!fits_file(reader, &place)) {
        reader->damage.lost_bytes += place.skipped;
        reader->damage.torn_bytes += reader->source.size - place.offset;
        reader->at = reader->source.size;
        return end_file(reader);
    }
    bool was_rescued = reader->rescued;
    reader_note_gap(reader, &place);
    if (!was_rescued && reader->rescued) {
        /* Read the lost dictionary rows first, because this frame may need them. Then read this frame again. */
        reader->next_sequence = place.header.sequence;
        reader->at = place.offset;
        return 0;
    }
    reader->at = frame_end(&place);
    return take_frame(reader, &place);
}

void ws_reader_want_columns(struct ws_reader *reader)
{
    reader->wants_columns = true;
}

int ws_reader_next(struct ws_reader *reader, struct ws_block *block)
{
    for (;;) {
        if (take_rows(reader, block))
            return 1;
        int status = 0;
        if (reader->rescuing) {
            status = rescue_next(reader);
            reader->rescuing = status > 0;
        } else if (reader->ended) {
            return 0;
        } else {
            status = advance(reader);
        }
        if (status < 0)
            return status;
    }
}

const struct ws_frame_source *ws_reader_source(const struct ws_reader *reader)
{
    return &reader->source;
}

const struct ws_damage *ws_reader_damage(const struct ws_reader *reader)
{
    return &reader->damage;
}

bool ws_damage_any(const struct ws_damage *damage)
{
    bool any = damage->lost_frames || damage->lost_bytes || damage->torn_bytes || damage->no_footer;
    for (uint32_t i = 0; i < WS_FAMILY_COUNT; i++)
        any |= damage->lost_rows[i] != 0;
    return any;
}

void ws_reader_position(const struct ws_reader *reader, uint64_t *done, uint64_t *total)
{
    *done = reader->at;
    *total = reader->source.size;
}
