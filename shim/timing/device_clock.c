#include "shim/timing/device_clock.h"

#include <string.h>

#include "base/clock.h"
#include "base/minmax.h"
#include "shim/hook/driver_calls.h"
#include "shim/state/phase.h"
#include "shim/timing/arrival.h"

enum {
    /* Ns between two base events. The driver gives the time since the base event as a float32, whose steps are 61 ns
     * after one second. */
    BASE_PERIOD = 1000000000,
    FIT_PERIOD = 250000000,
    FIT_WINDOW = 200000000, /* ns; a drift is computed from two comparisons (fits) that are at least this far apart */
    /* number of comparisons after which first_fit, from which drift is computed, is replaced by a newer one */
    FIT_RENEWAL = 60,
    SUBMIT_WINDOW = 64, /* probes after which the search for the shortest one begins anew */
    SUBMIT_MARGIN = 2,
    GOOD_FIT = 8000,         /* ns; a comparison of the clocks with at most this error counts as undisturbed */
    SETTLING = 50000000,     /* longest wait, ns, for the first undisturbed comparison */
    PROBES = 3,              /* probes of a comparison */
    PROBES_MOST = 16,        /* the same, if the probes are disturbed: the processors are busy, or the driver is */
    MOST_FAILED_PROBES = 40, /* after so many failed probes (about a second), one hardware queue is assumed */
    PROBE_DEADLINE =
        300000, /* ns; if a probe (an event in the shim's idle stream) takes longer, the device was busy */
    SETTLE_MOST = 3000,
    /* The pauses between comparisons are short at first, so that the drift is known early. The pauses become longer
     * after SOON_FITS comparisons and, if only some operations get events (WS_EVENTS_SAMPLED), again after
     * EARLY_FITS. */
    SOON_FITS = 4,
    EARLY_FITS = 12,
    ONE_QUEUE_SUBMIT = 10000, /* ns; with one hardware queue: assumed time for work to reach an idle device */
};
/* Drift between device and host clock, ns per ns, that is assumed until it is measured; every crystal drifts less. */
static const double UNKNOWN_DRIFT = 100e-6;

static struct clock_base *current_base(struct shim_context *context)
{
    return &context->base[context->current_base];
}

/* Replaces llround, because the shim is not linked against libm. */
static int64_t rounded(double value)
{
    return (int64_t)(value + (value < 0 ? -0.5 : 0.5));
}

static double magnitude(double value)
{
    return value < 0 ? -value : value;
}

/* The distance from `value` to the next float of larger magnitude. */
static double float_step(float value)
{
    uint32_t bits;
    float next;
    memcpy(&bits, &value, sizeof(bits));
    bits++;
    memcpy(&next, &bits, sizeof(next));
    return magnitude((double)next - (double)value);
}

/* Gives the time from the current base (the event from which times are measured) to `event`, ns, and the step of the
 * driver's float32 for a time of this length. */
static ws_CUresult elapsed(struct shim_context *context, ws_CUevent event, int64_t *ns, uint32_t *step)
{
    float ms = 0;
    ws_CUresult result = driver.event_elapsed(&ms, current_base(context)->handle, event);
    *ns = rounded((double)ms * 1e6);
    *step = (uint32_t)(float_step(ms) * 1e6) + 1;
    return result;
}

static bool make_clock(struct shim_context *context)
{
    if (context->clock_stream)
        return true;
    return driver.stream_create(&context->clock_stream, WS_CU_STREAM_NON_BLOCKING) == WS_CUDA_SUCCESS &&
           driver.event_create(&context->base[0].handle, WS_CU_EVENT_DEFAULT) == WS_CUDA_SUCCESS &&
           driver.event_create(&context->base[1].handle, WS_CU_EVENT_DEFAULT) == WS_CUDA_SUCCESS;
}

struct probe {
    int64_t before, recorded, seen; /* host ns: before and after the event was recorded, and when it was complete */
};

/* Records the event into the shim's idle stream, and polls until the event completes. */
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

/* Is the comparison `fit` exact enough to be used? It is not exact enough if the last comparison is still more exact,
 * even with the drift since then added to the last comparison's error. A comparison is inexact if the probing thread
 * was interrupted. */
static bool worth_taking(const struct shim_context *context, const struct clock_fit *fit)
{
    const struct clock_fit *last = &context->last_fit;
    double since = magnitude((double)(fit->device_ns - last->device_ns));
    return !context->fits || (double)fit->error <= (double)last->error + UNKNOWN_DRIFT * since;
}

static void add_fit(struct shim_context *context, struct clock_fit fit)
{
    if (!worth_taking(context, &fit))
        return;
    /* The drift is computed from first_fit and last_fit, and is only as exact as the worse of the two. So a first_fit
     * that is much worse than the new comparison is replaced. */
    if (!context->fits || context->first_fit.error > 2 * fit.error)
        context->first_fit = fit;
    else if (context->fits % FIT_RENEWAL == 0)
        context->first_fit = context->last_fit;
    context->fits++;
    context->last_fit = fit;
}

/* Learns how long a probe and its call take at least, because delays of the probing thread lengthen both. Returns how
 * late the event, or the reading of the clock after the call, may have been in this probe, ns. */
static int64_t learn_shortest(struct shim_context *context, const struct probe *probe)
{
    uint32_t took = (uint32_t)(probe->seen - probe->before), call = (uint32_t)(probe->recorded - probe->before);
    bool first = !context->fits, anew = context->probes++ % SUBMIT_WINDOW == 0 || first;
    int64_t late = ws_max((int64_t)took - context->shortest_probe, (int64_t)call - context->shortest_call);
    context->shortest_probe = anew ? took : ws_min(took, context->shortest_probe);
    context->shortest_call = anew ? call : ws_min(call, context->shortest_call);
    /* The first probe may be slow, because it runs code of the driver for the first time. So all of its time counts
     * as a possible delay. */
    return first ? took : ws_max(late, (int64_t)0);
}

static void add_probe(struct shim_context *context, int64_t device_ns, const struct probe *probe)
{
    int64_t late = learn_shortest(context, probe);
    /* The submit time: from a call's return until its work reaches the device. Real work may take longer to reach the
     * device than an event, so the submit time is multiplied by SUBMIT_MARGIN. */
    context->shortest_submit = context->shortest_probe - context->shortest_call + RESOLUTION;
    context->submit_ns = SUBMIT_MARGIN * context->shortest_submit;
    atomic_store_explicit(&context->settle_ns, (uint32_t)ws_min(context->shortest_submit, (uint32_t)SETTLE_MOST),
                          memory_order_relaxed);
    arrival_learn(&context->arrival, probe->recorded, device_ns, late);
    add_fit(context, (struct clock_fit){
                         .device_ns = device_ns,
                         .offset = probe->before + (probe->seen - probe->before) / 2 - device_ns,
                         .error = (probe->seen - probe->before) / 2 + RESOLUTION,
                     });
}

/* Did the probe take about as long as the shortest one so far? Then nothing has disturbed it. */
static bool is_undisturbed(const struct shim_context *context, const struct probe *probe)
{
    return context->fits && 4 * (probe->seen - probe->before) <= 5 * (int64_t)context->shortest_probe;
}

/* Compares the clocks by the shortest of a few probes (events in the shim's idle stream), and stores this probe in
 * *best. Afterwards `base` holds the event of the last probe, and the event's time, unless *cut: the last probe did
 * not complete. Returns whether any probe completed. */
static bool compare(struct shim_context *context, struct clock_base *base, struct probe *best, bool *cut)
{
    int64_t best_time = 0;
    bool any = false;
    *best = (struct probe){ 0 };
    *cut = false;
    for (int i = 0; i < PROBES || (i < PROBES_MOST && any && !is_undisturbed(context, best)); i++) {
        struct probe probe;
        int64_t ns = 0;
        uint32_t step = 0;
        *cut = !probe_once(context, base->handle, &probe);
        if (*cut)
            break;
        if (!current_base(context)->known) { /* the first probe of all sets the clock's origin, which is arbitrary */
            current_base(context)->time = probe.before + (probe.seen - probe.before) / 2;
            current_base(context)->known = true;
        } else if (base == current_base(context)) {
            /* The probe has recorded the current base's own event again, so there is no base to measure from. */
            continue;
        } else if (elapsed(context, base->handle, &ns, &step) != WS_CUDA_SUCCESS) {
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
        add_probe(context, best_time, best);
    return any;
}

/* The time until the next comparison of the clocks, ns. The time is short if the last comparison was not exact enough
 * to be used (!taken), and after each of the first comparisons. If only some operations get events (sampled), the
 * time after the first comparisons is even shorter, because the computed times of the other operations need the drift
 * early. */
static int64_t fit_pause(const struct shim_context *context, bool taken)
{
    bool sampled = shim_options.event_placement == WS_EVENTS_SAMPLED;
    if (!taken)
        return FIT_PERIOD / 10;
    if (sampled && context->fits < EARLY_FITS)
        return context->fits < SOON_FITS ? FIT_PERIOD / 100 : FIT_PERIOD / 10;
    return context->fits < SOON_FITS ? FIT_PERIOD / 5 : FIT_PERIOD;
}

/* Compares the clocks with the shim's own stream and events, and takes a new base if one is due. */
static void keep_by_probes(struct shim_context *context, int64_t now)
{
    struct probe probe;
    bool cut;
    if (now < context->next_fit || (!context->clock_stream && shim_captures()) || !make_clock(context))
        return;
    bool first = !current_base(context)->known;
    unsigned fits = context->fits;
    struct clock_base *base = first ? current_base(context) : &context->base[!context->current_base];
    if (!compare(context, base, &probe, &cut)) {
        if (first)
            current_base(context)->known = false;
        /* If no probe ever completes within PROBE_DEADLINE, all streams seem to share one hardware queue. */
        if (first && ++context->failed_probes == MOST_FAILED_PROBES)
            context->one_queue = true;
        context->next_fit = now + FIT_PERIOD / 10;
        return;
    }
    if (!first && !cut && now >= context->next_base) {
        context->current_base = !context->current_base;
        current_base(context)->known = true;
    }
    if (first || (!cut && now >= context->next_base))
        context->next_base = now + BASE_PERIOD;
    /* Until there is a good comparison (GOOD_FIT) or SETTLING ns have passed, the drain (the shim's thread that calls
     * this) compares the clocks each time that it reads the threads' records. */
    if (!context->first_base)
        context->first_base = now;
    if (context->last_fit.error > GOOD_FIT && now - context->first_base < SETTLING) {
        context->next_fit = now;
        return;
    }
    context->next_fit = now + fit_pause(context, context->fits != fits);
}

bool device_clock_keep(struct shim_context *context, int64_t now, struct ws_clock *row)
{
    if (driver.context_set(context->handle) != WS_CUDA_SUCCESS)
        return false;
    if (!context->one_queue)
        keep_by_probes(context, now);
    /* While the drain waits for a good comparison (GOOD_FIT), device_clock_known is false, and no comparison is put
     * into the trace. */
    if (context->fits == context->fits_reported || !device_clock_known(context))
        return false;
    context->fits_reported = context->fits;
    *row = (struct ws_clock){ .context = context->id,
                              .device_ns = context->last_fit.device_ns,
                              .host_ns = context->last_fit.device_ns + context->last_fit.offset,
                              .error_ns = (uint32_t)context->last_fit.error };
    return true;
}

void device_clock_restart(struct shim_context *context)
{
    event_release(&context->pool, current_base(context)->event);
    current_base(context)->event = 0;
    current_base(context)->known = false;
    context->fits = context->fits_reported = context->failed_probes = 0;
    context->first_base = context->next_base = context->next_fit = 0;
    context->arrival = (struct arrival){ 0 };
}

/* --- with one hardware queue ------------------------------------------------------------------- */

static void base_on_event(struct shim_context *context, uint32_t event, int64_t time)
{
    struct pool_event *kept = event_at(&context->pool, event);
    struct clock_base *base = current_base(context);
    atomic_fetch_add_explicit(&kept->users, 1, memory_order_relaxed);
    event_release(&context->pool, base->event);
    *base = (struct clock_base){ .handle = kept->handle, .time = time, .known = true, .event = event };
}

void device_clock_begin(struct shim_context *context, uint32_t event, int64_t launched)
{
    if (context->one_queue && launched != INT64_MIN && !current_base(context)->known &&
        driver.event_query(event_at(&context->pool, event)->handle) == WS_CUDA_SUCCESS) {
        base_on_event(context, event, launched); /* the clock's origin is arbitrary */
        context->offset_low = INT64_MIN;
        context->offset_high = INT64_MAX;
    }
}

void device_clock_learn(struct shim_context *context, uint32_t event, int64_t launched)
{
    if (!context->one_queue || launched == INT64_MIN)
        return;
    int64_t now = ws_clock_ns(), time = event_at(&context->pool, event)->time;
    if (launched - time > context->offset_low)
        context->offset_low = launched - time;
    if (now - time < context->offset_high)
        context->offset_high = now - time;
    /* If the offset's bounds contradict each other, both bounds are dropped. */
    if (context->offset_high < context->offset_low) {
        context->offset_low = INT64_MIN;
        context->offset_high = INT64_MAX;
    } else if (now >= context->next_fit) {
        int64_t half = (context->offset_high - context->offset_low) / 2;
        /* The bounds of the offset may be from the beginning of this FIT_PERIOD, and the clocks have drifted since
         * that time. So this drift is added to the error. */
        int64_t drifted = (int64_t)(UNKNOWN_DRIFT * FIT_PERIOD);
        add_fit(context, (struct clock_fit){ time, context->offset_low + half, half + RESOLUTION + drifted });
        context->submit_ns = ONE_QUEUE_SUBMIT;
        context->next_fit = now + FIT_PERIOD;
        context->offset_low = INT64_MIN;
        context->offset_high = INT64_MAX;
    }
    if (now >= context->next_base) {
        base_on_event(context, event, time);
        context->next_base = now + BASE_PERIOD;
    }
}

/* --- reading ----------------------------------------------------------------------------------- */

bool device_clock_known(const struct shim_context *context)
{
    /* The first comparisons of the clocks are often disturbed. So events are read only after a good comparison, or
     * when SETTLING ns have passed since the first comparison. */
    bool settled =
        context->one_queue || context->last_fit.error <= GOOD_FIT || ws_clock_ns() - context->first_base >= SETTLING;
    return context->base[context->current_base].known && settled;
}

ws_CUresult device_clock_read(struct shim_context *context, ws_CUevent event, int64_t *time, uint32_t *error)
{
    int64_t ns;
    ws_CUresult result = elapsed(context, event, &ns, error);
    *time = current_base(context)->time + ns;
    *error += RESOLUTION;
    return result;
}

int64_t device_clock_from_host(const struct shim_context *context, int64_t host_ns, int64_t *error)
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
