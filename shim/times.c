#include "times.h"

#include "device_clock.h"
#include "driver_calls.h"

/* What the error of a device time is made of beside the clock's, ns. A stream that is ready takes up to
 * DISPATCH to start its next operation, and an event takes up to EVENT_DISPATCH to be stamped after the
 * operation before it. */
enum {
    DISPATCH = 1500,
    EVENT_DISPATCH = 1000,
};

enum times_state times_read(struct shim_context *context, uint32_t name, int64_t launched)
{
    struct mark *mark = mark_at(&context->pool, name);
    if (mark->state != MARK_UNREAD)
        return mark->state == MARK_READ ? TIMES_DONE : TIMES_FAILED;
    device_clock_begin(context, name, launched);
    if (!device_clock_known(context))
        return TIMES_NOT_YET;
    ws_CUresult result = device_clock_read(context, mark->event, &mark->time, &mark->error);
    if (result == WS_CUDA_ERROR_NOT_READY)
        return TIMES_NOT_YET;
    mark->state = result == WS_CUDA_SUCCESS ? MARK_READ : MARK_FAILED;
    if (result != WS_CUDA_SUCCESS)
        return TIMES_FAILED;
    device_clock_learn(context, name, launched);
    return TIMES_DONE;
}

/* --- from marks to times ----------------------------------------------------------------------- */

struct span {
    int64_t low, high;
};

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Did other streams have copies for the same engine, before this one or since? */
static bool engine_shared(const struct shim_stream *stream, const struct pending *pending)
{
    if (pending->direction >= COPY_DIRECTIONS)
        return false;
    uint32_t all = atomic_load(&stream->context->copies[pending->direction]);
    uint32_t own = atomic_load(&stream->copies[pending->direction]);
    return pending->inner & WS_RING_OP_ENGINE_BUSY || all - own != pending->copies_before;
}

/* When the operation can have begun: not before its stream was ready nor before it was launched, and
 * within the dispatch time of the later of the two. */
static struct span begin_span(const struct shim_stream *stream, const struct pending *pending, int64_t latest)
{
    const struct shim_context *context = stream->context;
    int64_t error;
    int64_t launched = device_clock_from_host(context, pending->op.host_begin, &error) - error;
    int64_t submitted = device_clock_from_host(context, pending->op.host_end, &error) + error + context->submit_ns;
    struct span begin = { launched, latest };
    /* A call that waits for its work returns after it: its return says nothing of the begin. */
    bool bounded_by_call = !(pending->op.flags & WS_OP_BLOCKING);
    if (!pending->begin_mark || mark_at(&context->pool, pending->begin_mark)->state != MARK_READ)
        return begin;
    const struct mark *mark = mark_at(&context->pool, pending->begin_mark);
    begin.low = larger(launched, mark->time - mark->error);
    bool may_be_late = pending->op.flags & (WS_OP_CONTENDED | WS_OP_DEPENDENT) || engine_shared(stream, pending) ||
                       pending->kind == WS_OP_MEMORY_OP;
    if (!may_be_late && bounded_by_call)
        begin.high = larger(mark->time + mark->error, submitted) + DISPATCH;
    begin.high = larger(begin.low, smaller(begin.high, latest));
    return begin;
}

static void set_time(struct span span, int64_t *time, uint32_t *error)
{
    int64_t half = (span.high - span.low + 1) / 2;
    *time = span.low + half;
    *error = (uint32_t)smaller(half, UINT32_MAX);
}

static enum ws_quality begin_quality(const struct shim_stream *stream, const struct pending *pending,
                                     struct span begin)
{
    if (!pending->begin_mark || !(pending->inner & WS_RING_OP_OWN_BEGIN))
        return WS_TIME_INFERRED;
    /* With the stream busy the mark is beside the begin; else the launch is, and its bounds are wider. */
    bool beside = begin.high - begin.low <= 2 * (RESOLUTION + DISPATCH);
    return beside && !engine_shared(stream, pending) ? WS_TIME_MEASURED : WS_TIME_BOUNDED;
}

/* How long before its mark an operation may have ended. Behind a busy stream the mark follows at once. A
 * mark that came to an idle stream stands where it was put in, which is at most the time of both calls
 * after the operation came. */
static int64_t end_slack(const struct shim_context *context, const struct pending *pending, const struct mark *mark)
{
    int64_t error, in_stream = pending->op.host_end + pending->late;
    int64_t arrived = device_clock_from_host(context, in_stream, &error) + error + context->submit_ns;
    if (mark->time - mark->error > arrived)
        return EVENT_DISPATCH;
    return larger(EVENT_DISPATCH, in_stream - pending->op.host_begin);
}

void times_resolve(struct shim_stream *stream, struct pending *pending, uint32_t end_mark)
{
    const struct mark *mark = mark_at(&stream->context->pool, end_mark);
    bool held = pending->inner & WS_RING_OP_HELD;
    /* The mark behind a call that waits for its work is put in when that work is long over. */
    bool blocking = pending->op.flags & WS_OP_BLOCKING;
    bool loose = held || pending->op.flags & WS_OP_CONTENDED;
    struct span begin = begin_span(stream, pending, mark->time + mark->error);
    struct span end = { mark->time - mark->error - end_slack(stream->context, pending, mark),
                        mark->time + mark->error };
    if (blocking) {
        int64_t error;
        int64_t returned = device_clock_from_host(stream->context, pending->op.host_end, &error);
        end.high = smaller(end.high, returned + error);
        begin.high = smaller(begin.high, end.high);
        begin.low = smaller(begin.low, begin.high);
    }
    if (loose || blocking || end.low < begin.low)
        end.low = begin.low;
    if (end.high < end.low)
        end.high = end.low;
    set_time(begin, &pending->op.begin, &pending->op.begin_error);
    set_time(end, &pending->op.end, &pending->op.end_error);
    if (loose || blocking) {
        /* Somewhere in between other operations of the stream ran too, and as a whole they fill the span; or
         * all that is known is the call around it. The span is what to show. */
        pending->op.begin = begin.low;
        pending->op.begin_error = (uint32_t)smaller(begin.high - begin.low, UINT32_MAX);
        pending->op.end = end.high;
        pending->op.end_error = (uint32_t)smaller(end.high - end.low, UINT32_MAX);
    }
    pending->op.flags |= (uint32_t)begin_quality(stream, pending, begin);
    pending->op.flags |= (uint32_t)(loose || blocking ? WS_TIME_BOUNDED : WS_TIME_MEASURED) << 2;
}
