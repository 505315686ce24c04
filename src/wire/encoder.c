#include "wire/encoder.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "wire/columns.h"
#include "wire/dictionary.h"
#include "wire/frame.h"

enum {
    DEFAULT_ROWS = 4096,
    DEFAULT_LEVEL = 1,
    TEXT_BYTES = 1 << 20, /* of all texts in one frame, and so of one text */
    FRAME_SLACK =
        WS_FRAME_HEADER_SIZE + WS_CUTS_MAX * 2 * WS_VARINT_MAX + 64, /* what a frame is, beside its columns */
    CHUNK_BYTES = 1 << 10,                                           /* less is not worth a compression of its own */
    HOPELESS_FRAMES = 15, /* a chunk that compression did not shrink is not tried again for so long */
    SHAPES_MAX = 1 << 16,
    REPEAT_FACTOR = 32, /* dictionaries are repeated after so many times their size: 3 % of a file */
};

/* Rows of one family on their way into a frame. */
struct pending {
    char *rows;
    uint32_t count;
    char *texts; /* NULL: the family has none */
    uint32_t text_size;
    uint64_t first_row; /* number of the first one within the family */
};

struct ws_encoder {
    size_t mapping_size; /* of the encoder itself with all its buffers */
    struct ws_encoder_options options;
    void *compression;
    uint32_t file_id;
    uint32_t sequence;
    uint64_t bytes;
    struct pending pending[WS_FAMILY_COUNT];
    struct ws_dictionary dictionaries[WS_FAMILY_FIRST_DATA];
    bool dictionaries_changed;   /* since they were last written as a whole */
    uint64_t dictionaries_bytes; /* what writing them took */
    uint64_t repeated_at;        /* value of bytes when they were last repeated */
    uint64_t lost[WS_FAMILY_COUNT];
    struct ws_map stream_of_shape; /* operations of a stream follow each other */
    struct ws_columns_encoder *columns;
    struct ws_encoded encoded;
    struct ws_bytes_out frame;
    uint8_t hopeless[WS_FAMILY_COUNT][WS_CUT_TAGS]; /* frames still to pass before another try */
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

/* Takes `size` bytes from a mapping, or only counts them while `base` is NULL. */
static void *carve(char *base, size_t *used, size_t size)
{
    char *place = base ? base + *used : NULL;
    *used += (size + 63) & ~(size_t)63;
    return place;
}

/* Lays the encoder and its buffers out from `base`; returns the size it all takes. */
static size_t lay_out(char *base, const struct ws_encoder_options *options)
{
    struct ws_encoder measured = { 0 };
    size_t used = 0, capacity = 0; /* of head and planes */
    struct ws_encoder *encoder = carve(base, &used, sizeof(*encoder));
    if (!encoder)
        encoder = &measured;
    encoder->options = *options;
    for (uint32_t i = 0; i < WS_FAMILY_COUNT; i++) {
        const struct ws_layout *layout = ws_layout(i);
        size_t texts = has_text(layout) ? TEXT_BYTES : 0;
        size_t bound = ws_columns_bound(layout, options->rows_per_frame, texts);
        encoder->pending[i].rows = carve(base, &used, (size_t)options->rows_per_frame * layout->row_size);
        if (texts)
            encoder->pending[i].texts = carve(base, &used, texts);
        capacity = bound > capacity ? bound : capacity;
    }
    void *columns = carve(base, &used, ws_columns_encoder_size(options->rows_per_frame));
    if (columns)
        encoder->columns = ws_columns_encoder_init(columns, options->rows_per_frame);
    encoder->encoded.head.data = carve(base, &used, capacity);
    encoder->encoded.planes.data = carve(base, &used, capacity);
    encoder->encoded.head.capacity = encoder->encoded.planes.capacity = capacity;
    encoder->frame.capacity = FRAME_SLACK + 2 * capacity;
    encoder->frame.data = carve(base, &used, encoder->frame.capacity);
    return used;
}

static uint32_t random_id(void)
{
    uint32_t id;
    if (getrandom(&id, sizeof(id), GRND_NONBLOCK) != sizeof(id))
        id = (uint32_t)(ws_clock_ns() * 0x9e3779b1 ^ getpid());
    return id;
}

static int put(struct ws_encoder *encoder, const void *bytes, size_t size)
{
    int status = encoder->options.write(encoder->options.sink, bytes, size);
    if (!status)
        encoder->bytes += size;
    return status;
}

int ws_encoder_create(struct ws_encoder **result, const struct ws_encoder_options *given)
{
    struct ws_encoder_options options = *given;
    if (!options.rows_per_frame)
        options.rows_per_frame = DEFAULT_ROWS;
    if (!options.level)
        options.level = DEFAULT_LEVEL;
    if (options.rows_per_frame > WS_FRAME_ROWS_MAX)
        return -EINVAL;

    size_t size = lay_out(NULL, &options);
    char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return -errno;
    struct ws_encoder *encoder = (struct ws_encoder *)memory;
    lay_out(memory, &options);
    encoder->mapping_size = size;
    encoder->file_id = random_id();
    encoder->stream_of_shape.limit = SHAPES_MAX;
    for (uint32_t i = 0; i < WS_FAMILY_FIRST_DATA; i++)
        encoder->dictionaries[i].layout = ws_layout(i);
    if (options.compressor.compress)
        encoder->compression = options.compressor.create();

    uint8_t bytes[WS_FILE_HEADER_SIZE];
    struct ws_file_header header = { .major = WS_FORMAT_MAJOR,
                                     .minor = WS_FORMAT_MINOR,
                                     .file_id = encoder->file_id };
    memcpy(header.creator, "wallshim " WS_VERSION, sizeof("wallshim " WS_VERSION));
    ws_file_header_write(bytes, &header);
    int status = put(encoder, bytes, sizeof(bytes));
    if (status) {
        ws_encoder_destroy(encoder);
        return status;
    }
    *result = encoder;
    return 0;
}

/* One chunk: smaller if that is possible. Its sizes go to `sizes`; `hopeless` remembers between
 * frames that it was not. */
static void put_chunk(struct ws_encoder *encoder, const uint8_t *bytes, size_t size, uint8_t *hopeless,
                      struct ws_bytes_out *sizes)
{
    const struct ws_compressor *compressor = &encoder->options.compressor;
    struct ws_bytes_out *frame = &encoder->frame;
    if (*hopeless) {
        --*hopeless;
        ws_bytes_put_varint(sizes, size);
        ws_bytes_put_varint(sizes, size);
        ws_bytes_put(frame, bytes, size);
        return;
    }
    size_t smaller = compressor->compress(encoder->compression, frame->data + frame->size,
                                          frame->capacity - frame->size, bytes, size, encoder->options.level);
    ws_bytes_put_varint(sizes, size);
    if (compressor->is_error(smaller) || smaller >= size - size / 32) {
        *hopeless = size >= CHUNK_BYTES ? HOPELESS_FRAMES : 0;
        ws_bytes_put_varint(sizes, size);
        ws_bytes_put(frame, bytes, size);
    } else {
        ws_bytes_put_varint(sizes, smaller);
        frame->size += smaller;
    }
}

/* The payload in chunks: the head, then the planes, the smallest of them joined. */
static void put_chunks(struct ws_encoder *encoder, struct ws_frame_header *header)
{
    const struct ws_encoded *encoded = &encoder->encoded;
    struct ws_bytes_out *frame = &encoder->frame;
    uint8_t list[FRAME_SLACK];
    struct ws_bytes_out sizes = { .data = list, .capacity = sizeof(list) };
    uint8_t *hopeless = encoder->hopeless[header->family % WS_FAMILY_COUNT], never = 0;
    put_chunk(encoder, encoded->head.data, encoded->head.size, &never, &sizes);
    size_t from = 0;
    for (uint32_t i = 0; i < encoded->cut_count; i++) {
        const struct ws_encoded_cut *cut = &encoded->cuts[i];
        if (cut->end - from < CHUNK_BYTES && i + 1 < encoded->cut_count)
            continue;
        if (cut->end > from)
            put_chunk(encoder, encoded->planes.data + from, cut->end - from, &hopeless[cut->tag], &sizes);
        from = cut->end;
    }
    /* The list comes last, so that each chunk is compressed straight to where it stays. */
    uint32_t list_size = (uint32_t)sizes.size;
    ws_bytes_put(frame, list, list_size);
    ws_bytes_put(frame, &list_size, sizeof(list_size));
    header->flags |= WS_FRAME_COMPRESSED;
}

static void start_payload(struct ws_encoder *encoder)
{
    struct ws_encoded *encoded = &encoder->encoded;
    static const uint32_t head_size = 0;
    encoded->head.size = encoded->planes.size = encoded->cut_count = 0;
    encoded->head.failed = encoded->planes.failed = false;
    ws_bytes_put(&encoded->head, &head_size, sizeof(head_size));
}

/* Writes what is in encoder->encoded as a frame. */
static int put_frame(struct ws_encoder *encoder, struct ws_frame_header *header)
{
    struct ws_encoded *encoded = &encoder->encoded;
    struct ws_bytes_out *frame = &encoder->frame;
    if (encoded->head.failed || encoded->planes.failed)
        return -ENOBUFS;
    uint32_t head_size = (uint32_t)(encoded->head.size - sizeof(head_size));
    memcpy(encoded->head.data, &head_size, sizeof(head_size));
    header->major = WS_FORMAT_MAJOR;
    header->file_id = encoder->file_id;
    header->sequence = encoder->sequence;
    header->raw_size = (uint32_t)(encoded->head.size + encoded->planes.size);
    frame->size = WS_FRAME_HEADER_SIZE;
    frame->failed = false;
    if (encoder->compression) {
        put_chunks(encoder, header);
    } else {
        ws_bytes_put(frame, encoded->head.data, encoded->head.size);
        ws_bytes_put(frame, encoded->planes.data, encoded->planes.size);
    }
    header->stored_size = (uint32_t)(frame->size - WS_FRAME_HEADER_SIZE);
    header->payload_hash = ws_hash(frame->data + WS_FRAME_HEADER_SIZE, header->stored_size);
    ws_frame_header_write(frame->data, header);
    int status = frame->failed ? -ENOBUFS : put(encoder, frame->data, frame->size);
    if (!status)
        encoder->sequence++;
    return status;
}

static int put_rows(struct ws_encoder *encoder, uint32_t family, const void *rows, uint32_t count, uint64_t first_row,
                    uint8_t flags)
{
    const struct ws_layout *layout = ws_layout(family);
    struct ws_frame_header header = {
        .family = (uint16_t)family, .flags = flags, .first_row = first_row, .rows = count
    };
    start_payload(encoder);
    ws_columns_encode(encoder->columns, layout, rows, count, &encoder->stream_of_shape, &encoder->encoded);
    ws_columns_host_range(layout, rows, count, &header.host_first, &header.host_last);
    return put_frame(encoder, &header);
}

static int flush_family(struct ws_encoder *encoder, uint32_t family)
{
    struct pending *pending = &encoder->pending[family];
    if (!pending->count)
        return 0;
    int status = put_rows(encoder, family, pending->rows, pending->count, pending->first_row, 0);
    if (status)
        encoder->lost[family] += pending->count;
    /* Dictionary rows that were not written keep their numbers: a repeat may yet carry them. */
    if (!status || is_dictionary(family))
        pending->first_row += pending->count;
    pending->count = 0;
    pending->text_size = 0;
    return status;
}

static int flush_dictionaries(struct ws_encoder *encoder)
{
    int status = 0;
    uint64_t before = encoder->bytes;
    for (uint32_t i = 0; i < WS_FAMILY_FIRST_DATA; i++) {
        int result = flush_family(encoder, i);
        status = status ? status : result;
    }
    encoder->dictionaries_bytes += encoder->bytes - before;
    return status;
}

/* All dictionaries again, so that a reader who lost a frame of theirs finds its rows here. */
static int repeat_dictionaries(struct ws_encoder *encoder)
{
    int status = 0;
    uint64_t before = encoder->bytes;
    for (uint32_t i = 0; i < WS_FAMILY_FIRST_DATA && !status; i++) {
        struct pending *buffer = &encoder->pending[i]; /* empty: just flushed */
        const struct ws_dictionary *dictionary = &encoder->dictionaries[i];
        for (uint32_t next = 0; next < dictionary->count && !status;) {
            uint32_t count = ws_dictionary_copy(dictionary, next, encoder->options.rows_per_frame, TEXT_BYTES,
                                                buffer->rows, buffer->texts);
            status = put_rows(encoder, i, buffer->rows, count, next, WS_FRAME_REPEAT);
            next += count;
        }
    }
    encoder->repeated_at = encoder->bytes;
    if (!status) {
        encoder->dictionaries_changed = false;
        encoder->dictionaries_bytes = encoder->bytes - before;
    }
    return status;
}

static int flush_data(struct ws_encoder *encoder, uint32_t family)
{
    int dictionaries = flush_dictionaries(encoder);
    int status = flush_family(encoder, family);
    if (!status && encoder->dictionaries_changed &&
        encoder->bytes - encoder->repeated_at > REPEAT_FACTOR * encoder->dictionaries_bytes)
        status = repeat_dictionaries(encoder);
    return dictionaries ? dictionaries : status;
}

static int flush_of(struct ws_encoder *encoder, uint32_t family)
{
    return is_dictionary(family) ? flush_dictionaries(encoder) : flush_data(encoder, family);
}

/* Remembers a dictionary row: to repeat it, and for what the coding of others makes of it. */
static void keep(struct ws_encoder *encoder, uint32_t family, const void *row)
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

int ws_encoder_add(struct ws_encoder *encoder, enum ws_family family, const void *row)
{
    if ((uint32_t)family >= WS_FAMILY_COUNT)
        return -EINVAL;
    const struct ws_layout *layout = ws_layout(family);
    struct pending *pending = &encoder->pending[family];
    int status = 0;
    if (pending->texts) {
        size_t text_size = ws_texts_size(layout, row);
        if (text_size > TEXT_BYTES) {
            encoder->lost[family]++;
            return -EMSGSIZE;
        }
        if (text_size > TEXT_BYTES - pending->text_size)
            status = flush_of(encoder, family);
    }
    char *place = pending->rows + (size_t)pending->count * layout->row_size;
    memcpy(place, row, layout->row_size);
    if (pending->texts)
        pending->text_size += (uint32_t)ws_texts_move(layout, place, pending->texts + pending->text_size);
    pending->count++;
    if (is_dictionary(family))
        keep(encoder, family, row);
    if (pending->count == encoder->options.rows_per_frame) {
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

/* Totals by family: rows, then how many of them the repeats carry. */
static void put_totals(struct ws_encoder *encoder, struct ws_bytes_out *out)
{
    ws_bytes_put_varint(out, WS_FAMILY_COUNT);
    for (uint32_t i = 0; i < WS_FAMILY_COUNT; i++) {
        ws_bytes_put_varint(out, encoder->pending[i].first_row);
        ws_bytes_put_varint(out, is_dictionary(i) ? encoder->dictionaries[i].count : 0);
    }
}

int ws_encoder_finish(struct ws_encoder *encoder)
{
    int status = ws_encoder_flush(encoder);
    int repeated = repeat_dictionaries(encoder);
    uint64_t footer_offset = encoder->bytes;
    struct ws_frame_header header = { .family = WS_FAMILY_FOOTER, .host_first = INT64_MAX, .host_last = INT64_MIN };
    start_payload(encoder);
    put_totals(encoder, &encoder->encoded.head);
    int footer = put_frame(encoder, &header);
    if (!footer) {
        uint8_t trailer[WS_TRAILER_SIZE];
        ws_trailer_write(trailer, encoder->file_id, footer_offset);
        footer = put(encoder, trailer, sizeof(trailer));
    }
    return status ? status : repeated ? repeated : footer;
}

uint64_t ws_encoder_lost(const struct ws_encoder *encoder, enum ws_family family)
{
    return (uint32_t)family < WS_FAMILY_COUNT ? encoder->lost[family] : 0;
}

uint64_t ws_encoder_bytes(const struct ws_encoder *encoder)
{
    return encoder->bytes;
}

void ws_encoder_destroy(struct ws_encoder *encoder)
{
    if (!encoder)
        return;
    for (uint32_t i = 0; i < WS_FAMILY_FIRST_DATA; i++)
        ws_dictionary_finish(&encoder->dictionaries[i]);
    ws_map_finish(&encoder->stream_of_shape);
    if (encoder->compression)
        encoder->options.compressor.free(encoder->compression);
    munmap(encoder, encoder->mapping_size);
}
