#include "shim/drain/ring_reader.h"

#include <string.h>

#include "base/hash.h"
#include "base/map.h"
#include "record/param_image.h"
#include "record/ring_records.h"
#include "shim/drain/losses.h"
#include "shim/drain/pending.h"
#include "shim/drain/progress.h"
#include "shim/drain/trace.h"
#include "shim/objects/shapes.h"
#include "shim/objects/streams.h"
#include "shim/objects/thread.h"
#include "shim/state/live.h"
#include "shim/state/phase.h"
#include "shim/state/registry.h"
#include "shim/timing/ticks.h"
#include "shim/timing/times.h"

enum { PARAM_SETS = 65536 };

/* Hash of a block of kernel parameters → id of the block's row in the trace. */
static struct ws_map params_ids = { .limit = PARAM_SETS };
static uint32_t params_count;

void ring_reader_begin(void)
{
    ws_map_finish(&params_ids);
    params_count = 0;
}

/* --- operations -------------------------------------------------------------------------------- */

/* Returns why an operation has no events: the driver refused them, or the shim did not record any (during a stream
 * capture, or when the driver is about to shut down). */
static enum ws_loss_reason why_without_events(const struct ws_ring_op *record)
{
    if (record->begin_event || record->inner & WS_RING_OP_OWN_BEGIN)
        return WS_LOSS_DRIVER_REFUSED;
    return shim_phase() & SHIM_TIMING ? WS_LOSS_CAPTURE_UNKNOWN : WS_LOSS_UNTIMED_AT_EXIT;
}

/* ns from the return of the operation's call until its end event was in the stream; UINT32_MAX: not known. */
static uint32_t lateness(const struct ws_ring_op *record, int64_t host_end)
{
    uint32_t ticks = record->inner >> WS_RING_OP_LATENESS;
    return ticks == WS_RING_OP_MOST_LATENESS ? UINT32_MAX
                                             : (uint32_t)(ticks_to_ns(record->ticks_end + ticks) - host_end);
}

static void read_op(struct shim_thread *thread, const struct ws_ring_op *record)
{
    struct ws_op op =
        ws_ring_op_row(record, thread->id, ticks_to_ns(record->ticks_begin), ticks_to_ns(record->ticks_end));
    thread->pause_begin = op.host_end;
    __atomic_store_n(&thread->in_ops, thread->in_ops + record->ticks_end - record->ticks_begin, __ATOMIC_RELAXED);
    op.params = record->inner & WS_RING_OP_HAS_PARAMS ? thread->params : 0;
    thread->params = 0;
    progress_note_op(&op);
    struct shim_stream *stream = stream_at(record->stream);
    bool computed = record->header.detail & WS_RING_OP_COMPUTED && !op.result && !(op.flags & WS_OP_CAPTURED);
    bool timed = record->end_event || record->inner & WS_RING_OP_HELD || computed;
    struct pending *pending = timed ? pending_take() : NULL;
    if (!pending) {
        if (record->inner & WS_RING_OP_COUNTED)
            stream_copy_done(stream, copy_direction(registry_row(&registry.shape, op.shape)));
        bool wanted = stream->context->timed && !op.result && !(op.flags & WS_OP_CAPTURED);
        event_release(&stream->context->pool, record->begin_event);
        event_release(&stream->context->pool, record->end_event);
        if (wanted)
            pending_add_untimed(&op, why_without_events(record));
        else
            trace_add(WS_FAMILY_op, &op);
        return;
    }
    const struct ws_shape *shape = registry_row(&registry.shape, op.shape);
    /* While the row is being filled, its shape is 0: if the process is killed then, shape 0 tells whoever completes
     * the trace (record/live.h) that the row is not complete. */
    const uint32_t complete = op.shape;
    pending->op.shape = op.shape = 0;
    atomic_signal_fence(memory_order_release);
    *pending = (struct pending){
        .op = op,
        .begin_event = record->begin_event,
        .end_event = record->end_event,
        .copies_before = record->copies_before,
        .late = lateness(record, op.host_end),
        .inner = record->inner & ((1 << WS_RING_OP_LATENESS) - 1),
        .direction = (uint8_t)copy_direction(shape),
        .kind = (uint8_t)shape->kind,
        .detail = record->header.detail & WS_RING_OP_DETAIL,
        .staged = shape_is_staged(shape, op.bytes, op.flags & WS_OP_BLOCKING),
    };
    atomic_signal_fence(memory_order_release);
    pending->op.shape = complete;
    pending_queue(stream, pending);
}

/* Reads the record of an event that belongs to no operation. The event serves as end event for all earlier operations
 * of the stream that have no end event. */
static void read_event(const struct ws_ring_event *record)
{
    struct shim_stream *stream = stream_at(record->header.shape);
    struct pending *pending = pending_take();
    if (!pending) {
        event_release(&stream->context->pool, record->event);
        return;
    }
    *pending = (struct pending){ .end_event = record->event, .kind = WS_OP_UNKNOWN, .direction = COPY_DIRECTIONS };
    pending_queue(stream, pending);
}

/* --- everything else --------------------------------------------------------------------------- */

static void read_call(struct shim_thread *thread, const struct ws_ring_call *record)
{
    struct ws_call row =
        ws_ring_call_row(record, thread->id, ticks_to_ns(record->ticks_begin), ticks_to_ns(record->ticks_end));
    thread->pause_begin = row.host_end;
    trace_add(WS_FAMILY_call, &row);
}

static void read_collective(struct shim_thread *thread, const struct ws_ring_collective *record)
{
    struct ws_collective row =
        ws_ring_collective_row(record, thread->id, ticks_to_ns(record->ticks_begin), ticks_to_ns(record->ticks_end));
    trace_add(WS_FAMILY_collective, &row);
    progress_note_collective(&row);
}

static void read_range(struct shim_thread *thread, const struct ws_ring_range *record)
{
    struct ws_range row =
        ws_ring_range_row(record, thread->id, ticks_to_ns(record->ticks_begin), ticks_to_ns(record->ticks_end));
    trace_add(WS_FAMILY_range, &row);
}

static void read_stack(struct shim_thread *thread, const struct ws_ring_stack *record)
{
    struct ws_stack row = ws_ring_stack_row(record, thread->id, ticks_to_ns(record->ticks));
    trace_add(WS_FAMILY_stack, &row);
}

/* Adds a row for the block of kernel parameters in the record. Equal blocks of one kernel share one row. */
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
        trace_add(WS_FAMILY_params, &row);
    }
    thread->params = (uint32_t)*id;
}

/* Do the shape, the stream and the events to which the operation's record refers exist? */
static bool op_is_sound(const struct ws_ring_op *record)
{
    uint32_t shapes = atomic_load_explicit(&registry.shape.count, memory_order_acquire);
    if (!record->header.shape || record->header.shape > shapes || !record->stream || record->stream > stream_count())
        return false;
    const struct event_pool *pool = &stream_at(record->stream)->context->pool;
    return record->begin_event <= pool->limit && record->end_event <= pool->limit;
}

static bool event_is_sound(const struct ws_ring_event *record)
{
    uint32_t stream = record->header.shape;
    return stream && stream <= stream_count() && record->event &&
           record->event <= stream_at(stream)->context->pool.limit;
}

/* Turns the record into a row of the trace, or into an operation that waits for its events. Returns false if the
 * record is damaged. */
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
    case WS_RING_STACK:
        read_stack(thread, (const struct ws_ring_stack *)record);
        return true;
    case WS_RING_PARAMS:
        read_params(thread, (const struct ws_ring_params *)record);
        return true;
    case WS_RING_EVENT:
        if (!event_is_sound((const struct ws_ring_event *)record))
            return false;
        read_event((const struct ws_ring_event *)record);
        return true;
    default:
        return true; /* a record without content, which only fills the ring up to its end */
    }
}

void ring_reader_read(struct shim_thread *thread, uint64_t head)
{
    uint64_t at = ws_ring_tail(&thread->ring);
    while (at < head) {
        unsigned slots = ws_ring_record_slots(&thread->ring, at, head);
        live_reads_at(at);
        thread->damaged +=
            !slots || !read_record(thread, (const struct ws_ring_header *)ws_ring_slot(&thread->ring, at));
        /* Without a valid size, the start of the next record is unknown. So all slots up to the ring's head are
         * skipped. */
        thread->damaged += slots ? 0 : head - at - 1;
        at = slots ? at + slots : head;
        /* Each record is released as soon as it is read. If the process is killed, whoever completes the trace
         * (record/live.h) begins at the first record that is not released. */
        ws_ring_release(&thread->ring, at);
    }
}
