#include "shim/timing/times.h"

#include "base/minmax.h"
#include "base/reserve.h"
#include "base/root.h"
#include "shim/hook/driver_calls.h"
#include "shim/objects/shapes.h"
#include "shim/state/registry.h"
#include "shim/timing/arrival.h"
#include "shim/timing/device_clock.h"
#include "shim/timing/dispatch.h"
#include "shim/timing/durations.h"
#include "shim/timing/instant.h"

/* Sources of error besides the clock, in ns. DISPATCH: the longest time that a ready stream takes to start its next
 * operation, also after an event (dispatch_after_event in timing/dispatch.h). DISPATCH_LEAST: the shortest time from
 * an event to the start of the operation after it. EVENT_DISPATCH: the longest time from the end of an operation to
 * the event after it. HELD_UP: an operation's end does not count as measured if the span in which it can lie is
 * longer than this. LONG_CALL: a launch may have arrived long before its call returned, if the call took longer than
 * this. LENGTHS_MEANT, a number: the usual length of an operation is the mean of about this many
 * operations. */
enum {
    DISPATCH = 2200,
    DISPATCH_LEAST = 700,
    EVENT_DISPATCH = 1000,
    HELD_UP = 20000,
    LONG_CALL = 10000,
    LENGTHS_MEANT = 8,
};

enum times_state times_read(struct shim_context *context, uint32_t name, int64_t launched)
{
    struct pool_event *event = event_at(&context->pool, name);
    if (event->state != EVENT_UNREAD)
        return event->state == EVENT_READ ? TIMES_DONE : TIMES_FAILED;
    device_clock_begin(context, name, launched);
    if (!device_clock_known(context))
        return TIMES_NOT_YET;
    ws_CUresult result = device_clock_read(context, event->handle, &event->time, &event->error);
    if (result == WS_CUDA_ERROR_NOT_READY)
        return TIMES_NOT_YET;
    event->state = result == WS_CUDA_SUCCESS ? EVENT_READ : EVENT_FAILED;
    if (result != WS_CUDA_SUCCESS)
        return TIMES_FAILED;
    device_clock_learn(context, name, launched);
    return TIMES_DONE;
}

/* --- from events to times ----------------------------------------------------------------------- */

struct span {
    int64_t low, high;
};

uint32_t times_copies_beside(const struct shim_stream *stream, const struct pending *pending)
{
    if (pending->direction >= COPY_DIRECTIONS)
        return 0;
    /* A copy of this stream that is counted between the two loads makes the number too large, never too small. */
    uint32_t own = atomic_load(&stream->copies[pending->direction]);
    uint32_t others = atomic_load(&stream->context->copies[pending->direction]) - own - pending->copies_before;
    return pending->inner & WS_RING_OP_ENGINE_BUSY ? ws_max(others, 1u) : others;
}

static bool engine_shared(const struct shim_stream *stream, const struct pending *pending)
{
    return times_copies_beside(stream, pending) != 0;
}

/* What is known of an operation, besides its row (struct ws_op) and its events. */
struct known {
    const struct pool_event *before; /* the event before the operation; NULL: none was read */
    const struct pool_event *after;  /* the event after the operation */
    /* Start and end of the operation's call, on the device's clock. */
    int64_t launched, launch_error, returned, return_error;
    bool waits; /* the operation's call returns about when the operation is done */
    /* The operation's events enclose other operations, too. So it is not known at which time between the events this
     * operation ran. */
    bool loose;
};

static struct known known_of(const struct shim_context *context, const struct pending *pending,
                             const struct pool_event *after)
{
    struct known known = { .after = after,
                           .waits = pending->op.flags & WS_OP_BLOCKING || pending->staged,
                           .loose = pending->inner & WS_RING_OP_HELD || pending->op.flags & WS_OP_CONTENDED };
    if (pending->begin_event && event_at(&context->pool, pending->begin_event)->state == EVENT_READ)
        known.before = event_at(&context->pool, pending->begin_event);
    known.launched = device_clock_from_host(context, pending->op.host_begin, &known.launch_error);
    known.returned = device_clock_from_host(context, pending->op.host_end, &known.return_error);
    return known;
}

/* Can something besides its launch and the event before it have delayed the operation's start? */
static bool may_be_late(const struct shim_stream *stream, const struct pending *pending)
{
    return pending->op.flags & (WS_OP_CONTENDED | WS_OP_DEPENDENT) || engine_shared(stream, pending) ||
           pending->kind == WS_OP_MEMORY_OP;
}

/* Returns the span in which the operation can have started. The span begins when the operation was launched and its
 * stream was ready. The span ends at most DISPATCH later or, if something may have delayed the operation, at
 * `latest`. */
static struct span begin_span(const struct shim_stream *stream, const struct pending *pending,
                              const struct known *known, int64_t latest)
{
    int64_t launched = known->launched - known->launch_error;
    int64_t submitted = known->returned + known->return_error + stream->context->submit_ns;
    struct span begin = { launched, latest };
    /* A call that waits for its operation returns after the operation's end, so its return does not bound the
     * start. */
    bool bounded_by_call = !(pending->op.flags & WS_OP_BLOCKING);
    const struct pool_event *event = known->before;
    if (!event)
        return begin;
    begin.low = ws_max(launched, event->time - event->error + DISPATCH_LEAST);
    if (bounded_by_call && !may_be_late(stream, pending))
        begin.high = ws_max(event->time + event->error, submitted) + DISPATCH;
    begin.high = ws_max(begin.low, ws_min(begin.high, latest));
    return begin;
}

static int64_t middle(struct span span)
{
    return span.low + (span.high - span.low + 1) / 2;
}

/* Sets *time to `shown`, and *error so that time ± error contains the whole span. */
static void set_time(struct span span, int64_t shown, int64_t *time, uint32_t *error)
{
    *time = shown;
    *error = (uint32_t)ws_min(ws_max(shown - span.low, span.high - shown), UINT32_MAX);
}

static enum ws_quality begin_quality(const struct shim_stream *stream, const struct pending *pending,
                                     struct span begin)
{
    if (!pending->begin_event || !(pending->inner & WS_RING_OP_OWN_BEGIN))
        return WS_TIME_INFERRED;
    /* In a busy stream the start follows the begin event closely. In an idle stream the start follows the launch,
     * whose time is less certain. */
    bool beside = begin.high - begin.low <= 2 * (RESOLUTION + DISPATCH - DISPATCH_LEAST);
    return beside && !engine_shared(stream, pending) ? WS_TIME_MEASURED : WS_TIME_BOUNDED;
}

/* The longest time from an operation's end to its end event. An event that arrives at the device while the operation
 * runs completes right after the operation. An event that arrives later completes on arrival. In that case the
 * operation may have ended earlier, by at most the time from its launch until the event was put into the stream. */
static int64_t end_slack(const struct shim_context *context, const struct pending *pending,
                         const struct pool_event *event)
{
    int64_t error, in_stream = pending->op.host_end + pending->late;
    int64_t arrived = device_clock_from_host(context, in_stream, &error) + error + context->submit_ns;
    if (event->time - event->error > arrived)
        return EVENT_DISPATCH;
    return ws_max(EVENT_DISPATCH, in_stream - pending->op.host_begin);
}

/* For each shape (a kind of operation, such as a kernel with its grid): the usual length of its operations, and how
 * many bytes the latest of them moved. Index of the array: shape id − 1. */
struct usual {
    uint32_t length; /* usual length of an operation, ns; 0: not known */
    uint32_t bytes;
};
static struct usual *usual;

static uint32_t kept_bytes(const struct pending *pending)
{
    return pending->op.bytes < UINT32_MAX ? (uint32_t)pending->op.bytes : UINT32_MAX;
}

/* How long operations of this shape usually take, scaled to this operation's bytes; 0: not known. */
static int64_t usual_length(const struct pending *pending)
{
    if (!usual || !pending->op.shape)
        return 0;
    const struct usual *of_shape = &usual[pending->op.shape - 1];
    int64_t length = of_shape->length;
    return of_shape->bytes ? (int64_t)((double)length * kept_bytes(pending) / of_shape->bytes) : length;
}

static void learn_length(const struct pending *pending)
{
    if (!pending->op.shape ||
        pending->kind == WS_OP_MEMORY_OP) /* the length of a wait says nothing about the next wait */
        return;
    if (!usual)
        usual = ws_reserve(registry.shape.limit * sizeof(*usual));
    if (!usual)
        return;
    int64_t length = pending->op.end - pending->op.begin, before = usual_length(pending);
    length = before ? before + (length - before) / LENGTHS_MEANT : length;
    usual[pending->op.shape - 1] = (struct usual){ (uint32_t)ws_min(length, UINT32_MAX), kept_bytes(pending) };
}

static bool is_wide(struct span span)
{
    return span.high - span.low > HELD_UP;
}

/* Did the operation most likely start right after the event before it? It did if the operation was already in the
 * stream when the event completed, and if the span of its start ends soon after the event. */
static bool follows_event(const struct shim_context *context, const struct known *known, struct span begin)
{
    const struct pool_event *event = known->before;
    return event && !known->waits && begin.high <= event->time + event->error + DISPATCH &&
           event->time - event->error > known->returned + known->return_error + context->submit_ns;
}

/* Did the event after the operation wait in the stream for the operation's end? It did if it completed surely later
 * than it arrived. The clocks' comparison is too inexact to tell for short kernels; the arrival is known better. */
static bool event_waited(const struct shim_context *context, const struct pending *pending, const struct known *known,
                         struct span end)
{
    if (known->after->time - known->after->error - end.low <= EVENT_DISPATCH)
        return true;
    double var;
    int64_t in_stream = pending->op.host_end + pending->late;
    return arrival_known(&context->arrival) &&
           (double)(known->after->time - arrival_of(&context->arrival, in_stream, &var)) >
               STATED * ws_root(var + dispatch_event_var(context)) + EVENT_DISPATCH;
}

/* The operation's end within the span `end`, if this span is not wide. If the event after the operation waited in the
 * stream for the operation's end, the event and the end count as simultaneous, as dispatch_after_event
 * (timing/dispatch.h) assumes. If the event did not wait, the operation has its usual length if
 * that is short enough. Otherwise it ended halfway between its start and the event. If the arrival of launches is not
 * known, the end is the middle of the span. */
static int64_t end_shown(const struct shim_context *context, const struct pending *pending, const struct known *known,
                         struct span end)
{
    if (event_waited(context, pending, known, end))
        return ws_min(known->after->time, end.high);
    if (!arrival_known(&context->arrival))
        return middle(end);
    int64_t length = usual_length(pending), most = known->after->time - pending->op.begin;
    length = length && length <= most ? length : most / 2;
    return ws_clamp(pending->op.begin + length, end.low, end.high);
}

/* When the operation started, if it waited only for its launch and for the event before it. */
static int64_t arrived_or_free(const struct shim_context *context, const struct pending *pending,
                               const struct known *known)
{
    double var;
    int64_t came = arrival_of(&context->arrival, pending->op.host_end, &var);
    int64_t begin = came + (int64_t)dispatch_after_operation(context);
    return known->before ? ws_max(begin, known->before->time + (int64_t)dispatch_after_event(context)) : begin;
}

/* Chooses the operation's start within the span `begin`, never before the launch. If this span is wide (because the
 * thread was delayed in the launch, or the copy engine was busy) but the end is known, the start is the end minus the
 * usual length. If the stream was busy, the start follows the event before the operation (dispatch_after_event). If
 * the call waits for the operation, the operation starts soon after the call starts, but not before the stream is
 * free. If several operations share the span (loose), the start of the span is used. In an idle stream, the start
 * follows the launch's arrival, if that is known well. In all other cases the middle of the span is used. */
static int64_t likely_begin(const struct shim_stream *stream, const struct pending *pending,
                            const struct known *known, struct span begin, struct span end)
{
    const struct shim_context *context = stream->context;
    if (known->loose)
        return ws_max(begin.low, known->launched);
    if (follows_event(context, known, begin))
        return ws_clamp(known->before->time + (int64_t)dispatch_after_event(context), begin.low, begin.high);
    if (!known->waits) {
        int64_t length = is_wide(begin) && !is_wide(end) ? usual_length(pending) : 0;
        bool waited = length && event_waited(context, pending, known, end);
        int64_t shown = middle(begin);
        if (length)
            shown = ws_min(begin.high, (waited ? ws_min(known->after->time, end.high) : middle(end)) - length);
        else if (!is_wide(begin) && !may_be_late(stream, pending) && arrival_known(&context->arrival) &&
                 pending->op.host_end - pending->op.host_begin <= LONG_CALL)
            shown = ws_min(begin.high, arrived_or_free(context, pending, known));
        return ws_max(ws_max(begin.low, known->launched), shown);
    }
    int64_t free = known->before ? known->before->time : begin.low;
    int64_t came = known->launched + context->shortest_submit /
                                         2; /* half, because shortest_submit covers the way to the device and back */
    return ws_max(ws_max(begin.low, known->launched), ws_min(begin.high, ws_max(free, came)));
}

/* Chooses the operation's end within the span `end`. If several operations share the span (loose), the span's end is
 * used. If the call waits for the operation, the call's return tells the end better than the event, unless the stream
 * was still busy at that time. If the span is wide, because the thread was delayed before it recorded the event, the
 * operation gets its usual length. In all other cases end_shown tells the end. */
static int64_t likely_end(const struct shim_context *context, const struct pending *pending,
                          const struct known *known, struct span end)
{
    bool busy = end.high - known->returned > (int64_t)pending->late + context->submit_ns;
    if (known->loose || (known->waits && busy))
        return end.high;
    if (known->waits)
        return ws_min(end.high, known->returned);
    if (!is_wide(end))
        return end_shown(context, pending, known, end);
    int64_t length = usual_length(pending);
    return ws_max(end.low, ws_min(end.high, pending->op.begin + (length ? length : EVENT_DISPATCH)));
}

/* In bytes. A larger copy takes longer than a thread takes to wake up. */
enum { SHORT_COPY = 256 << 10 };

/* Is the operation a short copy whose end is known only from the return of its call, which waits for the copy? */
static bool is_waited_copy(const struct pending *pending, const struct known *known)
{
    bool may_go_on = pending->staged && pending->direction != COPY_TO_HOST && pending->op.bytes > SHAPE_TAKEN_ASIDE;
    return known->waits && !known->loose && !may_go_on && pending->kind == WS_OP_COPY && pending->op.shape &&
           pending->op.bytes <= SHORT_COPY;
}

/* Sets the times of a short copy whose call waits for the copy. The thread may wake up long after the copy's end, so
 * the span in which the copy ran is only an upper bound of its length. The copy's length is set to at most the
 * smallest such bound among the copies of this shape and size class. The copy is placed at the start of the span, or
 * at the end of the span if the copy may have waited for other work. */
static void show_waited_copy(const struct shim_stream *stream, struct pending *pending, struct span begin,
                             struct span end)
{
    struct duration *duration = duration_of_other(pending->op.shape, pending->op.bytes);
    bool taken_aside = pending->staged && pending->direction == COPY_TO_DEVICE; /* runs after its call has returned */
    int64_t from = pending->op.begin, to = taken_aside ? end.high : pending->op.end;
    duration_at_most(duration, (double)(end.high - begin.low));
    double expected = duration->samples ? duration_expected(duration) : (double)duration->most;
    int64_t length = ws_min(to - from, (int64_t)expected);
    if (pending->op.flags & WS_OP_DEPENDENT || engine_shared(stream, pending))
        set_time(begin, ws_min(to - length, begin.high), &pending->op.begin, &pending->op.begin_error);
    else
        to = from + length;
    set_time(end, to, &pending->op.end, &pending->op.end_error);
}

void times_resolve(struct shim_stream *stream, struct pending *pending, uint32_t end_event)
{
    const struct shim_context *context = stream->context;
    const struct pool_event *event = event_at(&context->pool, end_event);
    const struct known known = known_of(context, pending, event);
    struct span begin = begin_span(stream, pending, &known, event->time + event->error);
    struct span end = { event->time - event->error - end_slack(context, pending, event), event->time + event->error };
    if (known.waits && !pending->staged) {
        end.high = ws_min(end.high, known.returned + known.return_error);
        begin.high = ws_min(begin.high, end.high);
        begin.low = ws_min(begin.low, begin.high);
    }
    /* If the call waits for the operation, the end event is put into the stream long after the operation's end, and
     * says little about this end. */
    if (known.loose || known.waits || end.low < begin.low)
        end.low = begin.low;
    if (end.high < end.low)
        end.high = end.low;
    set_time(begin, likely_begin(stream, pending, &known, begin, end), &pending->op.begin, &pending->op.begin_error);
    int64_t shown = ws_max(likely_end(context, pending, &known, end), pending->op.begin);
    set_time(end, shown, &pending->op.end, &pending->op.end_error);
    if (is_waited_copy(pending, &known) && shown < end.high)
        show_waited_copy(stream, pending, begin, end);
    bool measured = !known.loose && !known.waits && !is_wide(end);
    if (measured && !is_wide(begin) && event_waited(context, pending, &known, end))
        learn_length(pending);
    pending->op.flags |= (uint32_t)begin_quality(stream, pending, begin);
    pending->op.flags |= (uint32_t)(measured ? WS_TIME_MEASURED : WS_TIME_BOUNDED) << 2;
}
