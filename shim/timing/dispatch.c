#include "shim/timing/dispatch.h"

#include "base/clock.h"
#include "base/minmax.h"
#include "shim/hook/driver_calls.h"
#include "shim/timing/gates.h"

enum {
    /* number of measurements in one call of dispatch_measure, until EARLY measurements are done */
    AT_ONCE = 4,
    EARLY = 16,         /* number of first measurements, made without a pause */
    PERIOD = 250000000, /* ns between measurements, after the first EARLY measurements */
    MEANT = 64,         /* the mean covers about this many measurements; older ones count less and less */
    DEADLINE = 300000,  /* ns; longest wait for both events to complete */
    STEP_LEAST = 2,     /* ns; differences up to this come from rounding, not from the resolution of event times */
    MOST_NS = 100000,   /* ns; a longer measured time is not used, because something ran between the events */
};

static bool is_ready(struct dispatch *dispatch)
{
    for (int i = 0; i < 2; i++)
        if (!dispatch->events[i] && driver.event_create(&dispatch->events[i], WS_CU_EVENT_DEFAULT) != WS_CUDA_SUCCESS)
            return false;
    return true;
}

/* Puts a gate (a wait that holds the stream) and then the two events of the measurement into the stream. Waits until
 * the events have probably reached the device (settle_ns), and opens the gate. */
static bool put_in(struct shim_context *context)
{
    uint64_t gate = 0;
    if (!gate_close(context, context->clock_stream, &gate))
        return false;
    bool done = driver.event_record(context->dispatch.events[0], context->clock_stream) == WS_CUDA_SUCCESS &&
                driver.event_record(context->dispatch.events[1], context->clock_stream) == WS_CUDA_SUCCESS;
    int64_t until = ws_clock_ns() + atomic_load_explicit(&context->settle_ns, memory_order_relaxed);
    while (ws_clock_ns() < until)
        ;
    return gate_open(gate) && done;
}

static bool have_passed(struct shim_context *context)
{
    int64_t deadline = ws_clock_ns() + DEADLINE;
    ws_CUresult result;
    do
        result = driver.event_query(context->dispatch.events[1]);
    while (result == WS_CUDA_ERROR_NOT_READY && ws_clock_ns() < deadline);
    return result == WS_CUDA_SUCCESS;
}

static void measure_once(struct shim_context *context)
{
    struct dispatch *dispatch = &context->dispatch;
    float ms;
    if (!put_in(context) || !have_passed(context) ||
        driver.event_elapsed(&ms, dispatch->events[0], dispatch->events[1]) != WS_CUDA_SUCCESS)
        return;
    double ns = (double)ms * 1e6;
    if (ns < 0 || ns > MOST_NS)
        return;
    double step = ns > dispatch->last ? ns - dispatch->last : dispatch->last - ns;
    if (dispatch->count && step > STEP_LEAST && (step < dispatch->step || !(dispatch->step > 0)))
        dispatch->step = step;
    dispatch->last = ns;
    dispatch->count++;
    double share = ws_max(1.0 / MEANT, 1.0 / dispatch->count);
    dispatch->mean += share * (ns - dispatch->mean);
    dispatch->var = 2 * dispatch_event_var(context) * share;
}

void dispatch_measure(struct shim_context *context, int64_t now)
{
    struct dispatch *dispatch = &context->dispatch;
    bool first = !dispatch->count;
    if (now < dispatch->next || (!first && !dispatch->wanted) || !context->clock_stream || !context->gates ||
        !is_ready(dispatch))
        return;
    dispatch->wanted = false;
    dispatch->next = now + (dispatch->count < EARLY ? 0 : PERIOD);
    for (int i = 0; i < (dispatch->count < EARLY ? AT_ONCE : 1); i++)
        measure_once(context);
}
