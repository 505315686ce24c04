#include "live_image.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "record/live.h"
#include "record/ring_records.h"
#include "trace/writer.h"
#include "wire/row_log.h"

enum {
    LOG_BYTES = 1 << 14,
    RING_SLOTS = 64,
    STRIDE = sizeof(struct ws_op) + 24,
    FIRST = 16,
    WAITING_BYTES = 8 * STRIDE,
    KEPT_BYTES = 1 << 16,
    TAKEN = 100, /* bytes of the file that the collector has taken: the header and a part of a frame */
};

/* Where each part begins in the live memory. */
enum {
    DICTIONARY = (sizeof(struct ws_live) + 63) & ~(size_t)63,
    JOURNAL = DICTIONARY + LOG_BYTES,
    RING = JOURNAL + LOG_BYTES,
    SLOTS = RING + 256,
    WAITING = SLOTS + RING_SLOTS * WS_RING_SLOT,
    KEPT = WAITING + WAITING_BYTES,
    SIZE = KEPT + KEPT_BYTES,
};

static struct ws_live *live;
static uint8_t file[KEPT_BYTES];
static size_t file_size;

static int keep(void *sink, const void *bytes, size_t size)
{
    (void)sink;
    if (size > sizeof(file) - file_size)
        abort();
    memcpy(file + file_size, bytes, size);
    file_size += size;
    return 0;
}

static struct ws_op operation(uint64_t number)
{
    return (struct ws_op){ .shape = number < LIVE_FLUSHED ? 1 : 2,
                           .thread = 1,
                           .correlation = (UINT64_C(1) << 40) + number,
                           .host_begin = (int64_t)(1000 + number * 100),
                           .host_end = (int64_t)(1050 + number * 100),
                           .begin = (int64_t)(2000 + number * 100),
                           .end = (int64_t)(2060 + number * 100) };
}

static void add_dictionary(struct ws_encoder *encoder, uint32_t number)
{
    static const char *const names[] = { "first", "second" };
    struct ws_function function = { .id = number,
                                    .name = { names[number - 1], (uint32_t)strlen(names[number - 1]) } };
    struct ws_shape shape = { .id = number, .function = number, .stream = 1 };
    char *memory = (char *)live + DICTIONARY;
    ws_row_log_add(&live->dictionary, memory, WS_FAMILY_function, number, &function);
    ws_row_log_add(&live->dictionary, memory, WS_FAMILY_shape, number, &shape);
    if (encoder) {
        ws_encoder_add(encoder, WS_FAMILY_function, &function);
        ws_encoder_add(encoder, WS_FAMILY_shape, &shape);
    }
}

static void make_trace(void)
{
    const struct ws_encoder_options options = { .compressor = ws_zstd_compressor(), .write = keep };
    struct ws_encoder *encoder;
    file_size = 0;
    if (ws_encoder_create(&encoder, &options))
        abort();
    add_dictionary(encoder, 1);
    for (uint64_t i = 0; i < LIVE_FLUSHED; i++) {
        struct ws_op op = operation(i);
        ws_encoder_add(encoder, WS_FAMILY_op, &op);
    }
    ws_encoder_flush(encoder);
    live->flush[1].bytes = file_size;
    live->file_id = ws_encoder_file_id(encoder);
    live->flush[1].table[WS_FAMILY_function] = live->flush[1].table[WS_FAMILY_shape] = 1;
    live->flushed = 1;
    add_dictionary(NULL, 2);
    for (uint64_t i = LIVE_FLUSHED; i < LIVE_FLUSHED + LIVE_JOURNAL; i++) {
        struct ws_op op = operation(i);
        if (i == LIVE_FLUSHED) {
            op.flags = WS_OP_POOL_DRY;
            op.begin = op.end = 0;
        }
        if (i == LIVE_FLUSHED + 1)
            op.flags |= WS_OP_POOL_DRY; /* no event was free for this operation, but the events of its neighbours gave
                                           it times */
        ws_row_log_add(&live->journal, (char *)live + JOURNAL, WS_FAMILY_op, 0, &op);
        ws_encoder_add(encoder, WS_FAMILY_op, &op);
    }
    ws_encoder_flush(encoder);
    ws_encoder_destroy(encoder);
}

/* Writes the operations that wait for device times: the last one of the journal, and one more. */
static void make_waiting(void)
{
    for (unsigned i = 0; i < LIVE_WAITING; i++) {
        struct ws_op op = operation(LIVE_FLUSHED + LIVE_JOURNAL - 1 + i);
        memcpy((char *)live + WAITING + (size_t)i * STRIDE + FIRST, &op, sizeof(op));
    }
    live->stride = STRIDE;
    live->first = FIRST;
    live->parts[3].kind = WS_LIVE_WAITING;
    live->parts[3].slots = WAITING;
    live->parts[3].slots_size = WAITING_BYTES;
}

/* Fills the ring: the last operation that waits for device times, further operations, one operation without an event,
 * and a call. The records begin two slots before the ring's end, so they wrap around. */
static void make_ring(void)
{
    struct ws_ring *ring = (struct ws_ring *)((char *)live + RING);
    ws_ring_init(ring, (char *)live + SLOTS, RING_SLOTS, NULL);
    atomic_store(&ring->head, RING_SLOTS - 2);
    atomic_store(&ring->tail, RING_SLOTS - 2);
    ring->room_until = UINT64_MAX;
    for (unsigned i = 0; i < LIVE_RING; i++) {
        struct ws_op op = operation(LIVE_FLUSHED + LIVE_JOURNAL + LIVE_WAITING - 2 + i);
        struct ws_ring_op *record = ws_ring_reserve_one(ring);
        *record = (struct ws_ring_op){ .header = { .kind = WS_RING_OP, .slots = 1, .shape = op.shape },
                                       .ticks_begin = (uint64_t)op.host_begin,
                                       .ticks_end = (uint64_t)op.host_end,
                                       .correlation = op.correlation,
                                       .end_event = 1,
                                       .stream = 1 };
        ws_ring_commit(ring, 1);
    }
    struct ws_op dry = operation(LIVE_FLUSHED + LIVE_JOURNAL + LIVE_WAITING + LIVE_RING);
    struct ws_ring_op *record = ws_ring_reserve_one(ring);
    *record = (struct ws_ring_op){
        .header = { .kind = WS_RING_OP, .slots = 1, .detail = WS_OP_POOL_DRY, .shape = dry.shape },
        .ticks_begin = (uint64_t)dry.host_begin,
        .ticks_end = (uint64_t)dry.host_end,
        .correlation = dry.correlation,
        .stream = 1
    };
    ws_ring_commit(ring, 1);
    struct ws_ring_call *call = ws_ring_reserve(ring, 1);
    *call = (struct ws_ring_call){ .header = { .kind = WS_RING_CALL, .slots = 1 }, .correlation = 99 };
    ws_ring_commit(ring, 1);
    ring->lost = LIVE_RING_LOST + 1;
    ring->nested = LIVE_NESTED + 2;
    live->parts[5] = (struct ws_live_part){ .thread = 1,
                                            .ring = RING,
                                            .slots = SLOTS,
                                            .slots_size = RING_SLOTS * WS_RING_SLOT,
                                            .stated = 1,
                                            .stated_nested = 2,
                                            .kind = WS_LIVE_RING };
}

int live_image_make(const char *path, bool kept)
{
    int memory = memfd_create("live image", MFD_CLOEXEC), trace = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (memory < 0 || trace < 0 || ftruncate(memory, SIZE))
        abort();
    live = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    if (live == MAP_FAILED)
        abort();
    memcpy(live->magic, WS_LIVE_MAGIC, sizeof(live->magic));
    live->size = SIZE;
    live->families = WS_FAMILY_COUNT;
    live->row_size = sizeof(struct ws_op);
    live->ticks_are_ns = 1;
    live->dictionary.offset = DICTIONARY;
    live->journal.offset = JOURNAL;
    live->dictionary.size = live->journal.size = LOG_BYTES;
    make_trace();
    make_waiting();
    make_ring();
    size_t size = file_size;
    if (kept) {
        live->kept = KEPT;
        live->kept_size = KEPT_BYTES;
        live->kept_end = file_size;
        memcpy((char *)live + KEPT, file, file_size);
        size = TAKEN;
    }
    if (write(trace, file, size) != (ssize_t)size)
        abort();
    close(trace);
    munmap(live, SIZE);
    return memory;
}
