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
    REPEAT_FACTOR = 32,   /* dictionaries are repeated after so many times their size: 3 % of a file */
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
    struct ws_columns_scratch *scratch;
    struct ws_bytes_out raw;
    uint8_t *frame;
    size_t frame_capacity;
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
    size_t used = 0, raw_capacity = 0;
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
        raw_capacity = bound > raw_capacity ? bound : raw_capacity;
    }
    void *scratch = carve(base, &used, ws_columns_scratch_size(options->rows_per_frame));
    if (scratch)
        encoder->scratch = ws_columns_scratch_init(scratch, options->rows_per_frame);
    encoder->raw.data = carve(base, &used, raw_capacity);
    encoder->raw.capacity = raw_capacity;
    size_t compressed = options->compressor.compress ? options->compressor.compress_bound(raw_capacity) : 0;
    encoder->frame_capacity = WS_FRAME_HEADER_SIZE + (compressed > raw_capacity ? compressed : raw_capacity);
    encoder->frame = carve(base, &used, encoder->frame_capacity);
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

/* Moves the payload from encoder->raw to behind the frame's header, smaller if that is possible. */
static void place_payload(struct ws_encoder *encoder, struct ws_frame_header *header)
{
    const struct ws_compressor *compressor = &encoder->options.compressor;
    uint8_t *payload = encoder->frame + WS_FRAME_HEADER_SIZE;
    header->raw_size = header->stored_size = (uint32_t)encoder->raw.size;
    if (encoder->compression) {
        size_t size =
            compressor->compress(encoder->compression, payload, encoder->frame_capacity - WS_FRAME_HEADER_SIZE,
                                 encoder->raw.data, encoder->raw.size, encoder->options.level);
        if (!compressor->is_error(size) && size < encoder->raw.size) {
            header->stored_size = (uint32_t)size;
            header->flags |= WS_FRAME_COMPRESSED;
            return;
        }
    }
    memcpy(payload, encoder->raw.data, encoder->raw.size);
}

/* Writes encoder->raw as a frame. */
static int put_frame(struct ws_encoder *encoder, struct ws_frame_header *header)
{
    if (encoder->raw.failed)
        return -ENOBUFS;
    header->major = WS_FORMAT_MAJOR;
    header->file_id = encoder->file_id;
    header->sequence = encoder->sequence;
    place_payload(encoder, header);
    header->payload_hash = ws_hash(encoder->frame + WS_FRAME_HEADER_SIZE, header->stored_size);
    ws_frame_header_write(encoder->frame, header);
    int status = put(encoder, encoder->frame, WS_FRAME_HEADER_SIZE + header->stored_size);
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
    encoder->raw.size = 0;
    encoder->raw.failed = false;
    ws_columns_encode(layout, rows, count, encoder->scratch, &encoder->raw);
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
    if (is_dictionary(family)) {
        ws_dictionary_add(&encoder->dictionaries[family], row);
        encoder->dictionaries_changed = true;
    }
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
    encoder->raw.size = 0;
    encoder->raw.failed = false;
    put_totals(encoder, &encoder->raw);
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
    if (encoder->compression)
        encoder->options.compressor.free(encoder->compression);
    munmap(encoder, encoder->mapping_size);
}
