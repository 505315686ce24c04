#include "shim/drain/ring_reader.h"

#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/reserve.h"
#include "record/param_image.h"
#include "record/ring_records.h"
#include "shim/drain/losses.h"
#include "shim/drain/trace.h"
#include "shim/objects/streams.h"
#include "shim/objects/thread.h"
#include "shim/state/phase.h"
#include "shim/state/registry.h"
#include "shim/timing/device_clock.h"
#include "shim/timing/reconstruct.h"
#include "shim/timing/ticks.h"
#include "shim/timing/times.h"

enum { PARAM_SETS = 65536, PENDING_CHUNK = 1024, MOST_WITHOUT_EVENTS = 65536, TAKEN_ASIDE = 64 << 10 };
enum { QUIET_NS = 100000000 }; /* nothing was launched for so long: no event will come */
enum { RING_DETAIL = WS_RING_OP_COMPUTED | WS_RING_OP_GATED | WS_RING_OP_WAITED };

static struct ws_map params_ids = { .limit = PARAM_SETS }; /* hash of the words → id */
static uint32_t params_count;
static struct pending *free_pending;
static int64_t round_began; /* host ns: of operations launched before, none is missing */

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
    trace_add(WS_FAMILY_op, op);
}

static void release_events(struct shim_stream *stream, const struct pending *pending)
{
    event_release(&stream->context->pool, pending->begin_event);
    event_release(&stream->context->pool, pending->end_event);
}

static void queue(struct shim_stream *stream, struct pending *pending)
{
    pending->next = NULL;
    stream->unsorted |= stream->last && stream->last->op.host_end > pending->op.host_end;
    if (stream->last)
        stream->last->next = pending;
    else
        stream->first = pending;
    stream->last = pending;
    stream->waiting++;
}

/* Why an operation has no events: the driver refused them, or none were asked for, during captures or when the driver
 * is about to go. */
static enum ws_loss_reason why_without_events(const struct ws_ring_op *record)
{
    if (record->begin_event || record->inner & WS_RING_OP_OWN_BEGIN)
        return WS_LOSS_DRIVER_REFUSED;
    return shim_phase() & SHIM_TIMING ? WS_LOSS_CAPTURE_UNKNOWN : WS_LOSS_UNTIMED_AT_EXIT;
}

/* ns from the call's return until the end event was in the stream; UINT32_MAX, over four seconds: not known. */
static uint32_t lateness(const struct ws_ring_op *record, int64_t host_end)
{
    uint32_t ticks = record->inner >> WS_RING_OP_LATENESS;
    return ticks == WS_RING_OP_MOST_LATENESS ? UINT32_MAX
                                             : (uint32_t)(ticks_to_ns(record->ticks_end + ticks) - host_end);
}

/* The driver moves pageable memory through pinned memory of its own, within the call. Small copies to the device it
 * only takes aside in asynchronous calls (API synchronization behavior, in the driver API's documentation). */
static bool is_staged(const struct ws_shape *shape, const struct ws_op *op)
{
    if (shape->kind != WS_OP_COPY)
        return false;
    bool at_once = !(op->flags & WS_OP_BLOCKING) && op->bytes <= TAKEN_ASIDE;
    return shape->to_space == WS_SPACE_PAGEABLE || (shape->from_space == WS_SPACE_PAGEABLE && !at_once);
}

static void read_op(struct shim_thread *thread, const struct ws_ring_op *record)
{
    struct ws_op op = {
        .shape = record->header.shape,
        .thread = thread->id,
        .correlation = record->correlation,
        .host_begin = ticks_to_ns(record->ticks_begin),
        .host_end = ticks_to_ns(record->ticks_end),
        .flags = record->header.detail & ~(uint32_t)RING_DETAIL,
        .params = record->inner & WS_RING_OP_HAS_PARAMS ? thread->params : 0,
        .bytes = record->bytes,
        .result = record->result,
    };
    thread->params = 0;
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
            add_untimed(&op, why_without_events(record));
        else
            trace_add(WS_FAMILY_op, &op);
        return;
    }
    const struct ws_shape *shape = registry_row(&registry.shape, op.shape);
    *pending = (struct pending){
        .op = op,
        .begin_event = record->begin_event,
        .end_event = record->end_event,
        .copies_before = record->copies_before,
        .late = lateness(record, op.host_end),
        .inner = record->inner & ((1 << WS_RING_OP_LATENESS) - 1),
        .direction = (uint8_t)copy_direction(shape),
        .kind = (uint8_t)shape->kind,
        .detail = record->header.detail & RING_DETAIL,
        .staged = is_staged(shape, &op),
    };
    queue(stream, pending);
}

/* An event without an operation: it ends the operations before it that have no end event. */
static void read_event(const struct ws_ring_event *record)
{
    struct shim_stream *stream = stream_at(record->header.shape);
    struct pending *pending = pending_take();
    if (!pending) {
        event_release(&stream->context->pool, record->event);
        return;
    }
    *pending = (struct pending){ .end_event = record->event, .kind = WS_OP_UNKNOWN, .direction = COPY_DIRECTIONS };
    queue(stream, pending);
}

/* The event that ends an operation without one of its own: the own begin event of a later operation, or the stream's
 * next end event. 0: not there yet. */
static uint32_t closing_event(const struct pending *pending)
{
    unsigned steps = 0;
    for (const struct pending *next = pending; next && steps < MOST_WITHOUT_EVENTS; next = next->next, steps++) {
        if (next != pending && next->inner & WS_RING_OP_OWN_BEGIN && next->begin_event)
            return next->begin_event;
        if (next->end_event)
            return next->end_event;
    }
    return 0;
}

static uint64_t settled;

uint64_t ring_reader_settled(void)
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

static void add_settled(struct shim_stream *stream, struct pending *pending, bool timed)
{
    if (timed)
        trace_add(WS_FAMILY_op, &pending->op);
    else
        add_untimed(&pending->op, WS_LOSS_DRIVER_REFUSED);
    release_events(stream, pending);
    pending_drop(pending);
}

static void harvest_each(struct shim_stream *stream)
{
    struct pending *pending;
    while ((pending = stream->first)) {
        uint32_t end_event = closing_event(pending);
        bool hopeless = !end_event && (stream->waiting > MOST_WITHOUT_EVENTS || stream->closing);
        enum times_state state = end_event  ? times_read(stream->context, end_event, pending->op.host_end)
                                 : hopeless ? TIMES_FAILED
                                            : TIMES_NOT_YET;
        if (state == TIMES_NOT_YET)
            return;
        if (pending->begin_event)
            times_read(stream->context, pending->begin_event, INT64_MIN);
        take_first(stream);
        if (pending->kind == WS_OP_UNKNOWN && !pending->op.shape) {
            release_events(stream, pending);
            pending_drop(pending);
            continue;
        }
        if (state == TIMES_DONE)
            times_resolve(stream, pending, end_event);
        add_settled(stream, pending, state == TIMES_DONE);
    }
}

/* --- few events --------------------------------------------------------------------------------- */

/* Merges two lists that are in the order of their launches. */
static struct pending *merged(struct pending *a, struct pending *b)
{
    struct pending head, *last = &head;
    while (a && b) {
        struct pending **sooner = b->op.host_end < a->op.host_end ? &b : &a;
        last->next = *sooner;
        last = *sooner;
        *sooner = last->next;
    }
    last->next = a ? a : b;
    return head.next;
}

/* Threads that share a stream put in their operations in turn; their rings are read one after the other. */
static struct pending *sorted(struct pending *list)
{
    struct pending *piles[32] = { NULL }; /* of 2^i */
    while (list) {
        struct pending *one = list;
        list = list->next;
        one->next = NULL;
        unsigned pile = 0;
        for (; pile < 31 && piles[pile]; pile++) {
            one = merged(piles[pile], one);
            piles[pile] = NULL;
        }
        piles[pile] = pile < 31 || !piles[pile] ? one : merged(piles[pile], one);
    }
    for (unsigned pile = 0; pile < 32; pile++)
        list = merged(piles[pile], list);
    return list;
}

static void sort_by_launch(struct shim_stream *stream)
{
    if (!stream->unsorted || !stream->first)
        return;
    stream->unsorted = false;
    stream->first = sorted(stream->first);
    for (stream->last = stream->first; stream->last->next;)
        stream->last = stream->last->next;
}

/* The end of the stream's next window: the first operation with an end event, or the last of all where no more is to
 * come. NULL: not there yet. */
static struct pending *window_end(const struct shim_stream *stream, bool last_round)
{
    struct pending *at = stream->first;
    while (!at->end_event && at->next)
        at = at->next;
    bool over = last_round || stream->closing || ws_clock_ns() - at->op.host_end > QUIET_NS;
    return at->end_event || over || stream->waiting > MOST_WITHOUT_EVENTS ? at : NULL;
}

/* Computes the window without an event behind it, if all of it has ended by now. */
static bool compute_ended(struct shim_stream *stream, struct pending *end)
{
    bool known = stream->line_known;
    int64_t free = stream->line_free, error;
    float var = stream->line_var;
    reconstruct(stream, stream->first, end, 0);
    if (stream->line_free <= device_clock_from_host(stream->context, ws_clock_ns(), &error))
        return true;
    stream->line_known = known;
    stream->line_free = free;
    stream->line_var = var;
    return false;
}

/* Rows of the stream's operations up to this one. `measured`: its events were read. */
static void add_window(struct shim_stream *stream, const struct pending *end, bool computed, bool measured)
{
    bool is_end = false;
    while (!is_end) {
        struct pending *pending = take_first(stream);
        is_end = pending == end;
        add_settled(stream, pending, pending->detail & WS_RING_OP_COMPUTED ? computed : measured);
    }
}

static void harvest_windows(struct shim_stream *stream, bool last_round)
{
    struct pending *end;
    sort_by_launch(stream);
    while (stream->first && (end = window_end(stream, last_round))) {
        enum times_state state =
            end->end_event ? times_read(stream->context, end->end_event, end->op.host_end) : TIMES_FAILED;
        bool shared = atomic_load_explicit(&stream->user, memory_order_relaxed) == STREAM_SHARED;
        if (state == TIMES_NOT_YET || (shared && !last_round && end->op.host_end > round_began))
            return;
        if (end->begin_event)
            times_read(stream->context, end->begin_event, INT64_MIN);
        bool computed = device_clock_known(stream->context);
        if (state == TIMES_DONE)
            reconstruct(stream, stream->first, end, end->end_event);
        else if (computed && !end->end_event && !compute_ended(stream, end))
            return;
        else if (computed && end->end_event)
            reconstruct(stream, stream->first, end, 0);
        add_window(stream, end, computed, state == TIMES_DONE);
    }
}

void ring_reader_begin_round(int64_t now)
{
    round_began = now;
}

void ring_reader_harvest(struct shim_stream *stream, bool last_round)
{
    if (shim_options.event_placement == WS_EVENTS_SAMPLED)
        harvest_windows(stream, last_round);
    else
        harvest_each(stream);
}

/* The operations up to this one are computed, and no other. */
static struct pending *computed_end(struct pending *first)
{
    while (first->next && first->next->detail & WS_RING_OP_COMPUTED)
        first = first->next;
    return first;
}

/* Its events are gone, or their driver is. */
static void add_unread(struct shim_stream *stream)
{
    struct pending *pending = take_first(stream);
    if (pending->op.shape)
        add_untimed(&pending->op, WS_LOSS_UNTIMED_AT_EXIT);
    pending_drop(pending);
}

void ring_reader_give_up(struct shim_stream *stream)
{
    sort_by_launch(stream);
    while (stream->first) {
        bool computed = stream->first->detail & WS_RING_OP_COMPUTED && device_clock_known(stream->context);
        struct pending *end = computed ? computed_end(stream->first) : stream->first;
        if (computed && compute_ended(stream, end))
            add_window(stream, end, true, false);
        else
            add_unread(stream);
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
    trace_add(WS_FAMILY_call, &row);
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
    trace_add(WS_FAMILY_collective, &row);
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
    trace_add(WS_FAMILY_range, &row);
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
        trace_add(WS_FAMILY_params, &row);
    }
    thread->params = (uint32_t)*id;
}

/* Do dictionaries, streams and pools have what the operation names? */
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
    case WS_RING_EVENT:
        if (!event_is_sound((const struct ws_ring_event *)record))
            return false;
        read_event((const struct ws_ring_event *)record);
        return true;
    default:
        return true; /* padding */
    }
}

void ring_reader_read(struct shim_thread *thread, uint64_t head)
{
    uint64_t at = ws_ring_tail(&thread->ring);
    while (at < head) {
        unsigned slots = ws_ring_record_slots(&thread->ring, at, head);
        thread->damaged +=
            !slots || !read_record(thread, (const struct ws_ring_header *)ws_ring_slot(&thread->ring, at));
        /* Where the next record begins is not known then: the rest is skipped. */
        thread->damaged += slots ? 0 : head - at - 1;
        at = slots ? at + slots : head;
    }
    ws_ring_release(&thread->ring, at);
}
