/* Fuzz target: the input is a whole trace file. First the hashes of its header and of consecutive frames are
 * corrected. Without that, the reader would reject every frame that the fuzzer has changed. If the input's size is
 * odd, operations are read as columns. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/hash.h"
#include "trace/reader.h"
#include "wire/frame.h"

/* Reads all values, so that a sanitizer detects wrong addresses. */
static void touch(const struct ws_block *block)
{
    static volatile uint64_t sum;
    struct ws_op_columns ops = ws_block_ops(block);
    for (uint32_t i = 0; i < block->count; i++) {
#define READ(type, name, coding) sum += (uint64_t)WS_OP_AT(&ops, name, i);
#define NO_TEXT(name)
        WS_COLUMNS_op(READ, NO_TEXT)
#undef NO_TEXT
#undef READ
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void put_hash(uint8_t *bytes, size_t size)
{
    uint64_t hash = ws_hash(bytes, size - sizeof(hash));
    memcpy(bytes + size - sizeof(hash), &hash, sizeof(hash));
}

static void mend_hashes(uint8_t *bytes, size_t size)
{
    enum { STORED_SIZE_AT = 28, PAYLOAD_HASH_AT = 56 }; /* see FORMAT.md */
    if (size < WS_FILE_HEADER_SIZE)
        return;
    put_hash(bytes, WS_FILE_HEADER_SIZE);
    size_t at = WS_FILE_HEADER_SIZE;
    while (size - at >= WS_FRAME_HEADER_SIZE && !memcmp(bytes + at, WS_FRAME_MAGIC, 4)) {
        uint32_t stored;
        uint8_t *frame = bytes + at;
        memcpy(&stored, frame + STORED_SIZE_AT, sizeof(stored));
        at += WS_FRAME_HEADER_SIZE;
        if (stored <= size - at) {
            uint64_t hash = ws_hash(frame + WS_FRAME_HEADER_SIZE, stored);
            memcpy(frame + PAYLOAD_HASH_AT, &hash, sizeof(hash));
            at += stored;
        }
        put_hash(frame, WS_FRAME_HEADER_SIZE);
    }
    if (size - at == WS_TRAILER_SIZE)
        put_hash(bytes + at, WS_TRAILER_SIZE);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int file = -1;
    static char path[64];
    if (file < 0) {
        file = memfd_create("fuzz", 0);
        snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
    }
    uint8_t *bytes = malloc(size + 1);
    if (size)
        memcpy(bytes, data, size);
    mend_hashes(bytes, size);
    if (ftruncate(file, 0) || pwrite(file, bytes, size, 0) != (ssize_t)size)
        abort();
    free(bytes);

    struct ws_reader *reader;
    struct ws_block block;
    char message[128];
    if (ws_reader_open(&reader, path, message, sizeof(message)))
        return 0;
    int status;
    if (size & 1)
        ws_reader_want_columns(reader);
    while ((status = ws_reader_next(reader, &block)) > 0) {
        if (!block.count || block.family >= WS_FAMILY_COUNT)
            abort();
        if (block.family == WS_FAMILY_op)
            touch(&block);
    }
    /* The reader skips damage. Only an error in reading the file gives a negative status, and a memory file has no
     * such errors. */
    if (status < 0)
        abort();
    ws_reader_close(reader);
    return 0;
}
