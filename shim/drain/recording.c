#include "shim/drain/recording.h"

#include <stdatomic.h>
#include <stddef.h>

#include "base/clock.h"
#include "base/minmax.h"
#include "shim/counters/counters.h"
#include "shim/drain/trace.h"
#include "shim/objects/streams.h"
#include "shim/state/life.h"
#include "shim/state/phase.h"
#include "shim/state/wake.h"
#include "shim/timing/ticks.h"

static int64_t started_at;
/* Length of a burst (a time in which recording is on), and time from the start of a burst to the start of the next
 * one, ns. burst_period 0: there are no bursts. Changed only by the drain, or before it starts. */
static _Atomic uint64_t burst_on, burst_period;
static _Atomic bool stopped;
static _Atomic int range_open;
/* Why recording is off now, or was off last (enum ws_loss_reason). */
static _Atomic uint32_t off_reason = WS_LOSS_RANGE;
static _Atomic bool size_reached;
static _Atomic int64_t paused_until;
static _Atomic bool thinned;

/* Records may cost this part of what --overhead allows. The rest is for events. */
static const double RECORDS_PART = 0.75;
/* Recording pauses only if the records cost more in WINDOWS_OVER windows in a row (of 100 ms: cost.h). So a short
 * peak, as at a program's start, has no effect. */
enum { WINDOWS_OVER = 3 };
/* A pause is at least so long: after it, the first operation of each stream is measured in any case. */
static const int64_t PAUSE_LEAST_NS = 20000000;
static const int64_t PAUSE_MOST_NS = 10000000000;

/* burst_period is 0 (no bursts) while burst_on changes. If a thread of the program calls recording_update meanwhile,
 * recording may wrongly be on until the drain's next round. */
void recording_set_burst(uint64_t on, uint64_t period)
{
    atomic_store(&burst_period, 0);
    atomic_store(&burst_on, on);
    atomic_store(&burst_period, period);
}

void recording_set_stopped(bool value)
{
    atomic_store(&stopped, value);
}

void recording_prepare(void)
{
    uint64_t on = 0, period = 0;
    ws_parse_burst(shim_options.burst, &on, &period);
    recording_set_burst(on, period);
    atomic_store(&stopped, shim_options.start == WS_START_OFF);
    atomic_store(&range_open, shim_options.capture_range != WS_RANGE_PROFILER);
}

/* Is recording to be on at the time `now`? If not, notes the reason in off_reason. */
static bool wants_recording(uint32_t phase, int64_t now)
{
    uint64_t since = now > started_at ? (uint64_t)(now - started_at) : 0;
    bool in_range = !(phase & SHIM_OUT_OF_RANGE) && !atomic_load(&stopped) && since >= shim_options.delay &&
                    (!shim_options.duration || since < shim_options.delay + shim_options.duration);
    if (shim_options.max_size && trace_bytes() >= shim_options.max_size)
        atomic_store(&size_reached, true);
    uint64_t period = atomic_load(&burst_period);
    bool in_burst = !period || since % period < atomic_load(&burst_on);
    bool full = atomic_load(&size_reached), paused = now < atomic_load(&paused_until);
    if (full || !in_range || !in_burst || paused)
        atomic_store(&off_reason, full        ? WS_LOSS_SIZE_LIMIT
                                  : !in_range ? WS_LOSS_RANGE
                                  : !in_burst ? WS_LOSS_BURST
                                              : WS_LOSS_OVERHEAD);
    return in_range && in_burst && !full && !paused && !shim_is_aside();
}

/* The bits (enum shim_phase) that are to be set in the phase while recording is on. */
static uint32_t recording_bits(uint32_t phase)
{
    if (phase & SHIM_NO_MORE_TIMES)
        return SHIM_RECORDING;
    return SHIM_RECORDING | (shim_options.backend == WS_BACKEND_EVENTS ? SHIM_TIMING : 0) |
           (counters_wanted() ? SHIM_COUNTING : 0);
}

uint32_t recording_start(int64_t now)
{
    started_at = now;
    uint32_t phase =
        SHIM_STARTED | (ticks_are_ns ? SHIM_NO_COUNTER : 0) | (atomic_load(&range_open) ? 0 : SHIM_OUT_OF_RANGE);
    return wants_recording(phase, started_at) ? phase | recording_bits(phase) : phase;
}

void recording_open(int64_t now)
{
    started_at = now;
    atomic_store(&size_reached, false);
    atomic_store(&paused_until, 0);
    atomic_store(&stopped, false);
    recording_update(now);
}

void recording_set_range(bool inside)
{
    if (!shim_life.prepare() || shim_options.capture_range != WS_RANGE_PROFILER)
        return;
    atomic_store(&range_open, inside);
    atomic_store(&paused_until, 0);
    if (!shim_life.start())
        return;
    if (inside)
        atomic_fetch_and(&shim_page.phase, ~(uint32_t)SHIM_OUT_OF_RANGE);
    else
        atomic_fetch_or(&shim_page.phase, SHIM_OUT_OF_RANGE);
    recording_update(ws_clock_ns());
    wake_drain_soon(); /* the drain may sleep long while nothing is recorded */
}

void recording_govern(double excess, int64_t length)
{
    static unsigned windows_over;
    static double owed; /* ns of pause, not yet made */
    if (excess < 0)     /* cost_of_records has found no window that has ended */
        return;
    bool over = excess > RECORDS_PART;
    atomic_store(&thinned, over || (atomic_load(&thinned) && excess > RECORDS_PART / 2));
    windows_over = over ? ws_min(windows_over + 1, (unsigned)WINDOWS_OVER) : 0;
    owed = windows_over < WINDOWS_OVER ? 0 : owed + (excess / RECORDS_PART - 1) * (double)length;
    if (owed < (double)PAUSE_LEAST_NS)
        return;
    int64_t now = ws_clock_ns();
    atomic_store(&paused_until, now + (int64_t)ws_min(owed, (double)PAUSE_MOST_NS));
    owed = 0;
    recording_update(now);
}

bool recording_is_thinned(void)
{
    return atomic_load_explicit(&thinned, memory_order_relaxed);
}

int64_t recording_next_edge(int64_t now)
{
    uint64_t since = now > started_at ? (uint64_t)(now - started_at) : 0, next = UINT64_MAX;
    if (now < atomic_load(&paused_until))
        next = (uint64_t)(atomic_load(&paused_until) - now);
    const uint64_t edges[] = { shim_options.delay,
                               shim_options.duration ? shim_options.delay + shim_options.duration : 0 };
    for (size_t i = 0; i < sizeof(edges) / sizeof(edges[0]); i++)
        if (since < edges[i] && edges[i] - since < next)
            next = edges[i] - since;
    uint64_t period = atomic_load(&burst_period), on = atomic_load(&burst_on);
    if (period) {
        uint64_t at = since % period, until = at < on ? on - at : period - at;
        next = until < next ? until : next;
    }
    return next < INT64_MAX ? (int64_t)next : INT64_MAX;
}

/* Called by the drain, and by threads of the program when they call cuProfilerStart or cuProfilerStop. If another
 * thread changes the phase meanwhile, the loop decides again. */
void recording_update(int64_t now)
{
    uint32_t phase = atomic_load(&shim_page.phase), next;
    do {
        bool is_on = phase & SHIM_RECORDING;
        if ((phase & (SHIM_STARTED | SHIM_ENDED)) != SHIM_STARTED || wants_recording(phase, now) == is_on)
            return;
        next =
            is_on ? phase & ~(uint32_t)(SHIM_RECORDING | SHIM_TIMING | SHIM_COUNTING) : phase | recording_bits(phase);
        /* While recording was off, streams may have run work that was not recorded. So a stream's last event does not
         * tell when its next operation may begin. `fresh` marks these streams. */
        for (uint32_t id = 1; !is_on && id <= stream_count(); id++)
            atomic_store(&stream_at(id)->fresh, 1);
    } while (!atomic_compare_exchange_weak(&shim_page.phase, &phase, next));
}

enum ws_loss_reason recording_off_reason(void)
{
    return (enum ws_loss_reason)atomic_load(&off_reason);
}
