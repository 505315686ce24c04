#include "wire/frame_writer.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"

enum {
    /* Bytes of the smallest chunk (unit of compression). Smaller byte planes (pack.h) share a chunk. */
    CHUNK_BYTES = 1 << 10,
    /* If compression of a byte plane saves too little, the next 15 frames store this plane uncompressed. */
    HOPELESS_FRAMES = 15,
    /* Maximum bytes of the list that holds the sizes of all chunks. */
    LIST_BYTES = (WS_CUTS_MAX + 1) * 2 * WS_VARINT_MAX,
};

size_t ws_frame_writer_bound(size_t head, size_t planes)
{
    return WS_FRAME_HEADER_SIZE + head + planes + LIST_BYTES + sizeof(uint32_t);
}

static uint32_t random_id(void)
{
    uint32_t id;
    if (getrandom(&id, sizeof(id), GRND_NONBLOCK) != sizeof(id))
        id = (uint32_t)(ws_clock_ns() * 0x9e3779b1 ^ getpid());
    return id;
}

static int frame_writer_put(struct ws_frame_writer *writer, const void *bytes, size_t size)
{
    int status = writer->options.write(writer->options.sink, bytes, size);
    if (!status)
        writer->bytes += size;
    return status;
}

void ws_frame_writer_prepare(struct ws_frame_writer *writer)
{
    if (writer->options.compressor.compress)
        writer->compression = writer->options.compressor.create();
}

int ws_frame_writer_start(struct ws_frame_writer *writer)
{
    uint8_t bytes[WS_FILE_HEADER_SIZE];
    writer->file_id = random_id();
    struct ws_file_header header = { .major = WS_FORMAT_MAJOR, .minor = WS_FORMAT_MINOR, .file_id = writer->file_id };
    memcpy(header.creator, "wallshim " WS_VERSION, sizeof("wallshim " WS_VERSION));
    ws_file_header_write(bytes, &header);
    return frame_writer_put(writer, bytes, sizeof(bytes));
}

/* Writes one chunk, compressed if that saves more than a sixteenth. Appends the chunk's size, raw and as stored, to
 * `sizes`. *hopeless is the number of further frames that store this chunk uncompressed. */
static void put_chunk(struct ws_frame_writer *writer, const uint8_t *bytes, size_t size, uint8_t *hopeless,
                      struct ws_bytes_out *sizes)
{
    const struct ws_compressor *compressor = &writer->options.compressor;
    struct ws_bytes_out *frame = &writer->frame;
    if (*hopeless) {
        --*hopeless;
        ws_bytes_put_varint(sizes, size);
        ws_bytes_put_varint(sizes, size);
        ws_bytes_put(frame, bytes, size);
        return;
    }
    size_t smaller = compressor->compress(writer->compression, frame->data + frame->size,
                                          frame->capacity - frame->size, bytes, size, writer->options.level);
    ws_bytes_put_varint(sizes, size);
    if (compressor->is_error(smaller) || smaller >= size - size / 16) {
        *hopeless = size >= CHUNK_BYTES ? HOPELESS_FRAMES : 0;
        ws_bytes_put_varint(sizes, size);
        ws_bytes_put(frame, bytes, size);
    } else {
        ws_bytes_put_varint(sizes, smaller);
        frame->size += smaller;
    }
}

/* Writes the payload in chunks: the head, then the byte planes (pack.h). Small planes share a chunk. */
static void put_chunks(struct ws_frame_writer *writer, struct ws_frame_header *header)
{
    const struct ws_encoded *encoded = &writer->encoded;
    struct ws_bytes_out *frame = &writer->frame;
    uint8_t list[LIST_BYTES];
    struct ws_bytes_out sizes = { .data = list, .capacity = sizeof(list) };
    uint8_t *hopeless = writer->hopeless[header->family % WS_FAMILY_COUNT], never = 0;
    put_chunk(writer, encoded->head.data, encoded->head.size, &never, &sizes);
    size_t from = 0;
    for (uint32_t i = 0; i < encoded->cut_count; i++) {
        const struct ws_encoded_cut *cut = &encoded->cuts[i];
        if (cut->end - from < CHUNK_BYTES && i + 1 < encoded->cut_count)
            continue;
        if (cut->end > from)
            put_chunk(writer, encoded->planes.data + from, cut->end - from, &hopeless[cut->tag], &sizes);
        from = cut->end;
    }
    /* The list of sizes comes last, so that each chunk can be compressed straight into its final place. */
    uint32_t list_size = (uint32_t)sizes.size;
    ws_bytes_put(frame, list, list_size);
    ws_bytes_put(frame, &list_size, sizeof(list_size));
    header->flags |= WS_FRAME_COMPRESSED;
}

void ws_frame_writer_begin(struct ws_frame_writer *writer)
{
    struct ws_encoded *encoded = &writer->encoded;
    static const uint32_t head_size = 0;
    encoded->head.size = encoded->planes.size = encoded->cut_count = 0;
    encoded->head.failed = encoded->planes.failed = false;
    ws_bytes_put(&encoded->head, &head_size, sizeof(head_size));
}

int ws_frame_writer_put(struct ws_frame_writer *writer, struct ws_frame_header *header)
{
    struct ws_encoded *encoded = &writer->encoded;
    struct ws_bytes_out *frame = &writer->frame;
    if (encoded->head.failed || encoded->planes.failed)
        return -ENOBUFS;
    uint32_t head_size = (uint32_t)(encoded->head.size - sizeof(head_size));
    memcpy(encoded->head.data, &head_size, sizeof(head_size));
    header->major = WS_FORMAT_MAJOR;
    header->file_id = writer->file_id;
    header->sequence = writer->sequence;
    header->raw_size = (uint32_t)(encoded->head.size + encoded->planes.size);
    frame->size = WS_FRAME_HEADER_SIZE;
    frame->failed = false;
    if (writer->compression) {
        put_chunks(writer, header);
    } else {
        ws_bytes_put(frame, encoded->head.data, encoded->head.size);
        ws_bytes_put(frame, encoded->planes.data, encoded->planes.size);
    }
    if (frame->failed)
        return -ENOBUFS;
    header->stored_size = (uint32_t)(frame->size - WS_FRAME_HEADER_SIZE);
    header->payload_hash = ws_hash(frame->data + WS_FRAME_HEADER_SIZE, header->stored_size);
    ws_frame_header_write(frame->data, header);
    uint64_t offset = writer->bytes;
    int status = frame_writer_put(writer, frame->data, frame->size);
    if (status)
        return status;
    writer->sequence++;
    ws_index_add(&writer->index, offset, header->host_first, header->host_last);
    return 0;
}

int ws_frame_writer_finish(struct ws_frame_writer *writer)
{
    struct ws_frame_header header = { .family = WS_FAMILY_FOOTER, .host_first = INT64_MAX, .host_last = INT64_MIN };
    uint64_t offset = writer->bytes;
    ws_frame_writer_begin(writer);
    ws_index_write(&writer->index, &writer->encoded.head);
    int status = ws_frame_writer_put(writer, &header);
    if (status)
        return status;
    uint8_t trailer[WS_TRAILER_SIZE];
    ws_trailer_write(trailer, writer->file_id, offset);
    return frame_writer_put(writer, trailer, sizeof(trailer));
}
