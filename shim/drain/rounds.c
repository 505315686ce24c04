#include "shim/drain/rounds.h"

#include <stddef.h>
#include <time.h>

#include "base/clock.h"
#include "shim/drain/cost.h"
#include "shim/drain/ctl.h"
#include "shim/drain/losses.h"
#include "shim/drain/pauses.h"
#include "shim/drain/pending.h"
#include "shim/drain/recording.h"
#include "shim/drain/ring_pages.h"
#include "shim/drain/ring_reader.h"
#include "shim/drain/session.h"
#include "shim/drain/trace.h"
#include "shim/health/health.h"
#include "shim/hook/driver_calls.h"
#include "shim/objects/streams.h"
#include "shim/objects/thread.h"
#include "shim/state/first_thread.h"
#include "shim/state/life.h"
#include "shim/state/phase.h"
#include "shim/timing/device_clock.h"
#include "shim/timing/dispatch.h"
#include "shim/timing/gates.h"
#include "shim/timing/ticks.h"

enum {
    ROUND_NS = 4000000,
    SETTLING_NS = 25000000, /* the longest pause while a device's clock is not yet accurately mapped to the host's */
    LONGEST_NS = 600000000, /* the longest pause between rounds, when there is no new work */
    ASLEEP_NS = 1000000000, /* the pause between rounds while the shim sleeps (records nothing: session.h) */
    /* The first pause between flushes. The pause doubles with each flush, up to FLUSH_NS. The first pause is short,
     * because a program may be killed soon after its start. */
    FIRST_FLUSH_NS = 8000000,
    FLUSH_NS = 250000000,
    /* Number of events made in advance, because many launches may need events before the drain's next round. If only
     * some operations get events (_SAMPLED), fewer events are needed, and EVENTS_AT_ONCE_SAMPLED of them are made at
     * a time, because launches wait while events are made (objects/contexts.c). */
    EARLY_EVENTS = 4096,
    EARLY_EVENTS_SAMPLED = 512,
    EVENTS_AT_ONCE_SAMPLED = 16,
    MANY_THREADS = 64,             /* with fewer threads, the drain never checks all of them (all_may_be_gone) */
    ENDED_LOOK_NS = 1000000000,    /* pause between checks of all threads: each thread needs a system call */
    ENDED_LOOK_SOON_NS = 50000000, /* like ENDED_LOOK_NS, if at least a quarter of the thread slots are in use */
};

static const int64_t IDLE_FLUSH_NS = 8000000000; /* pause between flushes that contain only clock comparisons */
static const int64_t CLOCK_PATIENCE_NS = 2000000000;

/* Used by the drain only; times are host ns. */
static bool driver_gone;
static int64_t last_happened, next_flush;
static bool last_rounds;    /* no more events will be recorded */
static bool unwritten;      /* there are new rows that no flush has written yet */
static int64_t flush_every; /* the current pause between flushes, ns */

/* --- contexts ---------------------------------------------------------------------------------- */

static bool usable(struct shim_context *context)
{
    return context->timed && !driver_gone && atomic_load(&context->life) == CONTEXT_ALIVE;
}

/* Keeps what is measured for a context up to date: its clock and, if only some operations get events (sampled), its
 * dispatch time (timing/dispatch.h). The context is current on this thread afterwards. */
static void keep_context(struct shim_context *context, int64_t now)
{
    struct ws_clock row;
    if (device_clock_keep(context, now, &row))
        trace_add(WS_FAMILY_clock, &row);
    if (shim_options.event_placement == WS_EVENTS_SAMPLED && driver.context_set(context->handle) == WS_CUDA_SUCCESS) {
        gates_prepare(context);
        dispatch_measure(context, now);
    }
}

static void make_first_events(struct shim_context *context)
{
    if (driver_gone || atomic_load(&context->life) != CONTEXT_ALIVE || !driver.context_set ||
        driver.context_set(context->handle) != WS_CUDA_SUCCESS)
        return;
    atomic_store(&context->lacks_events, false);
    context_make_events(context);
}

/* Makes events in advance. Called twice in each round, because launches may use up all events during a long round.
 * Contexts that were made while the shim slept (recorded nothing) have no events yet. */
void rounds_grow_pools(void)
{
    bool sampled = shim_options.event_placement == WS_EVENTS_SAMPLED;
    uint32_t early = sampled ? EARLY_EVENTS_SAMPLED : EARLY_EVENTS;
    for (uint32_t id = 1; id <= context_count(); id++) {
        struct shim_context *context = context_at(id);
        if (atomic_load_explicit(&context->lacks_events, memory_order_relaxed))
            make_first_events(context);
        if (usable(context) && event_pool_is_to_grow(&context->pool, early) &&
            driver.context_set(context->handle) == WS_CUDA_SUCCESS)
            event_pool_keep(&context->pool, early, sampled ? EVENTS_AT_ONCE_SAMPLED : EARLY_EVENTS);
    }
}

/* Reads the events of operations that wait in streams' queues. only: the context whose streams are read; it must be
 * current. NULL: reads the streams of all usable contexts, and makes each context current; for streams of destroyed
 * contexts, calls pending_give_up. */
static void harvest_streams(struct shim_context *only)
{
    struct shim_context *current = only;
    for (uint32_t id = 1; id <= stream_count(); id++) {
        struct shim_stream *stream = stream_at(id);
        struct shim_context *context = stream->context;
        if (!stream->first || (only && context != only))
            continue;
        if (!only && (driver_gone || atomic_load(&context->life) == CONTEXT_GONE)) {
            pending_give_up(stream);
        } else if (only || usable(context)) {
            if (context != current && driver.context_set(context->handle) != WS_CUDA_SUCCESS)
                continue;
            current = context;
            pending_harvest(stream, last_rounds);
        }
    }
}

static void keep_contexts(int64_t now)
{
    for (uint32_t id = 1; id <= context_count(); id++)
        if (usable(context_at(id)))
            keep_context(context_at(id), now);
    harvest_streams(NULL);
}

/* --- rounds ------------------------------------------------------------------------------------ */

/* Is it time to ask the operating system about all threads, whether they still exist? Threads with the mark
 * THREAD_ENDING are checked in every round. The check of all threads finds those that ended without this mark,
 * because they made their first wrapped call in a destructor of thread-specific data. */
static bool all_may_be_gone(void)
{
    static int64_t last_look;
    int64_t now = ws_clock_ns();
    int64_t pause = thread_count() < THREAD_SLOTS / 4 ? ENDED_LOOK_NS : ENDED_LOOK_SOON_NS;
    if (thread_count() < MANY_THREADS || now - last_look < pause)
        return false;
    last_look = now;
    return true;
}

/* Has the thread made calls that are counted but not recorded? These calls do not wake the drain, but the next flush
 * must contain their count. */
static bool has_counted(const struct shim_thread *thread)
{
    return __atomic_load_n(&thread->passed, __ATOMIC_RELAXED) != thread->reported_passed;
}

/* Did the thread end inside a call, so that the shim must give back what the call held? The thread is gone, so nobody
 * else uses its state. ThreadSanitizer does not know that, so it is off for this function. */
__attribute__((no_sanitize("thread"))) static bool left_something(const struct shim_thread *thread)
{
    return thread->slow || thread->within || thread->waiting_count;
}

/* Reads the rings of all threads. Returns true if there were new records, or if a thread has ended. */
static bool read_threads(void)
{
    unsigned used = thread_slots_used();
    bool ask_all = all_may_be_gone(), happened = false;
    pending_begin_round(ws_clock_ns());
    for (unsigned slot = 0; slot < used; slot++) {
        struct shim_thread *thread = thread_at(slot);
        if (!thread)
            continue;
        bool ending = atomic_load_explicit(&thread->life, memory_order_acquire) == THREAD_ENDING;
        bool gone = (ending || ask_all) && thread_is_gone(thread);
        uint64_t head = ws_ring_head(&thread->ring);
        happened |= gone || head != ws_ring_tail(&thread->ring);
        unwritten |= has_counted(thread);
        trace_add_dictionaries(); /* after `head` was read: records before `head` may refer to any of the new rows */
        if (!shim_asleep)
            ring_pages_keep(thread, head);
        ring_reader_read(thread, head);
        if (gone) {
            if (left_something(thread))
                shim_life.thread_ends(thread);
            losses_of_gone_thread(thread);
            cost_of_thread(thread);
            streams_of_gone_thread(thread);
            thread_retire(slot);
        }
    }
    return happened;
}

bool rounds_flush(int64_t now)
{
    trace_add_dictionaries();
    losses_add(now, trace_unwritten());
    bool written = trace_flush();
    losses_are_written(written);
    return written;
}

static void govern(void)
{
    int64_t length;
    double excess = cost_of_records(ws_clock_ns(), &length);
    recording_govern(excess, length);
}

/* Requests samples of the GPUs' health while the GPUs are in use, and adds finished samples to the trace. happened:
 * this round found new records or operations that have ended. */
static void keep_health(int64_t now, bool happened)
{
    struct ws_health sample;
    bool runs = false;
    for (uint32_t id = 1; id <= stream_count() && !happened && !runs; id++)
        runs = stream_at(id)->first;
    health_keep(now, (happened || runs) && shim_recording());
    while (health_take(&sample)) {
        trace_add(WS_FAMILY_health, &sample);
        unwritten = true;
    }
}

void rounds_asleep(void)
{
    streams_over_begin();
    read_threads();
    for (uint32_t id = 1; id <= stream_count(); id++)
        if (stream_at(id)->first)
            pending_give_up(stream_at(id));
    streams_over_end();
}

void rounds_once(void)
{
    if (shim_asleep) {
        rounds_asleep();
        return;
    }
    uint64_t settled = pending_settled();
    ticks_compare();
    int64_t now = ws_clock_ns();
    bool was_off = !(shim_phase() & SHIM_RECORDING);
    ctl_look(now);
    recording_update(now);
    if (was_off && shim_phase() & SHIM_RECORDING)
        /* The flush of this round writes the count of unrecorded calls: the count's row shows that recording was off
         * until now. */
        next_flush = now;
    rounds_grow_pools();
    streams_over_begin();
    bool happened = read_threads();
    if (shim_recording())
        pauses_look(ws_clock_ns());
    govern();
    rounds_grow_pools();
    keep_contexts(now);
    streams_over_end();
    happened |= pending_settled() != settled;
    if (happened) {
        last_happened = now;
        unwritten = true;
    }
    keep_health(now, happened);
    if (now >= next_flush + (unwritten ? 0 : IDLE_FLUSH_NS)) {
        rounds_flush(now);
        unwritten = false;
        next_flush = now + flush_every;
        flush_every = 2 * flush_every < FLUSH_NS ? 2 * flush_every : FLUSH_NS;
    } else if (ctl_is_asked() && unwritten) {
        rounds_flush(now);
        unwritten = false;
    }
    if (ctl_is_asked())
        ctl_tell_progress(now);
}

void rounds_until_read(struct shim_context *context, int64_t deadline_ns)
{
    int64_t deadline = ws_clock_ns() + deadline_ns;
    int64_t last_deadline = deadline + (ROUNDS_DEADLINES - 1) * deadline_ns;
    last_rounds = true;
    for (;;) {
        uint64_t settled = pending_settled();
        bool waiting = false;
        if (context && !driver_gone && context->timed && atomic_load(&context->life) != CONTEXT_GONE) {
            /* The context is about to be destroyed, so rounds_once skips it. Its events can still be read here,
             * because the thread that destroys the context waits for the drain. */
            read_threads();
            if (driver.context_set(context->handle) == WS_CUDA_SUCCESS) {
                struct ws_clock row;
                if (device_clock_keep(context, ws_clock_ns(), &row))
                    trace_add(WS_FAMILY_clock, &row);
                harvest_streams(context);
            }
        } else {
            rounds_once();
        }
        for (uint32_t id = 1; id <= stream_count(); id++)
            waiting |= stream_at(id)->first && (!context || stream_at(id)->context == context);
        int64_t now = ws_clock_ns();
        if (pending_settled() != settled)
            deadline = now + deadline_ns;
        if (!waiting || now >= deadline || now >= last_deadline)
            break;
        struct timespec pause = { 0, 200000 };
        nanosleep(&pause, NULL);
    }
    last_rounds = false;
}

/* --- pace -------------------------------------------------------------------------------------- */

static int64_t rounds_earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Is there a context whose clock is not yet accurately mapped to the host's? */
static bool clocks_settle(void)
{
    for (uint32_t id = 1; id <= context_count(); id++)
        if (usable(context_at(id)) && !context_at(id)->one_queue && !device_clock_known(context_at(id)))
            return true;
    return false;
}

/* The pause is an eighth of the time since the drain last found new work. So pauses grow while the program is idle,
 * and are short again after new work. */
int64_t rounds_pause_ns(int64_t now)
{
    if (shim_asleep)
        return first_thread_may_be_gone() ? FIRST_THREAD_LOOK_NS : ASLEEP_NS;
    int64_t quiet = now - last_happened;
    int64_t pause = quiet / 8 < ROUND_NS ? ROUND_NS : rounds_earlier(quiet / 8, LONGEST_NS);
    if (unwritten)
        pause = rounds_earlier(pause, next_flush - now);
    if (quiet < CLOCK_PATIENCE_NS && clocks_settle())
        pause = rounds_earlier(pause, SETTLING_NS);
    if (first_thread_may_be_gone())
        pause = rounds_earlier(pause, FIRST_THREAD_LOOK_NS);
    pause = rounds_earlier(pause, recording_next_edge(now));
    pause = rounds_earlier(pause, health_due_in(now));
    pause = rounds_earlier(pause, session_due_in(now));
    return pause > ROUNDS_GAP_NS ? pause : ROUNDS_GAP_NS;
}

void rounds_begin(int64_t now)
{
    ticks_init();
    health_begin(now);
    last_happened = next_flush = now;
    flush_every = FIRST_FLUSH_NS;
}

void rounds_restart(void)
{
    driver_gone = false;
}

void rounds_driver_goes(void)
{
    driver_gone = true;
}

bool rounds_have_driver(void)
{
    return !driver_gone;
}

void rounds_woken(int64_t at)
{
    last_happened = at;
}
