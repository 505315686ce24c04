#include "wire/encoder.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "base/minmax.h"
#include "base/reserve.h"
#include "wire/columns.h"
#include "wire/dictionary.h"
#include "wire/frame_writer.h"

enum {
    DEFAULT_ROWS = 4096,
    DEFAULT_LEVEL = 1,
    TEXT_BYTES = 1 << 20, /* maximum size of all texts in a frame, and therefore of the texts of one row */
    SHAPES_MAX = 1 << 16,
    /* Dictionaries are written again after the file grew by 32 times their size, so copies are 3 % of the file. */
    REPEAT_FACTOR = 32,
};

/* Rows of one family (kind of record) that are not written as a frame yet. */
struct pending {
    struct ws_growing rows;
    uint32_t count;
    struct ws_growing texts; /* texts.limit is 0 if the family has no texts */
    uint32_t text_size;
    uint64_t first_row; /* number of the first pending row; each family counts its rows from 0 */
};

struct ws_encoder {
    size_t mapping_size; /* bytes of memory that this structure and `columns` take together */
    struct ws_frame_writer writer;
    struct ws_growing head, planes, frame; /* memory that the frame writer uses */
    struct pending pending[WS_FAMILY_COUNT];
    struct ws_dictionary dictionaries[WS_FAMILY_FIRST_DATA];
    bool dictionaries_changed; /* whether a row was added after all dictionaries were last written */
    /* Bytes that the last copy of all dictionaries and the dictionary frames after this copy take in the file. */
    uint64_t dictionaries_bytes;
    uint64_t repeated_at;      /* value of writer.bytes when all dictionaries were last written */
    bool dictionaries_missing; /* the sink refused dictionary rows that no later frame holds */
    uint64_t lost[WS_FAMILY_COUNT];
    uint64_t refused[WS_FAMILY_FIRST_DATA]; /* number of rows that were too long for a frame, or lost for lack of
                                               memory; also counted in `lost` */
    struct ws_map stream_of_shape;          /* stream of each launch shape; columns coded as STREAM_GAP need it */
    struct ws_columns_encoder *columns;
};

static bool is_dictionary(uint32_t family)
{
    return family < WS_FAMILY_FIRST_DATA;
}

static bool has_text(const struct ws_layout *layout)
{
    for (uint32_t i = 0; i < layout->column_count; i++)
        if (layout->columns[i].coding == WS_CODING_TEXT)
            return true;
    return false;
}

static struct ws_bytes_out encoder_bytes_of(const struct ws_growing *growing)
{
    return (struct ws_bytes_out){ .data = (uint8_t *)growing->data, .capacity = growing->ready };
}

/* Reserves memory for a frame whose head and planes take at most `bound` bytes each. */
static bool room_for_frame(struct ws_encoder *encoder, size_t bound)
{
    bool room = ws_growing_to(&encoder->head, bound) && ws_growing_to(&encoder->planes, bound) &&
                ws_growing_to(&encoder->frame, ws_frame_writer_bound(bound, bound));
    encoder->writer.encoded.head = encoder_bytes_of(&encoder->head);
    encoder->writer.encoded.planes = encoder_bytes_of(&encoder->planes);
    encoder->writer.frame = encoder_bytes_of(&encoder->frame);
    return room;
}

static bool room_for_rows(struct pending *pending, uint32_t rows, size_t row_size, size_t texts)
{
    return ws_growing_to(&pending->rows, rows * row_size) &&
           (!pending->texts.limit || ws_growing_to(&pending->texts, texts));
}

/* Buffers grow as they fill, because most programs fill only a few of them. Each buffer starts with WS_GROWING_STEP
 * bytes of memory. If memory runs out later, the encoder can still write rows in smaller frames. Returns false if
 * there is no memory for these first bytes. */
static bool make_buffers(struct ws_encoder *encoder, uint32_t rows_per_frame)
{
    size_t most = WS_INDEX_BYTES, at_first = WS_INDEX_BYTES;
    bool made = true;
    for (uint32_t i = 0; i < WS_FAMILY_COUNT; i++) {
        const struct ws_layout *layout = ws_layout(i);
        size_t texts = has_text(layout) ? TEXT_BYTES : 0;
        size_t bound = ws_columns_bound(layout, rows_per_frame, texts);
        encoder->pending[i].rows.limit = (size_t)rows_per_frame * layout->row_size;
        encoder->pending[i].texts.limit = texts;
        most = ws_max(bound, most);
        made = made && room_for_rows(&encoder->pending[i], 1, layout->row_size, 1);
        bound = ws_columns_bound(layout, WS_GROWING_STEP / layout->row_size, texts ? WS_GROWING_STEP : 0);
        at_first = ws_max(bound, at_first);
    }
    encoder->head.limit = encoder->planes.limit = most;
    encoder->frame.limit = ws_frame_writer_bound(most, most);
    return made && room_for_frame(encoder, ws_min(at_first, most));
}

static int encoder_make(struct ws_encoder **result, const struct ws_encoder_options *given)
{
    struct ws_encoder_options options = *given;
    if (!options.rows_per_frame)
        options.rows_per_frame = DEFAULT_ROWS;
    if (!options.level)
        options.level = DEFAULT_LEVEL;
    if (options.rows_per_frame > WS_FRAME_ROWS_MAX)
        return -EINVAL;

    size_t own = (sizeof(struct ws_encoder) + 63) & ~(size_t)63;
    size_t size = own + ws_columns_encoder_size(options.rows_per_frame);
    struct ws_encoder *encoder = ws_reserve(size);
    if (!encoder)
        return -ENOMEM;
    encoder->mapping_size = size;
    encoder->columns = ws_columns_encoder_init((char *)encoder + own, options.rows_per_frame);
    encoder->writer.options = options;
    encoder->stream_of_shape.limit = SHAPES_MAX;
    for (uint32_t i = 0; i < WS_FAMILY_FIRST_DATA; i++)
        encoder->dictionaries[i].layout = ws_layout(i);
    if (!make_buffers(encoder, options.rows_per_frame)) {
        ws_encoder_destroy(encoder);
        return -ENOMEM;
    }
    ws_frame_writer_prepare(&encoder->writer);
    *result = encoder;
    return 0;
}

int ws_encoder_create(struct ws_encoder **result, const struct ws_encoder_options *options)
{
    struct ws_encoder *encoder;
    int status = encoder_make(&encoder, options);
    if (status)
        return status;
    status = ws_frame_writer_start(&encoder->writer);
    if (status)
        ws_encoder_destroy(encoder);
    else
        *result = encoder;
    return status;
}

int ws_encoder_resume(struct ws_encoder **result, const struct ws_encoder_options *options)
{
    return encoder_make(result, options);
}

void ws_encoder_has_header(struct ws_encoder *encoder, uint32_t file_id)
{
    encoder->writer.file_id = file_id;
    encoder->writer.bytes = WS_FILE_HEADER_SIZE;
}

void ws_encoder_has_frame(struct ws_encoder *encoder, uint64_t offset, const struct ws_frame_header *header)
{
    struct ws_frame_writer *writer = &encoder->writer;
    writer->file_id = header->file_id;
    writer->sequence = header->sequence + 1;
    writer->bytes = offset + WS_FRAME_HEADER_SIZE + header->stored_size;
    ws_index_add(&writer->index, offset, header->host_first, header->host_last);
    if (header->family < WS_FAMILY_COUNT && !(header->flags & WS_FRAME_REPEAT))
        encoder->pending[header->family].first_row = header->first_row + header->rows;
}

/* Writes `count` rows as one frame. texts: an upper bound of the bytes in all texts of these rows. */
static int put_rows(struct ws_encoder *encoder, uint32_t family, const void *rows, uint32_t count, size_t texts,
                    uint64_t first_row, uint8_t flags)
{
    const struct ws_layout *layout = ws_layout(family);
    struct ws_frame_header header = {
        .family = (uint16_t)family, .flags = flags, .first_row = first_row, .rows = count
    };
    if (!room_for_frame(encoder, ws_columns_bound(layout, count, texts)))
        return -ENOMEM;
    ws_frame_writer_begin(&encoder->writer);
    ws_columns_encode(encoder->columns, layout, rows, count, &encoder->stream_of_shape, &encoder->writer.encoded);
    ws_columns_host_range(layout, rows, count, &header.host_first, &header.host_last);
    return ws_frame_writer_put(&encoder->writer, &header);
}

/* Counts the family's pending rows as lost. Returns `status`, the reason. */
static int drop_pending(struct ws_encoder *encoder, uint32_t family, int status)
{
    struct pending *pending = &encoder->pending[family];
    encoder->lost[family] += pending->count;
    /* The numbers of lost dictionary rows are not used again, because a later copy of the dictionary may still hold
     * these rows. */
    if (is_dictionary(family))
        pending->first_row += pending->count;
    pending->count = 0;
    pending->text_size = 0;
    return status;
}

static int flush_family(struct ws_encoder *encoder, uint32_t family)
{
    struct pending *pending = &encoder->pending[family];
    if (!pending->count)
        return 0;
    int status =
        put_rows(encoder, family, pending->rows.data, pending->count, pending->text_size, pending->first_row, 0);
    if (status)
        return drop_pending(encoder, family, status);
    pending->first_row += pending->count;
    pending->count = 0;
    pending->text_size = 0;
    return 0;
}

static int flush_dictionaries(struct ws_encoder *encoder)
{
    int status = 0;
    uint64_t before = encoder->writer.bytes;
    for (uint32_t i = 0; i < WS_FAMILY_FIRST_DATA; i++) {
        int result = flush_family(encoder, i);
        status = status ? status : result;
    }
    encoder->dictionaries_bytes += encoder->writer.bytes - before;
    encoder->dictionaries_missing |= status != 0;
    return status;
}

/* Writes all dictionaries again. A reader that lost a dictionary frame finds its rows in the copies. */
static int repeat_dictionaries(struct ws_encoder *encoder)
{
    int status = 0;
    uint64_t before = encoder->writer.bytes;
    for (uint32_t i = 0; i < WS_FAMILY_FIRST_DATA && !status; i++) {
        struct pending *buffer = &encoder->pending[i]; /* may be overwritten: its rows were just flushed */
        const struct ws_dictionary *dictionary = &encoder->dictionaries[i];
        uint32_t rows = encoder->writer.options.rows_per_frame;
        rows = ws_min(dictionary->count, rows);
        size_t texts = ws_min(dictionary->texts_size, TEXT_BYTES);
        while (rows > 1 && !room_for_rows(buffer, rows, ws_layout(i)->row_size, texts))
            rows /= 2;
        if (rows && !room_for_rows(buffer, rows, ws_layout(i)->row_size, texts))
            status = -ENOMEM;
        for (uint32_t next = 0; next < dictionary->count && !status;) {
            uint32_t count =
                ws_dictionary_copy(dictionary, next, rows, TEXT_BYTES, buffer->rows.data, buffer->texts.data);
            status = put_rows(encoder, i, buffer->rows.data, count, texts, next, WS_FRAME_REPEAT);
            next += count;
        }
    }
    encoder->repeated_at = encoder->writer.bytes;
    if (status)
        return status;
    encoder->dictionaries_changed = encoder->dictionaries_missing = false;
    encoder->dictionaries_bytes = encoder->writer.bytes - before;
    for (uint32_t i = 0; i < WS_FAMILY_FIRST_DATA; i++)
        if (!encoder->dictionaries[i].not_kept)
            encoder->lost[i] = encoder->refused[i];
    return 0;
}

/* Writes the family's pending rows, after the dictionary rows that they may refer to. Drops the pending rows while
 * the sink refuses dictionary rows. */
static int flush_data(struct ws_encoder *encoder, uint32_t family)
{
    flush_dictionaries(encoder);
    int status = encoder->dictionaries_missing ? repeat_dictionaries(encoder) : 0;
    if (status)
        return drop_pending(encoder, family, status);
    status = flush_family(encoder, family);
    if (!status && encoder->dictionaries_changed &&
        encoder->writer.bytes - encoder->repeated_at > REPEAT_FACTOR * encoder->dictionaries_bytes)
        status = repeat_dictionaries(encoder);
    return status;
}

static int flush_of(struct ws_encoder *encoder, uint32_t family)
{
    return is_dictionary(family) ? flush_dictionaries(encoder) : flush_data(encoder, family);
}

/* Keeps a copy of a dictionary row, so that it can be written again. If the row describes a launch shape, also stores
 * the shape's stream, because columns coded as STREAM_GAP need it. */
static void encoder_keep(struct ws_encoder *encoder, uint32_t family, const void *row)
{
    ws_dictionary_add(&encoder->dictionaries[family], row);
    encoder->dictionaries_changed = true;
    if (family != WS_FAMILY_shape)
        return;
    const struct ws_shape *shape = row;
    uint64_t *stream = ws_map_put(&encoder->stream_of_shape, shape->id);
    if (stream)
        *stream = shape->stream;
}

void ws_encoder_has_row(struct ws_encoder *encoder, enum ws_family family, const void *row)
{
    if (is_dictionary(family))
        encoder_keep(encoder, family, row);
}

int ws_encoder_add(struct ws_encoder *encoder, enum ws_family family, const void *row)
{
    if ((uint32_t)family >= WS_FAMILY_COUNT)
        return -EINVAL;
    const struct ws_layout *layout = ws_layout(family);
    struct pending *pending = &encoder->pending[family];
    size_t text_size = pending->texts.limit ? ws_texts_size(layout, row) : 0;
    int status = text_size > TEXT_BYTES ? -EMSGSIZE : 0;
    if (!status && !room_for_rows(pending, pending->count + 1, layout->row_size, pending->text_size + text_size))
        status = flush_of(encoder, family);
    if (text_size > TEXT_BYTES ||
        !room_for_rows(pending, pending->count + 1, layout->row_size, pending->text_size + text_size)) {
        encoder->lost[family]++;
        if (is_dictionary(family))
            encoder->refused[family]++;
        return status ? status : -ENOMEM;
    }
    char *place = pending->rows.data + (size_t)pending->count * layout->row_size;
    memcpy(place, row, layout->row_size);
    if (pending->texts.limit)
        pending->text_size += (uint32_t)ws_texts_move(layout, place, pending->texts.data + pending->text_size);
    pending->count++;
    if (is_dictionary(family))
        encoder_keep(encoder, family, row);
    if (pending->count == encoder->writer.options.rows_per_frame) {
        int result = flush_of(encoder, family);
        status = status ? status : result;
    }
    return status;
}

int ws_encoder_flush(struct ws_encoder *encoder)
{
    int status = flush_dictionaries(encoder);
    for (uint32_t i = WS_FAMILY_FIRST_DATA; i < WS_FAMILY_COUNT; i++) {
        int result = encoder->pending[i].count ? flush_data(encoder, i) : 0;
        status = status ? status : result;
    }
    return status;
}

int ws_encoder_finish(struct ws_encoder *encoder)
{
    struct ws_index *index = &encoder->writer.index;
    int status = ws_encoder_flush(encoder);
    index->dictionaries = encoder->writer.bytes;
    int repeated = repeat_dictionaries(encoder);
    for (uint32_t i = 0; i < WS_FAMILY_COUNT; i++) {
        index->rows[i] = encoder->pending[i].first_row;
        index->repeated[i] = is_dictionary(i) && !repeated ? encoder->dictionaries[i].count : 0;
    }
    int footer = ws_frame_writer_finish(&encoder->writer);
    return status ? status : repeated ? repeated : footer;
}

uint64_t ws_encoder_lost(const struct ws_encoder *encoder, enum ws_family family)
{
    return (uint32_t)family < WS_FAMILY_COUNT ? encoder->lost[family] : 0;
}

uint32_t ws_encoder_frames(const struct ws_encoder *encoder)
{
    return encoder->writer.sequence;
}

uint32_t ws_encoder_file_id(const struct ws_encoder *encoder)
{
    return encoder->writer.file_id;
}

uint64_t ws_encoder_bytes(const struct ws_encoder *encoder)
{
    return encoder->writer.bytes;
}

void ws_encoder_destroy(struct ws_encoder *encoder)
{
    if (!encoder)
        return;
    for (uint32_t i = 0; i < WS_FAMILY_FIRST_DATA; i++)
        ws_dictionary_finish(&encoder->dictionaries[i]);
    for (uint32_t i = 0; i < WS_FAMILY_COUNT; i++) {
        ws_growing_finish(&encoder->pending[i].rows);
        ws_growing_finish(&encoder->pending[i].texts);
    }
    ws_growing_finish(&encoder->head);
    ws_growing_finish(&encoder->planes);
    ws_growing_finish(&encoder->frame);
    ws_map_finish(&encoder->stream_of_shape);
    if (encoder->writer.compression)
        encoder->writer.options.compressor.free(encoder->writer.compression);
    munmap(encoder, encoder->mapping_size);
}
