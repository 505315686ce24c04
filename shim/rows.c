#include "rows.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/map.h"
#include "base/reserve.h"
#include "bypass.h"
#include "counters.h"
#include "losses.h"
#include "ops.h"
#include "output.h"
#include "record/param_image.h"
#include "record/ring_records.h"
#include "registry.h"
#include "resolve.h"
#include "shim.h"
#include "streams.h"
#include "thread.h"
#include "ticks.h"
#include "times.h"

enum { PARAM_SETS = 65536, PENDING_CHUNK = 1024, MOST_UNMARKED = 65536 };

static struct output output;
static _Atomic uint64_t bytes;   /* of the trace */
static bool failed;              /* the sink refused: said once */
static struct ws_map params_ids; /* hash of the words → id */
static uint32_t params_count;
static struct pending *free_pending;

static void complain(int error)
{
    if (error && !failed) {
        failed = true;
        ws_warn("%s: %s; what does not fit is counted and left out", output.path, strerror(-error));
    }
}

static void add(enum ws_family family, const void *row)
{
    complain(ws_encoder_add(output.encoder, family, row));
}

/* --- dictionaries ------------------------------------------------------------------------------ */

static void emit_table(struct registry_table *table, enum ws_family family)
{
    uint32_t count = atomic_load_explicit(&table->count, memory_order_acquire);
    for (; table->emitted < count; table->emitted++)
        add(family, registry_row(table, table->emitted + 1));
}

void rows_emit_dictionaries(void)
{
#define TABLE(family, limit) emit_table(&registry.family, WS_FAMILY_##family);
    REGISTRY_TABLES(TABLE)
#undef TABLE
}

static void emit_functions(void)
{
    for (uint32_t id = 0; id < WS_ID_COUNT; id++) {
        const char *name = resolve_table[id].symbol;
        struct ws_driver_function row = { .id = id + 1,
                                          .family = resolve_table[id].family,
                                          .name = { name, (uint32_t)strlen(name) } };
        add(WS_FAMILY_driver_function, &row);
    }
}

static int said(int error)
{
    if (error)
        ws_warn("cannot write %s: %s; nothing is recorded", output.path, strerror(-error));
    return error;
}

int rows_create(void)
{
    return said(output_create(&output));
}

int rows_begin(void)
{
    int error = said(output_begin(&output));
    params_ids.limit = PARAM_SETS;
    failed = false;
    if (!error)
        emit_functions();
    return error;
}

/* --- operations -------------------------------------------------------------------------------- */

static struct pending *pending_take(void)
{
    if (!free_pending) {
        struct pending *chunk = ws_reserve(PENDING_CHUNK * sizeof(*chunk));
        if (!chunk)
            return NULL;
        for (int i = 0; i < PENDING_CHUNK; i++) {
            chunk[i].next = free_pending;
            free_pending = &chunk[i];
        }
    }
    struct pending *pending = free_pending;
    free_pending = pending->next;
    return pending;
}

static void pending_drop(struct pending *pending)
{
    pending->next = free_pending;
    free_pending = pending;
}

static void add_untimed(struct ws_op *op, enum ws_loss_reason reason)
{
    losses_count(op->flags & WS_OP_POOL_DRY ? WS_LOSS_POOL_DRY : reason, 1);
    add(WS_FAMILY_op, op);
}

static void release_marks(struct shim_stream *stream, const struct pending *pending)
{
    mark_release(&stream->context->pool, pending->begin_mark);
    mark_release(&stream->context->pool, pending->end_mark);
}

static void queue(struct shim_stream *stream, struct pending *pending)
{
    pending->next = NULL;
    if (stream->last)
        stream->last->next = pending;
    else
        stream->first = pending;
    stream->last = pending;
    stream->waiting++;
}

/* Asked for and not given, or not asked for: while streams are captured, or when the driver is going. */
static enum ws_loss_reason why_unmarked(const struct ws_ring_op *record)
{
    if (record->begin_mark || record->inner & WS_RING_OP_OWN_BEGIN)
        return WS_LOSS_DRIVER_REFUSED;
    return shim_phase() & SHIM_TIMING ? WS_LOSS_CAPTURE_UNKNOWN : WS_LOSS_UNTIMED_AT_EXIT;
}

/* ns after the call returned at which the end mark was in the stream; UINT32_MAX, over four seconds: not known. */
static uint32_t lateness(const struct ws_ring_op *record, int64_t host_end)
{
    uint32_t ticks = record->inner >> WS_RING_OP_LATENESS;
    return ticks == WS_RING_OP_MOST_LATENESS ? UINT32_MAX
                                             : (uint32_t)(ticks_to_ns(record->ticks_end + ticks) - host_end);
}

static void read_op(struct shim_thread *thread, const struct ws_ring_op *record)
{
    struct ws_op op = {
        .shape = record->header.shape,
        .thread = thread->id,
        .correlation = record->correlation,
        .host_begin = ticks_to_ns(record->ticks_begin),
        .host_end = ticks_to_ns(record->ticks_end),
        .flags = record->header.detail,
        .params = record->inner & WS_RING_OP_HAS_PARAMS ? thread->params : 0,
        .bytes = record->bytes,
        .result = record->result,
    };
    thread->params = 0;
    struct shim_stream *stream = stream_at(record->stream);
    bool timed = record->end_mark || record->inner & WS_RING_OP_HELD;
    struct pending *pending = timed ? pending_take() : NULL;
    if (!pending) {
        if (record->inner & WS_RING_OP_COUNTED)
            stream_copy_done(stream, copy_direction(registry_row(&registry.shape, op.shape)));
        bool wanted = stream->context->timed && !op.result && !(op.flags & WS_OP_CAPTURED);
        mark_release(&stream->context->pool, record->begin_mark);
        mark_release(&stream->context->pool, record->end_mark);
        if (wanted)
            add_untimed(&op, why_unmarked(record));
        else
            add(WS_FAMILY_op, &op);
        return;
    }
    const struct ws_shape *shape = registry_row(&registry.shape, op.shape);
    *pending = (struct pending){
        .op = op,
        .begin_mark = record->begin_mark,
        .end_mark = record->end_mark,
        .copies_before = record->copies_before,
        .late = lateness(record, op.host_end),
        .inner = record->inner & ((1 << WS_RING_OP_LATENESS) - 1),
        .direction = (uint8_t)copy_direction(shape),
        .kind = (uint8_t)shape->kind,
    };
    queue(stream, pending);
}

/* A mark without an operation: it ends those before it that have none. */
static void read_mark(const struct ws_ring_mark *record)
{
    struct shim_stream *stream = stream_at(record->header.shape);
    struct pending *pending = pending_take();
    if (!pending) {
        mark_release(&stream->context->pool, record->mark);
        return;
    }
    *pending = (struct pending){ .end_mark = record->mark, .kind = WS_OP_UNKNOWN, .direction = COPY_DIRECTIONS };
    queue(stream, pending);
}

/* The mark that ends an operation which has none: the begin of the next that has one of its own, or
 * the next mark of the stream. 0: not there yet. */
static uint32_t closing_mark(const struct pending *pending)
{
    unsigned steps = 0;
    for (const struct pending *next = pending; next && steps < MOST_UNMARKED; next = next->next, steps++) {
        if (next != pending && next->inner & WS_RING_OP_OWN_BEGIN && next->begin_mark)
            return next->begin_mark;
        if (next->end_mark)
            return next->end_mark;
    }
    return 0;
}

static uint64_t settled;

uint64_t rows_settled(void)
{
    return settled;
}

static struct pending *take_first(struct shim_stream *stream)
{
    struct pending *pending = stream->first;
    settled++;
    stream->first = pending->next;
    stream->waiting--;
    if (!stream->first)
        stream->last = NULL;
    if (pending->inner & WS_RING_OP_COUNTED)
        stream_copy_done(stream, (enum copy_direction)pending->direction);
    return pending;
}

void rows_harvest(struct shim_stream *stream)
{
    struct pending *pending;
    while ((pending = stream->first)) {
        uint32_t end_mark = closing_mark(pending);
        bool hopeless = !end_mark && (stream->waiting > MOST_UNMARKED || stream->closing);
        enum times_state state = end_mark   ? times_read(stream->context, end_mark, pending->op.host_end)
                                 : hopeless ? TIMES_FAILED
                                            : TIMES_NOT_YET;
        if (state == TIMES_NOT_YET)
            return;
        if (pending->begin_mark)
            times_read(stream->context, pending->begin_mark, INT64_MIN);
        take_first(stream);
        if (pending->kind != WS_OP_UNKNOWN || pending->op.shape) {
            if (state == TIMES_DONE) {
                times_resolve(stream, pending, end_mark);
                add(WS_FAMILY_op, &pending->op);
            } else {
                add_untimed(&pending->op, WS_LOSS_DRIVER_REFUSED);
            }
        }
        release_marks(stream, pending);
        pending_drop(pending);
    }
}

void rows_give_up(struct shim_stream *stream)
{
    while (stream->first) {
        struct pending *pending = take_first(stream);
        if (pending->op.shape)
            add_untimed(&pending->op, WS_LOSS_UNTIMED_AT_EXIT);
        pending_drop(pending);
    }
}

/* --- everything else --------------------------------------------------------------------------- */

static void read_call(struct shim_thread *thread, const struct ws_ring_call *record)
{
    struct ws_call row = {
        .function = (uint32_t)record->header.detail + 1,
        .thread = thread->id,
        .correlation = record->correlation,
        .host_begin = ticks_to_ns(record->ticks_begin),
        .host_end = ticks_to_ns(record->ticks_end),
        .context = record->header.shape,
        .stream = record->stream,
        .object = record->object,
        .address = record->address,
        .bytes = record->bytes,
        .result = record->result,
    };
    add(WS_FAMILY_call, &row);
}

static void read_collective(struct shim_thread *thread, const struct ws_ring_collective *record)
{
    struct ws_collective row = {
        .function = (uint32_t)record->header.detail + 1,
        .thread = thread->id,
        .correlation = record->correlation,
        .host_begin = ticks_to_ns(record->ticks_begin),
        .host_end = ticks_to_ns(record->ticks_end),
        .comm = record->comm,
        .stream = record->stream,
        .count = record->count,
        .datatype = record->datatype,
        .reduction = record->reduction,
        .peer = record->peer,
        .sequence = record->sequence,
        .first_launch = record->first_launch,
        .last_launch = record->last_launch,
        .result = record->result,
    };
    add(WS_FAMILY_collective, &row);
}

static void read_range(struct shim_thread *thread, const struct ws_ring_range *record)
{
    struct ws_range row = {
        .name = record->name,
        .thread = thread->id,
        .host_begin = ticks_to_ns(record->ticks_begin),
        .host_end = ticks_to_ns(record->ticks_end),
        .kind = WS_RANGE_OPERATOR,
        .inputs = record->header.shape,
    };
    add(WS_FAMILY_range, &row);
}

/* Equal blocks of one kernel are kept once. */
static void read_params(struct shim_thread *thread, const struct ws_ring_params *record)
{
    static char text[WS_IMAGE_TEXT];
    uint32_t words = record->header.detail & ((1 << WS_RING_PARAM_IMAGE) - 1);
    uint32_t image = record->header.detail >> WS_RING_PARAM_IMAGE;
    uint32_t size = words * (uint32_t)sizeof(struct ws_param_word);
    const uint64_t *of_image = (const uint64_t *)(record->words + words);
    uint64_t hash = XXH3_64bits_withSeed(record->words, size + image * sizeof(*of_image), record->header.shape);
    uint64_t *id = ws_map_put(&params_ids, hash ? hash : 1);
    thread->params = 0;
    if (!id) {
        losses_count(WS_LOSS_DICTIONARY_FULL, 1);
        return;
    }
    if (!*id) {
        *id = ++params_count;
        struct ws_params row = { .id = (uint32_t)*id,
                                 .function = record->header.shape,
                                 .words = { (const char *)record->words, size } };
        if (image)
            row.structures =
                (struct ws_text){ text, ws_image_encode(text, of_image + 1, (uint32_t)of_image[0], image - 1) };
        add(WS_FAMILY_params, &row);
    }
    thread->params = (uint32_t)*id;
}

/* Do dictionaries, streams and pools have what the operation names? */
static bool op_is_sound(const struct ws_ring_op *record)
{
    uint32_t shapes = atomic_load_explicit(&registry.shape.count, memory_order_acquire);
    if (!record->header.shape || record->header.shape > shapes || !record->stream || record->stream > stream_count())
        return false;
    const struct mark_pool *pool = &stream_at(record->stream)->context->pool;
    return record->begin_mark <= pool->limit && record->end_mark <= pool->limit;
}

static bool mark_is_sound(const struct ws_ring_mark *record)
{
    uint32_t stream = record->header.shape;
    return stream && stream <= stream_count() && record->mark &&
           record->mark <= stream_at(stream)->context->pool.limit;
}

/* False: what the record holds cannot be. */
static bool read_record(struct shim_thread *thread, const struct ws_ring_header *record)
{
    switch (record->kind) {
    case WS_RING_OP:
        if (!op_is_sound((const struct ws_ring_op *)record))
            return false;
        read_op(thread, (const struct ws_ring_op *)record);
        return true;
    case WS_RING_CALL:
        read_call(thread, (const struct ws_ring_call *)record);
        return true;
    case WS_RING_COLLECTIVE:
        read_collective(thread, (const struct ws_ring_collective *)record);
        return true;
    case WS_RING_RANGE:
        read_range(thread, (const struct ws_ring_range *)record);
        return true;
    case WS_RING_PARAMS:
        read_params(thread, (const struct ws_ring_params *)record);
        return true;
    case WS_RING_MARK:
        if (!mark_is_sound((const struct ws_ring_mark *)record))
            return false;
        read_mark((const struct ws_ring_mark *)record);
        return true;
    default:
        return true; /* padding */
    }
}

void rows_read_ring(struct shim_thread *thread, uint64_t head)
{
    uint64_t at = ws_ring_tail(&thread->ring);
    while (at < head) {
        unsigned slots = ws_ring_record_slots(&thread->ring, at, head);
        thread->damaged +=
            !slots || !read_record(thread, (const struct ws_ring_header *)ws_ring_slot(&thread->ring, at));
        /* Where the next record begins is not known then: the rest is passed. */
        thread->damaged += slots ? 0 : head - at - 1;
        at = slots ? at + slots : head;
    }
    ws_ring_release(&thread->ring, at);
}

void rows_add_clock(const struct ws_clock *row)
{
    add(WS_FAMILY_clock, row);
}

void rows_add_loss(const struct ws_loss *row)
{
    add(WS_FAMILY_loss, row);
}

static uint64_t unwritten(void)
{
    return ws_encoder_lost(output.encoder, WS_FAMILY_op) + ws_encoder_lost(output.encoder, WS_FAMILY_call) +
           ws_encoder_lost(output.encoder, WS_FAMILY_collective);
}

void rows_flush(int64_t now)
{
    rows_emit_dictionaries();
    losses_add(now, unwritten());
    int error = ws_encoder_flush(output.encoder);
    complain(error);
    losses_are_written(!error);
    atomic_store_explicit(&bytes, ws_encoder_bytes(output.encoder), memory_order_relaxed);
}

uint64_t rows_bytes(void)
{
    return atomic_load_explicit(&bytes, memory_order_relaxed);
}

void rows_close(const char *end)
{
    output_say(&output, "end", end);
    losses_count(WS_LOSS_BYPASSED, bypass_count());
    if (counters_summary())
        output_say(&output, "counters", counters_summary());
    rows_flush(ws_clock_ns());
    int error = output_close(&output);
    if (error && !failed)
        ws_warn("%s: %s; the trace may lack its end", output.path, strerror(-error));
}
