#include "trace/salvage.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/map.h"
#include "base/minmax.h"
#include "record/live.h"
#include "record/ring_records.h"
#include "trace/recover.h"
#include "trace/resume.h"
#include "trace/writer.h"
#include "wire/columns.h"
#include "wire/dictionary.h"
#include "wire/row_log.h"

/* Limits for sizes stated in the live memory (a file in RAM), so that no program can exhaust this tool's memory. */
enum { SEEN_MOST = 1 << 24, LOG_MOST = 64 << 20, STRIDE_MOST = 4096, PIECE = 64 << 10 };
static const uint64_t memory_most = UINT64_C(2) << 30;

struct salvage {
    int memory;
    uint64_t size;        /* size of the live memory in bytes */
    struct ws_live *live; /* copy of the structure at the start of the live memory */
    struct ws_live_flush flush;
    struct ws_live_clock clock;
    bool ticks_are_ns;
    bool unflushed; /* the process was killed before its first flush of rows to the trace */
    int file;
    uint64_t written; /* size of the trace file in bytes */
    struct ws_encoder *encoder;
    /* The rows added so far, by correlation and family, so that no record gives two rows. If a process was killed
     * after it wrote a row to the journal (a log in the live memory), the record of this row may still be in a ring.
     */
    struct ws_map seen;
    /* Number of operations without device times, for lack of a CUDA event, that no row of family `loss` counts. */
    uint64_t dry;
    bool range_last;                 /* the last row of the journal is a range */
    uint32_t range_thread, range_at; /* if range_last: the range's thread, and its record's position in the ring */
    uint64_t left;                   /* number of bytes that the function part_of may still copy */
    int64_t latest;                  /* latest host end time of the operations added from rings */
    struct ws_salvaged *result;
};

/* --- reading the live memory ------------------------------------------------------------------- */

static bool is_within(const struct salvage *salvage, uint64_t offset, uint64_t size)
{
    return offset <= salvage->size && size <= salvage->size - offset;
}

/* Returns a copy of `size` bytes of the live memory from `offset` on; the caller frees it. Returns NULL if memory
 * runs out or the live memory is too short. */
static void *copy_of(const struct salvage *salvage, uint64_t offset, uint64_t size)
{
    const struct ws_frame_source source = { .fd = salvage->memory, .size = salvage->size };
    void *copy = is_within(salvage, offset, size) ? malloc(size ? size : 1) : NULL;
    if (copy && ws_frame_source_read(&source, offset, copy, size) == (int64_t)size)
        return copy;
    free(copy);
    return NULL;
}

static bool is_power_of_two(uint64_t number)
{
    return number && !(number & (number - 1));
}

static int open_memory(struct salvage *salvage)
{
    struct stat about;
    if (fstat(salvage->memory, &about))
        return -EBADMSG;
    salvage->size = salvage->left = (uint64_t)about.st_size;
    if (salvage->size > memory_most)
        return -EBADMSG;
    salvage->live = copy_of(salvage, 0, sizeof(*salvage->live));
    const struct ws_live *live = salvage->live;
    if (!live || memcmp(live->magic, WS_LIVE_MAGIC, sizeof(live->magic)))
        return -EBADMSG;
    if (live->families != WS_FAMILY_COUNT || live->row_size != sizeof(struct ws_op))
        return -EPROTO;
    salvage->flush = live->flush[live->flushed & 1];
    salvage->clock = live->clock[live->compared & 1];
    salvage->ticks_are_ns = live->ticks_are_ns;
    return 0;
}

static int64_t host_time(const struct salvage *salvage, uint64_t ticks)
{
    const struct ws_live_clock *clock = &salvage->clock;
    if (salvage->ticks_are_ns || clock->ticks[1] <= clock->ticks[0])
        return (int64_t)ticks;
    double rate = (double)(clock->ns[1] - clock->ns[0]) / (double)(clock->ticks[1] - clock->ticks[0]);
    return clock->ns[1] + (int64_t)((double)(int64_t)(ticks - clock->ticks[1]) * rate);
}

/* --- the trace so far --------------------------------------------------------------------------- */

static int salvage_write(void *sink, const void *bytes, size_t size)
{
    struct salvage *salvage = sink;
    for (size_t done = 0; done < size;) {
        ssize_t written =
            pwrite(salvage->file, (const char *)bytes + done, size - done, (off_t)(salvage->written + done));
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return written ? -errno : -ENOSPC;
        done += (size_t)written;
    }
    salvage->written += size;
    return 0;
}

/* Appends to the trace file the bytes of the trace that only the live memory holds. */
static int add_kept(struct salvage *salvage)
{
    const struct ws_live *live = salvage->live;
    uint64_t size = live->kept_size, end = live->kept_end;
    if (!size || end <= salvage->written)
        return 0;
    if (live->kept_begin > salvage->written || end - salvage->written > size || !is_within(salvage, live->kept, size))
        return -ENODATA;
    int status = 0;
    while (!status && salvage->written < end) {
        uint64_t at = salvage->written % size, part = end - salvage->written;
        part = part < size - at ? part : size - at;
        part = part < PIECE ? part : PIECE;
        char *piece = copy_of(salvage, live->kept + at, part);
        status = piece ? salvage_write(salvage, piece, part) : -ENOMEM;
        free(piece);
    }
    return status;
}

/* --- rows --------------------------------------------------------------------------------------- */

static void salvage_add(struct salvage *salvage, enum ws_family family, const void *row)
{
    if (!ws_encoder_add(salvage->encoder, family, row))
        salvage->result->rows++;
}

/* Records that a row of this family and correlation was found. Returns whether it is the first such row. */
static bool is_new(struct salvage *salvage, enum ws_family family, uint64_t correlation)
{
    uint64_t *seen = ws_map_put(&salvage->seen, correlation << 5 | family);
    bool was_seen = seen && *seen;
    if (seen)
        *seen = 1;
    return !was_seen;
}

/* Does the operation lack device times because no event was free for it? The answer is no if the operation got its
 * times from the events of its neighbours. */
static bool is_dry(const struct ws_op *op)
{
    return op->flags & WS_OP_POOL_DRY && !op->end && !op->result && !(op->flags & WS_OP_CAPTURED);
}

static void note_row(struct salvage *salvage, enum ws_family family, const void *row)
{
    const struct ws_op *op = row;
    const struct ws_call *call = row;
    const struct ws_collective *collective = row;
    const struct ws_loss *loss = row;
    if (family == WS_FAMILY_op)
        salvage->dry += is_dry(op);
    else if (family == WS_FAMILY_loss && loss->reason == WS_LOSS_POOL_DRY)
        salvage->dry -= ws_min(loss->count, salvage->dry); /* the row `loss` already counts these operations */
    salvage->range_last = family == WS_FAMILY_range;
    salvage->range_thread = salvage->range_last ? ((const struct ws_range *)row)->thread : 0;
    if (family == WS_FAMILY_op)
        is_new(salvage, family, op->correlation);
    else if (family == WS_FAMILY_call)
        is_new(salvage, family, call->correlation);
    else if (family == WS_FAMILY_collective)
        is_new(salvage, family, collective->correlation);
}

/* Adds the rows of a log in the live memory, from position `from` on. The trace already has the earlier rows. */
static int add_log(struct salvage *salvage, const struct ws_live_log *log, uint64_t from, bool dictionary)
{
    if (log->size > LOG_MOST || !is_power_of_two(log->size))
        return -EBADMSG;
    char *memory = copy_of(salvage, log->offset, log->size);
    if (!memory)
        return -EBADMSG;
    struct ws_logged_row row;
    uint64_t at = from;
    while (at < log->head && (at = ws_row_log_read(memory, log->size, at, log->head, &row))) {
        bool known = dictionary && row.family < WS_LIVE_TABLES && row.number <= salvage->flush.table[row.family];
        if (!row.row || known)
            continue;
        salvage_add(salvage, row.family, row.row);
        note_row(salvage, row.family, row.row);
        salvage->range_at = row.number;
    }
    free(memory);
    return at < log->head ? -EBADMSG : 0;
}

static void add_untimed(struct salvage *salvage, const struct ws_op *op)
{
    struct ws_op row = *op;
    row.begin = row.end = 0;
    row.begin_error = row.end_error = 0;
    row.flags &= ~(uint32_t)(WS_OP_BEGIN_QUALITY | WS_OP_END_QUALITY);
    salvage_add(salvage, WS_FAMILY_op, &row);
    salvage->result->untimed++;
}

/* Returns a copy of a ring's slots or of the waiting operations, or NULL. All copies together may not be larger than
 * the live memory. */
static void *part_of(struct salvage *salvage, const struct ws_live_part *part)
{
    if (part->slots_size > salvage->left)
        return NULL;
    salvage->left -= part->slots_size;
    return copy_of(salvage, part->slots, part->slots_size);
}

/* Adds the operations that still waited for their device times, as rows without device times. */
static void add_waiting(struct salvage *salvage, const struct ws_live_part *part)
{
    uint32_t stride = salvage->live->stride, first = salvage->live->first;
    if (stride > STRIDE_MOST || first > stride || stride - first < sizeof(struct ws_op))
        return;
    char *memory = part_of(salvage, part);
    for (uint64_t at = 0; memory && at + stride <= part->slots_size; at += stride) {
        struct ws_op op;
        memcpy(&op, memory + at + first, sizeof(op));
        if (op.shape && op.thread && is_new(salvage, WS_FAMILY_op, op.correlation))
            add_untimed(salvage, &op);
    }
    free(memory);
}

/* --- rings -------------------------------------------------------------------------------------- */

static void add_op(struct salvage *salvage, uint32_t thread, const struct ws_ring_op *record)
{
    struct ws_op op = ws_ring_op_row(record, thread, host_time(salvage, record->ticks_begin),
                                     host_time(salvage, record->ticks_end));
    bool timed = record->begin_event || record->end_event || record->inner & WS_RING_OP_HELD ||
                 record->header.detail & WS_RING_OP_COMPUTED;
    salvage->latest = op.host_end > salvage->latest ? op.host_end : salvage->latest;
    if (timed && !op.result && !(op.flags & WS_OP_CAPTURED))
        add_untimed(salvage, &op);
    else
        salvage_add(salvage, WS_FAMILY_op, &op);
    salvage->dry += !timed && is_dry(&op);
}

static void add_call(struct salvage *salvage, uint32_t thread, const struct ws_ring_call *record)
{
    struct ws_call row = ws_ring_call_row(record, thread, host_time(salvage, record->ticks_begin),
                                          host_time(salvage, record->ticks_end));
    salvage_add(salvage, WS_FAMILY_call, &row);
}

static void add_collective(struct salvage *salvage, uint32_t thread, const struct ws_ring_collective *record)
{
    struct ws_collective row = ws_ring_collective_row(record, thread, host_time(salvage, record->ticks_begin),
                                                      host_time(salvage, record->ticks_end));
    salvage_add(salvage, WS_FAMILY_collective, &row);
}

static void add_range(struct salvage *salvage, uint32_t thread, const struct ws_ring_range *record)
{
    struct ws_range row = ws_ring_range_row(record, thread, host_time(salvage, record->ticks_begin),
                                            host_time(salvage, record->ticks_end));
    salvage_add(salvage, WS_FAMILY_range, &row);
}

/* If the journal (the live memory's log of rows) also holds the stack, the trace gets the stack twice, which does no
 * harm. */
static void add_stack(struct salvage *salvage, uint32_t thread, const struct ws_ring_stack *record)
{
    struct ws_stack row = ws_ring_stack_row(record, thread, host_time(salvage, record->ticks));
    salvage_add(salvage, WS_FAMILY_stack, &row);
}

/* position: the record's position in its ring. */
static void add_record(struct salvage *salvage, uint32_t thread, const void *at, uint64_t position)
{
    const struct ws_ring_header *header = at;
    const struct ws_ring_op *op = at;
    const struct ws_ring_call *call = at;
    const struct ws_ring_collective *collective = at;
    switch (header->kind) {
    case WS_RING_OP:
        if (is_new(salvage, WS_FAMILY_op, op->correlation))
            add_op(salvage, thread, op);
        break;
    case WS_RING_CALL:
        if (is_new(salvage, WS_FAMILY_call, call->correlation))
            add_call(salvage, thread, call);
        break;
    case WS_RING_COLLECTIVE:
        if (is_new(salvage, WS_FAMILY_collective, collective->correlation))
            add_collective(salvage, thread, collective);
        break;
    case WS_RING_RANGE:
        if (!salvage->range_last || salvage->range_thread != thread || salvage->range_at != (uint32_t)position)
            add_range(salvage, thread, at);
        break;
    case WS_RING_STACK:
        add_stack(salvage, thread, at);
        break;
    default: /* padding, kernel parameters and event records: only the process itself could have used them */
        break;
    }
}

static void add_loss(struct salvage *salvage, enum ws_loss_reason reason, uint32_t thread, uint64_t count)
{
    struct ws_loss row = { .reason = reason, .thread = thread, .count = count, .host_ns = salvage->latest };
    if (count)
        ws_encoder_add(salvage->encoder, WS_FAMILY_loss, &row);
    salvage->result->lost += reason == WS_LOSS_UNTIMED_AT_EXIT || reason == WS_LOSS_POOL_DRY ? 0 : count;
}

static void add_ring(struct salvage *salvage, const struct ws_live_part *part)
{
    uint64_t slots = part->slots_size / WS_RING_SLOT;
    struct ws_ring *found = copy_of(salvage, part->ring, sizeof(*found));
    char *memory = is_power_of_two(slots) ? part_of(salvage, part) : NULL;
    if (found && memory) {
        const struct ws_ring ring = { .mask = slots - 1, .slots = memory };
        uint64_t at = found->tail, head = found->head, damaged = head - at > slots ? 1 : 0;
        while (at < head && !damaged) {
            unsigned length = ws_ring_record_slots(&ring, at, head);
            if (length)
                add_record(salvage, part->thread, ws_ring_slot(&ring, at), at);
            damaged = length ? 0 : head - at;
            at += length;
        }
        add_loss(salvage, WS_LOSS_DAMAGED, part->thread, damaged);
        add_loss(salvage, WS_LOSS_RING_FULL, part->thread, found->lost - part->stated);
        add_loss(salvage, WS_LOSS_NESTED, part->thread, found->nested - part->stated_nested);
    }
    free(memory);
    free(found);
}

static void add_parts(struct salvage *salvage)
{
    const struct ws_live_part *parts = salvage->live->parts;
    for (unsigned i = 0; i < WS_LIVE_PARTS; i++)
        if (parts[i].kind == WS_LIVE_WAITING)
            add_waiting(salvage, &parts[i]);
    for (unsigned i = 0; i < WS_LIVE_PARTS; i++)
        if (parts[i].kind == WS_LIVE_RING)
            add_ring(salvage, &parts[i]);
}

static void add_meta(struct salvage *salvage, const char *key, const char *value)
{
    struct ws_meta row = { .key = { key, (uint32_t)strlen(key) }, .value = { value, (uint32_t)strlen(value) } };
    ws_encoder_add(salvage->encoder, WS_FAMILY_meta, &row);
}

static int add_rows(struct salvage *salvage, const char *path)
{
    const struct ws_live *live = salvage->live;
    int status = ws_encoder_know_trace(salvage->encoder, salvage->file, salvage->written, path);
    if (status)
        return status;
    status = add_log(salvage, &live->dictionary, live->dictionary.tail, true);
    int journal = add_log(salvage, &live->journal, salvage->flush.journal, false);
    add_parts(salvage);
    add_loss(salvage, WS_LOSS_UNTIMED_AT_EXIT, 0, salvage->result->untimed);
    add_loss(salvage, WS_LOSS_POOL_DRY, 0, salvage->dry);
    add_loss(salvage, WS_LOSS_TEXTS, 0, live->not_logged - salvage->flush.not_logged);
    add_meta(salvage, "end", salvage->result->left ? "without exit" : "killed");
    if (status || journal)
        add_meta(salvage, "not_salvaged", "rows of a damaged log");
    else if (salvage->unflushed && live->not_logged)
        add_meta(salvage, "not_salvaged", "names from before its memory was shared");
    else if (live->not_shared)
        add_meta(salvage, "not_salvaged", "the last records of some threads");
    status = ws_encoder_finish(salvage->encoder);
    salvage->result->frames = ws_encoder_frames(salvage->encoder);
    return status;
}

/* --- everything --------------------------------------------------------------------------------- */

/* Cuts off the end of the trace file: the bytes written after the last flush, whose rows the live memory holds. */
static int cut_file(struct salvage *salvage)
{
    if (salvage->flush.bytes > salvage->written || salvage->flush.bytes < WS_FILE_HEADER_SIZE)
        return -ENODATA;
    salvage->written = salvage->flush.bytes;
    return ftruncate(salvage->file, (off_t)salvage->written) ? -errno : 0;
}

/* If the process was killed before its first flush, keeps only the file's header: the live memory has all rows.
 * Returns true if nothing can be salvaged: the trace had not begun, or ticks cannot be converted to host times. */
static bool before_first_flush(struct salvage *salvage)
{
    const struct ws_live *live = salvage->live;
    if (salvage->flush.bytes || live->ended)
        return false;
    salvage->flush.bytes = WS_FILE_HEADER_SIZE;
    salvage->unflushed = true;
    bool begun = live->file_id && (live->kept_size || salvage->written >= WS_FILE_HEADER_SIZE);
    bool timed = salvage->ticks_are_ns || salvage->clock.ticks[1] > salvage->clock.ticks[0];
    return !begun || !timed;
}

/* Returns whether the live memory and the file belong to the same trace: the live memory may belong to an earlier
 * trace of the same name. An empty file always fits, because a collector has just created it. */
static bool is_its_trace(const struct salvage *salvage)
{
    uint8_t bytes[WS_FILE_HEADER_SIZE];
    struct ws_file_header header;
    const struct ws_frame_source source = { .fd = salvage->file, .size = salvage->written };
    return !salvage->written || (ws_frame_source_read(&source, 0, bytes, sizeof(bytes)) == sizeof(bytes) &&
                                 !ws_file_header_read(bytes, &header) && header.file_id == salvage->live->file_id);
}

static int complete(struct salvage *salvage, const char *path)
{
    const struct ws_encoder_options options = { .compressor = ws_zstd_compressor(),
                                                .write = salvage_write,
                                                .sink = salvage };
    struct stat about;
    if (fstat(salvage->file, &about))
        return -errno;
    salvage->written = (uint64_t)about.st_size;
    salvage->result->ended = salvage->live->ended;
    salvage->result->left = salvage->live->left;
    if (before_first_flush(salvage))
        return -ENOMSG;
    int status = is_its_trace(salvage) ? add_kept(salvage) : -ESTALE;
    if (status || salvage->live->ended)
        return status;
    status = cut_file(salvage);
    if (!status)
        status = ws_encoder_resume(&salvage->encoder, &options);
    if (!status)
        status = add_rows(salvage, path);
    ws_encoder_destroy(salvage->encoder);
    return status;
}

bool ws_salvage_is_due(int memory)
{
    struct salvage salvage = { .memory = memory };
    bool due = !open_memory(&salvage) && (!salvage.live->ended || salvage.live->kept_size);
    free(salvage.live);
    return due;
}

/* Reads one field of the live memory's struct ws_live. The structure is too large to be read for a few fields. */
#define READ_FIELD(to, field) \
    (pread(memory, &(to), sizeof(to), offsetof(struct ws_live, field)) == (ssize_t)sizeof(to))

bool ws_salvage_is_elsewhere(int memory)
{
    char magic[sizeof(((struct ws_live *)0)->magic)];
    uint32_t own_file;
    return READ_FIELD(magic, magic) && READ_FIELD(own_file, own_file) &&
           !memcmp(magic, WS_LIVE_MAGIC, sizeof(magic)) && own_file;
}

uint64_t ws_salvage_settled(int memory)
{
    struct {
        char magic[sizeof(((struct ws_live *)0)->magic)];
        uint32_t ended, flushed;
        struct ws_live_flush flush[2];
    } now = { .ended = 0 };
    if (!READ_FIELD(now.magic, magic) || !READ_FIELD(now.ended, ended) || !READ_FIELD(now.flushed, flushed) ||
        !READ_FIELD(now.flush, flush))
        return 0;
    if (memcmp(now.magic, WS_LIVE_MAGIC, sizeof(now.magic)) != 0 || now.ended)
        return UINT64_MAX; /* ws_salvage cuts nothing off: it fails, or it only appends bytes */
    return now.flush[now.flushed & 1].bytes;
}

int ws_salvage(int memory, const char *path, struct ws_salvaged *result)
{
    struct salvage salvage = { .memory = memory, .file = -1, .result = result, .seen = { .limit = SEEN_MOST } };
    *result = (struct ws_salvaged){ 0 };
    int status = open_memory(&salvage);
    if (!status) {
        salvage.file = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
        status = salvage.file < 0 ? -errno : complete(&salvage, path);
    }
    if (salvage.file >= 0)
        close(salvage.file);
    ws_map_finish(&salvage.seen);
    free(salvage.live);
    return status;
}
