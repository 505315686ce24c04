#include "times.h"

#include <string.h>

#include "base/clock.h"
#include "driver_calls.h"
#include "shim.h"

/* What the error of a device time is made of, ns. cuda.h gives events a resolution of "around 0.5
 * microseconds". A stream that is ready takes up to DISPATCH to start its next operation, and an event
 * takes up to EVENT_DISPATCH to be stamped after the operation before it. */
enum {
    RESOLUTION = 500,
    DISPATCH = 1500,
    EVENT_DISPATCH = 1000,
};

enum {
    BASE_PERIOD = 1000000000, /* cuEventElapsedTime is a float32: its steps are 61 ns at one second */
    FIT_PERIOD = 250000000,
    FIT_WINDOW = 200000000, /* least time between two comparisons that give a drift */
    FIT_RENEWAL = 60,       /* comparisons after which the first one is replaced */
    PROBES = 3,
    PROBE_DEADLINE = 300000, /* a probe that takes longer found the device busy */
};
static const double UNKNOWN_DRIFT = 100e-6; /* of a clock compared only once: any crystal is better */

/* --- the clock --------------------------------------------------------------------------------- */

static struct clock_base *current_base(struct shim_context *context)
{
    return &context->base[context->current_base];
}

/* The shim has no libm to call. */
static int64_t rounded(double value)
{
    return (int64_t)(value + (value < 0 ? -0.5 : 0.5));
}

static double magnitude(double value)
{
    return value < 0 ? -value : value;
}

/* The distance to the next float of larger magnitude. */
static double float_step(float value)
{
    uint32_t bits;
    float next;
    memcpy(&bits, &value, sizeof(bits));
    bits++;
    memcpy(&next, &bits, sizeof(next));
    return magnitude((double)next - (double)value);
}

/* ns from the current base to the event, and the step of the float that said so. */
static ws_CUresult elapsed(struct shim_context *context, ws_CUevent event, int64_t *ns, uint32_t *step)
{
    float ms = 0;
    ws_CUresult result = driver.event_elapsed(&ms, current_base(context)->event, event);
    *ns = rounded((double)ms * 1e6);
    *step = (uint32_t)(float_step(ms) * 1e6) + 1;
    return result;
}

static bool make_clock(struct shim_context *context)
{
    if (context->clock_stream)
        return true;
    return driver.stream_create(&context->clock_stream, WS_CU_STREAM_NON_BLOCKING) == WS_CUDA_SUCCESS &&
           driver.event_create(&context->base[0].event, WS_CU_EVENT_DEFAULT) == WS_CUDA_SUCCESS &&
           driver.event_create(&context->base[1].event, WS_CU_EVENT_DEFAULT) == WS_CUDA_SUCCESS;
}

struct probe {
    int64_t before, recorded, seen; /* host */
};

/* Puts the event into our idle stream and watches it pass. */
static bool probe_once(struct shim_context *context, ws_CUevent event, struct probe *probe)
{
    probe->before = ws_clock_ns();
    if (driver.event_record(event, context->clock_stream) != WS_CUDA_SUCCESS)
        return false;
    probe->recorded = ws_clock_ns();
    do {
        ws_CUresult result = driver.event_query(event);
        probe->seen = ws_clock_ns();
        if (result == WS_CUDA_SUCCESS)
            return true;
        if (result != WS_CUDA_ERROR_NOT_READY)
            return false;
    } while (probe->seen - probe->before < PROBE_DEADLINE);
    return false;
}

/* A probe that was interrupted may say less than the last good one still does, drift and all. */
static bool worth_taking(const struct shim_context *context, const struct clock_fit *fit)
{
    const struct clock_fit *last = &context->last_fit;
    double since = magnitude((double)(fit->device_ns - last->device_ns));
    return !context->fits || (double)fit->error <= (double)last->error + UNKNOWN_DRIFT * since;
}

static void add_fit(struct shim_context *context, int64_t device_ns, const struct probe *probe)
{
    struct clock_fit fit = {
        .device_ns = device_ns,
        .offset = probe->before + (probe->seen - probe->before) / 2 - device_ns,
        .error = (probe->seen - probe->before) / 2 + RESOLUTION,
    };
    if (!worth_taking(context, &fit))
        return;
    /* The drift is as good as the worse of the two it is taken from. */
    if (!context->fits || context->first_fit.error > 2 * fit.error)
        context->first_fit = fit;
    else if (context->fits % FIT_RENEWAL == 0)
        context->first_fit = context->last_fit;
    context->fits++;
    context->last_fit = fit;
    uint32_t submit = (uint32_t)(probe->seen - probe->recorded) + RESOLUTION;
    if (!context->submit_ns || submit < context->submit_ns)
        context->submit_ns = submit;
}

/* The narrowest of a few probes; the event is left as the last one set it, its time known. */
static bool compare(struct shim_context *context, struct clock_base *base, struct probe *best)
{
    int64_t best_time = 0;
    bool any = false;
    for (int i = 0; i < PROBES; i++) {
        struct probe probe;
        int64_t ns = 0;
        uint32_t step = 0;
        if (!probe_once(context, base->event, &probe))
            return false;
        if (!current_base(context)->known) { /* the first of all: the origin is ours to choose */
            current_base(context)->time = probe.before + (probe.seen - probe.before) / 2;
            current_base(context)->known = true;
        } else if (base == current_base(context)) {
            continue; /* set anew just now, nothing to measure it from */
        } else if (elapsed(context, base->event, &ns, &step) != WS_CUDA_SUCCESS) {
            return false;
        }
        base->time = current_base(context)->time + ns;
        if (!any || probe.seen - probe.before < best->seen - best->before) {
            *best = probe;
            best_time = base->time;
        }
        any = true;
        if (base == current_base(context))
            break;
    }
    if (any)
        add_fit(context, best_time, best);
    return any;
}

bool times_keep_clock(struct shim_context *context, int64_t now, struct ws_clock *row)
{
    struct probe probe;
    if (driver.context_set(context->handle) != WS_CUDA_SUCCESS)
        return false;
    if (now < context->next_fit || (!context->clock_stream && atomic_load(&shim_page->captures)) ||
        !make_clock(context))
        return false;
    bool first = !current_base(context)->known;
    unsigned fits = context->fits;
    struct clock_base *base = first ? current_base(context) : &context->base[!context->current_base];
    if (!compare(context, base, &probe)) {
        if (first)
            current_base(context)->known = false;
        context->next_fit = now + FIT_PERIOD / 10;
        return false;
    }
    if (!first && now >= context->next_base) {
        context->current_base = !context->current_base;
        current_base(context)->known = true;
    }
    if (first || now >= context->next_base)
        context->next_base = now + BASE_PERIOD;
    if (context->fits == fits) { /* none of the probes was any good */
        context->next_fit = now + FIT_PERIOD / 10;
        return false;
    }
    context->next_fit = now + (context->fits < 4 ? FIT_PERIOD / 5 : FIT_PERIOD);
    *row = (struct ws_clock){ .context = context->id,
                              .device_ns = context->last_fit.device_ns,
                              .host_ns = context->last_fit.device_ns + context->last_fit.offset,
                              .error_ns = (uint32_t)context->last_fit.error };
    return true;
}

/* Where a host time lies on the context's clock, and how sure that is. */
static int64_t to_device(const struct shim_context *context, int64_t host_ns, int64_t *error)
{
    struct clock_fit first = context->first_fit, last = context->last_fit;
    double window = (double)(last.device_ns - first.device_ns);
    double drift = 0, drift_error = UNKNOWN_DRIFT;
    int64_t away = host_ns - last.offset - last.device_ns;
    if (window >= FIT_WINDOW) {
        drift = (double)(last.offset - first.offset) / window;
        drift_error = (double)(last.error + first.error) / window;
        if (drift_error > UNKNOWN_DRIFT) {
            drift = 0;
            drift_error = UNKNOWN_DRIFT;
        }
    }
    *error = last.error + (int64_t)(drift_error * magnitude((double)away));
    return host_ns - last.offset - (int64_t)(drift * (double)away);
}

/* --- marks ------------------------------------------------------------------------------------- */

enum times_state times_read(struct shim_context *context, uint32_t name)
{
    struct mark *mark = mark_at(&context->pool, name);
    int64_t ns;
    uint32_t step;
    if (mark->state != MARK_UNREAD)
        return mark->state == MARK_READ ? TIMES_DONE : TIMES_FAILED;
    if (!current_base(context)->known)
        return TIMES_NOT_YET;
    ws_CUresult result = elapsed(context, mark->event, &ns, &step);
    if (result == WS_CUDA_ERROR_NOT_READY)
        return TIMES_NOT_YET;
    mark->state = result == WS_CUDA_SUCCESS ? MARK_READ : MARK_FAILED;
    mark->time = current_base(context)->time + ns;
    mark->error = step + RESOLUTION;
    return result == WS_CUDA_SUCCESS ? TIMES_DONE : TIMES_FAILED;
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

/* Did other streams give the copy engine work that may have gone before this copy? */
static bool engine_shared(const struct shim_stream *stream, const struct pending *pending)
{
    if (pending->direction >= COPY_DIRECTIONS)
        return false;
    uint32_t all = atomic_load(&stream->context->copies[pending->direction]);
    uint32_t own = atomic_load(&stream->copies[pending->direction]);
    return all - own != pending->copies_before;
}

/* When the operation can have begun: not before its stream was ready nor before it was launched, and
 * within the dispatch time of the later of the two. */
static struct span begin_span(const struct shim_stream *stream, const struct pending *pending, int64_t latest)
{
    const struct shim_context *context = stream->context;
    int64_t error;
    int64_t launched = to_device(context, pending->op.host_begin, &error) - error;
    int64_t submitted = to_device(context, pending->op.host_end, &error) + error + context->submit_ns;
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

void times_resolve(struct shim_stream *stream, struct pending *pending, uint32_t end_mark)
{
    const struct mark *mark = mark_at(&stream->context->pool, end_mark);
    bool held = pending->inner & WS_RING_OP_HELD;
    bool loose = held || pending->op.flags & WS_OP_CONTENDED;
    struct span begin = begin_span(stream, pending, mark->time + mark->error);
    struct span end = { mark->time - mark->error - EVENT_DISPATCH, mark->time + mark->error };
    if (loose || end.low < begin.low)
        end.low = begin.low;
    if (end.high < end.low)
        end.high = end.low;
    set_time(begin, &pending->op.begin, &pending->op.begin_error);
    set_time(end, &pending->op.end, &pending->op.end_error);
    if (loose) {
        /* Somewhere in between other operations of the stream ran too. As a whole they fill the span, so
         * the span is what to show. */
        pending->op.begin = begin.low;
        pending->op.begin_error = (uint32_t)smaller(begin.high - begin.low, UINT32_MAX);
        pending->op.end = end.high;
        pending->op.end_error = (uint32_t)smaller(end.high - end.low, UINT32_MAX);
    }
    if (pending->op.end < pending->op.begin) {
        /* The spans overlap: one point in both serves for both, with errors that reach as far. */
        int64_t point = larger(begin.low, smaller(pending->op.begin, end.high));
        pending->op.begin = pending->op.end = point;
        pending->op.begin_error = (uint32_t)larger(begin.high - point, point - begin.low);
        pending->op.end_error = (uint32_t)larger(end.high - point, point - end.low);
    }
    pending->op.flags |= (uint32_t)begin_quality(stream, pending, begin);
    pending->op.flags |= (uint32_t)(loose ? WS_TIME_BOUNDED : WS_TIME_MEASURED) << 2;
}
