/* Fuzz target: the input is what a client sends to the collector. Each message is a u16 with the message's size, and
 * the message's bytes. Before the collector gets a message, the message's head and its hashes are corrected. Without
 * that, the collector would refuse nearly every message that the fuzzer has changed. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/minmax.h"
#include "collector/stream.h"
#include "wire/channel.h"
#include "wire/frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t taken;

/* Checks what the collector relies on: units (the file header, frames) follow each other without a gap, and all their
 * bytes can be read. */
static int take(void *data, const uint8_t *unit, size_t size)
{
    static volatile uint64_t sum;
    const struct stream *stream = data;
    if (!size || stream->taken != taken || stream->memory->used > stream->memory->limit)
        abort();
    sum += unit[0] + unit[size - 1];
    taken += size;
    return 0;
}

static void put_hash(uint8_t *bytes, size_t size)
{
    uint64_t hash = ws_hash(bytes, size - sizeof(hash));
    memcpy(bytes + size - sizeof(hash), &hash, sizeof(hash));
}

/* Corrects the hash of a file header. Corrects the file id, sequence number and hashes of a frame, so that it is
 * valid as the next frame of this trace. */
static void mend(const struct stream *stream, uint8_t *bytes, size_t size)
{
    enum { FILE_ID_AT = 8, SEQUENCE_AT = 12, STORED_SIZE_AT = 28, PAYLOAD_HASH_AT = 56 }; /* see FORMAT.md */
    if (!stream->begun && size >= WS_FILE_HEADER_SIZE) {
        put_hash(bytes, WS_FILE_HEADER_SIZE);
    } else if (stream->begun && size >= WS_FRAME_HEADER_SIZE && !memcmp(bytes, WS_FRAME_MAGIC, 4)) {
        uint32_t stored;
        memcpy(bytes + FILE_ID_AT, &stream->file_id, sizeof(stream->file_id));
        memcpy(bytes + SEQUENCE_AT, &stream->next_sequence, sizeof(stream->next_sequence));
        memcpy(&stored, bytes + STORED_SIZE_AT, sizeof(stored));
        if (stored <= size - WS_FRAME_HEADER_SIZE) {
            uint64_t hash = ws_hash(bytes + WS_FRAME_HEADER_SIZE, stored);
            memcpy(bytes + PAYLOAD_HASH_AT, &hash, sizeof(hash));
        }
        put_hash(bytes, WS_FRAME_HEADER_SIZE);
    }
}

/* Handles one message. Copies the message to memory of exactly its size first, so that a sanitizer detects a read
 * beyond the message. Returns false if the collector would refuse the message. */
static bool handle(struct stream *stream, const uint8_t *data, size_t size)
{
    struct ws_channel_message message;
    uint8_t *bytes = malloc(size + !size);
    if (!bytes)
        return false;
    if (size)
        memcpy(bytes, data, size);
    if (size >= WS_CHANNEL_START_SIZE && bytes[6] == WS_CHANNEL_DATA) {
        ws_channel_write(bytes, WS_CHANNEL_DATA, stream->taken + stream->size, size - WS_CHANNEL_START_SIZE);
        mend(stream, bytes + WS_CHANNEL_START_SIZE, size - WS_CHANNEL_START_SIZE);
    }
    bool right = !ws_channel_read(bytes, size, &message);
    if (right && message.kind == WS_CHANNEL_HELLO)
        right = strnlen(message.hello.file, sizeof(message.hello.file)) < sizeof(message.hello.file);
    if (right && message.kind == WS_CHANNEL_DATA)
        right = !stream_add(stream, message.bytes, message.size, take, stream);
    free(bytes);
    return right;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct stream_memory memory = { .limit = 256 << 10 };
    struct stream stream;
    bool right = true;
    taken = 0;
    stream_init(&stream, &memory);
    while (right && size >= sizeof(uint16_t)) {
        uint16_t length;
        memcpy(&length, data, sizeof(length));
        data += sizeof(length);
        size -= sizeof(length);
        size_t part = ws_min((size_t)length, size);
        right = handle(&stream, data, part);
        data += part;
        size -= part;
    }
    stream_finish(&stream);
    if (memory.used)
        abort();
    return 0;
}
