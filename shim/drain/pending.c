#include "shim/drain/pending.h"

#include <stddef.h>

#include "base/clock.h"
#include "base/minmax.h"
#include "base/reserve.h"
#include "record/ring_records.h"
#include "shim/drain/losses.h"
#include "shim/drain/trace.h"
#include "shim/objects/streams.h"
#include "shim/state/live.h"
#include "shim/state/phase.h"
#include "shim/timing/device_clock.h"
#include "shim/timing/reconstruct.h"

enum { PENDING_CHUNK = 1024, MOST_WITHOUT_EVENTS = 65536 };
/* ns; if a stream had no launch for this long, the operations in its queue no longer wait for an end event */
enum { QUIET_NS = 100000000 };
/* If other threads launched more than this many operations while an event was put into their stream, its place among
 * them is so uncertain that it tells nothing. */
enum { PASSED_MOST = 8 };

static struct pending *free_pending;
/* Host ns at which the drain's current round began to read the threads' rings. When the rings are read, all
 * operations that were launched before this time are in their streams' queues. */
static int64_t round_began;
static uint64_t settled;

static struct pending *make_chunk(void)
{
    uint32_t part;
    size_t size = PENDING_CHUNK * sizeof(struct pending);
    struct pending *chunk = live_take(size, &part);
    if (!part)
        return ws_reserve(size);
    live_memory()->stride = sizeof(*chunk);
    live_memory()->first = offsetof(struct pending, op);
    live_part_is(part, WS_LIVE_WAITING, 0, NULL, chunk, size);
    return chunk;
}

struct pending *pending_take(void)
{
    if (!free_pending) {
        struct pending *chunk = make_chunk();
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
    pending->op.shape =
        0; /* tells whoever completes the trace after a kill that this memory holds no operation (record/live.h) */
    pending->next = free_pending;
    free_pending = pending;
}

void pending_queue(struct shim_stream *stream, struct pending *pending)
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

void pending_add_untimed(struct ws_op *op, enum ws_loss_reason reason)
{
    losses_count(op->flags & WS_OP_POOL_DRY ? WS_LOSS_POOL_DRY : reason, 1);
    trace_add(WS_FAMILY_op, op);
}

static void release_events(struct shim_stream *stream, const struct pending *pending)
{
    event_release(&stream->context->pool, pending->begin_event);
    event_release(&stream->context->pool, pending->end_event);
}

/* Returns the id of the event that shows when the operation has ended; 0: there is no such event yet. This event is
 * the operation's own end event. If the operation has no end event, the event is the first one of a later operation
 * of the stream: a begin event that was recorded for the later operation alone, or an end event. */
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

uint64_t pending_settled(void)
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
    if (stream->searched == pending)
        stream->searched = NULL;
    if (pending->inner & WS_RING_OP_COUNTED)
        stream_copy_done(stream, (enum copy_direction)pending->direction);
    return pending;
}

static void add_settled(struct shim_stream *stream, struct pending *pending, bool timed)
{
    if (timed)
        trace_add(WS_FAMILY_op, &pending->op);
    else
        pending_add_untimed(&pending->op, WS_LOSS_DRIVER_REFUSED);
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

/* --- few events (--event-placement sampled): a window is the operations up to one with an end event --- */

/* Merges two lists of operations, each in the order of launches. */
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

/* Sorts a stream's operations by the time of launch (a merge sort). Threads that share a stream may launch
 * alternately, but the drain reads all records of one thread before those of the next. */
static struct pending *sorted(struct pending *list)
{
    struct pending *piles[32] = { NULL }; /* pile i: 2^i operations, sorted */
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
    stream->searched = NULL;
    stream->first = sorted(stream->first);
    for (stream->last = stream->first; stream->last->next;)
        stream->last = stream->last->next;
}

static bool is_shared(const struct shim_stream *stream)
{
    return atomic_load_explicit(&stream->user, memory_order_relaxed) == STREAM_SHARED;
}

/* Host ns by which the operation's end event had been put into the stream. INT64_MAX: not known. */
static int64_t event_put(const struct pending *pending)
{
    return pending->late == UINT32_MAX ? INT64_MAX : pending->op.host_end + pending->late;
}

/* Was the operation's end event put into the stream after the drain's round began? If it was, operations that precede
 * the event in the stream may still be unread, in the rings of other threads. */
static bool comes_later(const struct pending *pending)
{
    int64_t put = event_put(pending);
    return pending->end_event && put != INT64_MAX && put > round_began;
}

/* Other threads may have launched operations into the stream between the operation `at` and its end event. Makes this
 * event the end event of the last of these operations. The event is not used if that last operation has an end event
 * of its own, or if its times are not computed (WS_RING_OP_COMPUTED). The event is also not used if it is not known
 * when the event was put into the stream. */
static void move_event(struct shim_stream *stream, struct pending *at)
{
    struct pending *last = at;
    int64_t put = event_put(at);
    unsigned passed = 0;
    for (; passed <= PASSED_MOST && last->next && last->next->op.host_end < put; passed++)
        last = last->next;
    if (last == at)
        return;
    if (last->detail & WS_RING_OP_COMPUTED && !last->end_event && put != INT64_MAX && passed <= PASSED_MOST) {
        last->end_event = at->end_event;
        last->late = (uint32_t)(put - last->op.host_end);
        last->moved = (uint32_t)ws_min(last->op.host_end - at->op.host_end + at->moved, (int64_t)UINT32_MAX);
    } else {
        event_release(&stream->context->pool, at->end_event);
    }
    at->end_event = 0;
}

/* Called for each operation of a stream that several threads use. If another thread launched into the stream at the
 * same time, there may be other operations between this operation's events. In that case the operation keeps its
 * begin event only if it may have waited for other work (WS_RING_OP_WAITED), because the begin event shows when the
 * wait was over. */
static void sort_events(struct shim_stream *stream, struct pending *at)
{
    if (!(at->op.flags & WS_OP_CONTENDED && at->detail & WS_RING_OP_COMPUTED))
        return;
    if (at->begin_event && !(at->detail & WS_RING_OP_WAITED)) {
        event_release(&stream->context->pool, at->begin_event);
        at->begin_event = 0;
    }
    if (at->end_event)
        move_event(stream, at);
}

/* Returns the last operation of the stream's next window (the operations whose times are computed together). A window
 * ends with the first operation that has an end event. If no more end events are expected, the window ends with the
 * last operation in the queue. NULL: the window is not complete yet. */
static struct pending *window_end(struct shim_stream *stream, bool last_round)
{
    bool shared = is_shared(stream);
    /* Launches without events may be many: those that an earlier round has looked at are skipped. */
    struct pending *at = stream->searched && !shared ? stream->searched : stream->first;
    for (;; at = at->next) {
        if (shared && !last_round && comes_later(at))
            return NULL;
        if (shared)
            sort_events(stream, at);
        if (at->end_event || !at->next)
            break;
    }
    stream->searched = shared ? NULL : at;
    bool over = last_round || stream->closing || ws_clock_ns() - at->op.host_end > QUIET_NS;
    return at->end_event || over || stream->waiting > MOST_WITHOUT_EVENTS ? at : NULL;
}

/* Computes the times of the operations from the stream's first one to `end`, which has no end event. If, by the
 * computed times, the operation `end` still runs now, restores the stream's line, and returns false. */
static bool compute_ended(struct shim_stream *stream, struct pending *end)
{
    const struct stream_line line = stream->line;
    int64_t error;
    reconstruct(stream, stream->first, end, 0);
    if (stream->line.free <= device_clock_from_host(stream->context, ws_clock_ns(), &error))
        return true;
    stream->line = line;
    return false;
}

/* Adds the rows of the stream's operations up to `end`. computed: the operations with WS_RING_OP_COMPUTED have device
 * times. measured: the operations without this flag have device times. */
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
        if (state == TIMES_NOT_YET || (is_shared(stream) && !last_round && end->op.host_end > round_began))
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

void pending_begin_round(int64_t now)
{
    round_began = now;
}

void pending_harvest(struct shim_stream *stream, bool last_round)
{
    if (shim_options.event_placement == WS_EVENTS_SAMPLED)
        harvest_windows(stream, last_round);
    else
        harvest_each(stream);
}

/* Returns the last of the consecutive operations, beginning with `first`, whose times are computed. */
static struct pending *computed_end(struct pending *first)
{
    while (first->next && first->next->detail & WS_RING_OP_COMPUTED)
        first = first->next;
    return first;
}

/* Adds the row of the stream's first operation, without device times: its events can no longer be read. */
static void add_unread(struct shim_stream *stream)
{
    struct pending *pending = take_first(stream);
    if (pending->op.shape)
        pending_add_untimed(&pending->op, WS_LOSS_UNTIMED_AT_EXIT);
    pending_drop(pending);
}

void pending_give_up(struct shim_stream *stream)
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
