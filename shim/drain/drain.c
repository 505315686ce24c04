#include "shim/drain/drain.h"

#include <stddef.h>
#include <sys/prctl.h>
#include <time.h>

#include "base/clock.h"
#include "shim/counters/counters.h"
#include "shim/drain/control.h"
#include "shim/drain/cost.h"
#include "shim/drain/file_thread.h"
#include "shim/drain/losses.h"
#include "shim/drain/pauses.h"
#include "shim/drain/pending.h"
#include "shim/drain/recording.h"
#include "shim/drain/requests.h"
#include "shim/drain/ring_pages.h"
#include "shim/drain/ring_reader.h"
#include "shim/drain/trace.h"
#include "shim/health/health.h"
#include "shim/hook/bypass.h"
#include "shim/hook/driver_calls.h"
#include "shim/hook/elf_lookup.h"
#include "shim/objects/streams.h"
#include "shim/objects/thread.h"
#include "shim/stacks/stacks.h"
#include "shim/state/first_thread.h"
#include "shim/state/futex.h"
#include "shim/state/life.h"
#include "shim/state/phase.h"
#include "shim/state/wake.h"
#include "shim/timing/device_clock.h"
#include "shim/timing/dispatch.h"
#include "shim/timing/gates.h"
#include "shim/timing/ticks.h"

enum {
    ROUND_NS = 4000000,
    SETTLING_NS = 25000000, /* the longest pause while a device's clock is not yet accurately mapped to the host's */
    LONGEST_NS = 600000000, /* the longest pause between rounds, when nothing happens */
    GAP_NS = 1000000,       /* the shortest pause, even if launches wake the drain all the time */
    /* The first pause between flushes. The pause doubles with each flush, up to FLUSH_NS. The first pause is short,
     * because a program may be killed soon after its start. */
    FIRST_FLUSH_NS = 8000000,
    FLUSH_NS = 250000000,
    CONTEXT_DEADLINE_NS = 200000000, /* before a context is destroyed: longest wait for the next event */
    HEALTH_END_NS = 10000000,        /* at exit: for a call of NVML to return */
    EXIT_DEADLINE_NS = 500000000,    /* at exit: longest wait for the next event */
    DEADLINES_AT_MOST = 4,           /* limit of the whole wait, as a multiple of the deadline */
    ANSWER_DEADLINE_NS = 2000000000, /* added to that limit, for the thread that waits for the drain's answer */
    BEGIN_DEADLINE_NS = 100000000,   /* for the drain to begin the trace */
    LEAVE_NS = 50000000,             /* for all that is done when the process ends without exit() */
    LEAVE_DEADLINE_NS = 5000000,     /* part of LEAVE_NS: the wait for the next event that can be read */
    EARLY_EVENTS = 4096, /* events made in advance: a burst may use them up before the drain's next round */
    MANY_THREADS = 64,   /* with fewer threads, the kernel is never asked about all of them (all_may_be_gone) */
    ENDED_LOOK_NS = 1000000000,    /* between two checks of all threads, for which the kernel is asked */
    ENDED_LOOK_SOON_NS = 50000000, /* as ENDED_LOOK_NS, for when there are very many threads */
};

static const int64_t IDLE_FLUSH_NS = 8000000000; /* between flushes that contain only clock comparisons */
static const int64_t CLOCK_PATIENCE_NS = 2000000000;

static _Atomic uint32_t begun; /* a futex: 1 once the beginning of the trace is written, or could not be written */
/* Used by the drain only. */
static bool driver_gone;
static bool closed; /* the trace is closed */
static int64_t last_happened, next_flush;
static bool last_rounds; /* no more events will be recorded */
static bool unwritten;   /* something that happened is not in the file yet */

static __thread bool is_drain __attribute__((tls_model("initial-exec")));

/* --- contexts ---------------------------------------------------------------------------------- */

static bool usable(struct shim_context *context)
{
    return context->timed && !driver_gone && atomic_load(&context->life) == CONTEXT_ALIVE;
}

/* Keeps one context's clock up to date. The context is current on this thread afterwards. */
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

/* Called twice in each round, because launches may run out of events during a long round. */
static void grow_pools(void)
{
    for (uint32_t id = 1; id <= context_count(); id++) {
        struct shim_context *context = context_at(id);
        if (usable(context) && event_pool_is_to_grow(&context->pool, EARLY_EVENTS) &&
            driver.context_set(context->handle) == WS_CUDA_SUCCESS)
            event_pool_keep(&context->pool, EARLY_EVENTS);
    }
}

/* Reads the events of operations that wait in streams' queues. only: the context whose streams are read; it must be
 * current. With NULL, reads the streams of all usable contexts and makes each context current. pending_give_up is
 * called for streams of destroyed contexts. */
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

/* Is it time to ask the kernel about all threads, whether they still exist? Threads with the mark THREAD_ENDING are
 * checked in every round. A thread lacks the mark THREAD_ENDING if it got its state in a destructor of
 * thread-specific data. */
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

/* Has the thread made calls that are counted but not recorded? Calls that are only counted do not wake the drain, but
 * the next flush must contain their count. */
static bool has_counted(const struct shim_thread *thread)
{
    return __atomic_load_n(&thread->passed, __ATOMIC_RELAXED) != thread->reported_passed;
}

/* The thread is gone, so nobody else uses its state. ThreadSanitizer does not know that, so it is off here. */
__attribute__((no_sanitize("thread"))) static bool left_something(const struct shim_thread *thread)
{
    return thread->slow || thread->within || thread->waiting_count;
}

/* Reads the rings of all threads. Returns true if there were new records or a thread is gone. */
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
        trace_add_dictionaries(); /* after reading head: records before head may refer to any of these rows */
        ring_pages_keep(thread, head);
        ring_reader_read(thread, head);
        if (gone) {
            if (left_something(thread))
                shim_life.thread_ends(thread);
            losses_of_thread(thread);
            cost_of_thread(thread);
            streams_of_gone_thread(thread);
            thread_retire(slot);
        }
    }
    return happened;
}

/* Writes all rows to the file, including rows for the losses since the last flush. Returns whether these rows were
 * written. */
static bool flush(int64_t now)
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

/* Asks for samples of the devices in use, and takes those that are done. happened: something did in this round. */
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

static void round_once(void)
{
    static int64_t flush_every = FIRST_FLUSH_NS;
    uint64_t settled = pending_settled();
    ticks_compare();
    int64_t now = ws_clock_ns();
    bool was_off = !(shim_phase() & SHIM_RECORDING);
    control_look(now);
    recording_update(now);
    if (was_off && shim_phase() & SHIM_RECORDING)
        next_flush = now; /* writes the count of unrecorded calls at once: reports find the pause by it */
    grow_pools();
    streams_over_begin();
    bool happened = read_threads();
    if (shim_recording())
        pauses_look(ws_clock_ns());
    govern();
    grow_pools();
    keep_contexts(now);
    streams_over_end();
    happened |= pending_settled() != settled;
    if (happened) {
        last_happened = now;
        unwritten = true;
    }
    keep_health(now, happened);
    if (now >= next_flush + (unwritten ? 0 : IDLE_FLUSH_NS)) {
        flush(now);
        unwritten = false;
        next_flush = now + flush_every;
        flush_every = 2 * flush_every < FLUSH_NS ? 2 * flush_every : FLUSH_NS;
    } else if (control_is_asked() && unwritten) {
        flush(now);
        unwritten = false;
    }
    if (control_is_asked())
        control_tell_progress(now);
}

/* Makes rounds until no operation of the context (NULL: of any context) waits for its events, or until no event could
 * be read for deadline_ns. Each event that is read extends the deadline: on a busy machine, many events may be unread
 * although the device has finished long ago. */
static void rounds_until_read(struct shim_context *context, int64_t deadline_ns)
{
    int64_t deadline = ws_clock_ns() + deadline_ns;
    int64_t last_deadline = deadline + (DEADLINES_AT_MOST - 1) * deadline_ns;
    last_rounds = true;
    for (;;) {
        uint64_t settled = pending_settled();
        bool waiting = false;
        if (context && !driver_gone && context->timed && atomic_load(&context->life) != CONTEXT_GONE) {
            /* The context is about to be destroyed, so round_once skips it. The thread that destroys it waits for the
             * drain. */
            read_threads();
            if (driver.context_set(context->handle) == WS_CUDA_SUCCESS) {
                struct ws_clock row;
                if (device_clock_keep(context, ws_clock_ns(), &row))
                    trace_add(WS_FAMILY_clock, &row);
                harvest_streams(context);
            }
        } else {
            round_once();
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

/* end: how the program ended, as the trace states it. */
static void close_trace(const char *end)
{
    trace_say("end", end);
    cost_say();
    losses_count(WS_LOSS_BYPASSED, bypass_count());
    if (counters_summary())
        trace_say("counters", counters_summary());
    if (health_summary())
        trace_say("health", health_summary());
    if (stacks_summary())
        trace_say("stacks", stacks_summary());
    uint64_t unwritten_before = trace_unwritten();
    bool written = flush(ws_clock_ns());
    if (!written || trace_unwritten() != unwritten_before)
        flush(ws_clock_ns()); /* what the first flush lost is counted by the second */
    trace_close();
}

/* Carries out the request. Returns true if this was the last request. */
static bool answer(struct request request)
{
    struct shim_context *context = context_at(request.context);
    bool last = request.kind == REQUEST_FINISH || request.kind == REQUEST_LEAVE;
    if (closed) /* exit handlers on this thread may request the end once more */
        return true;
    switch (request.kind) {
    case REQUEST_NONE:
        return false;
    case REQUEST_CONTEXT:
        rounds_until_read(context, CONTEXT_DEADLINE_NS);
        if (driver.context_set) /* the context must not stay current on this thread */
            driver.context_set(NULL);
        break;
    case REQUEST_LEAVE:
        rounds_until_read(NULL, LEAVE_DEADLINE_NS);
        break;
    case REQUEST_DRIVER_EXIT:
        rounds_until_read(NULL, EXIT_DEADLINE_NS);
        break;
    case REQUEST_FINISH:
        break;
    }
    if (request.kind != REQUEST_CONTEXT) {
        health_end(request.kind == REQUEST_LEAVE ? 0 : HEALTH_END_NS);
        driver_gone = true;
        round_once();
        flush(ws_clock_ns());
    }
    if (last) {
        closed = true;
        close_trace(request.kind == REQUEST_LEAVE ? "without exit" : "by exit");
        requests_end();
    }
    request_answer(request);
    return last;
}

static bool answer_all(void)
{
    for (struct request request; (request = request_next()).word;)
        if (answer(request))
            return true;
    return false;
}

/* Called when all remaining threads are ours. The C library ends a process only when its last thread ends, so the
 * drain calls exit. */
static void end_process(void)
{
    void (*leave)(int) = (void (*)(int))elf_libc_symbol("exit");
    if (leave)
        leave(0);
}

/* --- pace -------------------------------------------------------------------------------------- */

static int64_t earlier(int64_t a, int64_t b)
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

/* Time until the next round, if no thread wakes the drain. The pause is an eighth of the time since something last
 * happened: pauses grow while the program is idle, and are short again after new work. */
static int64_t pause_ns(int64_t now)
{
    int64_t quiet = now - last_happened;
    int64_t pause = quiet / 8 < ROUND_NS ? ROUND_NS : earlier(quiet / 8, LONGEST_NS);
    if (unwritten)
        pause = earlier(pause, next_flush - now);
    if (quiet < CLOCK_PATIENCE_NS && clocks_settle())
        pause = earlier(pause, SETTLING_NS);
    if (first_thread_may_be_gone())
        pause = earlier(pause, FIRST_THREAD_LOOK_NS);
    pause = earlier(pause, recording_next_edge(now));
    pause = earlier(pause, health_due_in(now));
    return pause > GAP_NS ? pause : GAP_NS;
}

static void sleep_until_needed(void)
{
    int64_t now = ws_clock_ns(), woken = wake_wait(now + pause_ns(now));
    if (!woken)
        return;
    last_happened = woken;
    ring_pages_of_new_threads(); /* at once, because these threads launch already */
    wake_wait_gap(now + GAP_NS);
}

static void say_begun(void)
{
    atomic_store(&begun, 1);
    futex_wake(&begun);
}

static void *drain_main(void *unused)
{
    (void)unused;
    is_drain = true;
    prctl(PR_SET_NAME, "wallshim");
    if (trace_begin()) {
        shim_step_aside(NULL);
        requests_end();
        say_begun();
        return NULL;
    }
    say_begun();
    ticks_init();
    health_begin(ws_clock_ns());
    last_happened = ws_clock_ns();
    /* A capture in global mode makes "unsafe" driver calls fail in other threads. The drain's thread uses relaxed
     * mode instead, because its calls never disturb a capture. */
    ws_CUenum mode = WS_CU_STREAM_CAPTURE_MODE_RELAXED;
    if (driver.exchange_capture_mode)
        driver.exchange_capture_mode(&mode);
    for (;;) {
        sleep_until_needed();
        if (answer_all())
            return NULL;
        round_once();
        if (first_thread_left_alone(ws_clock_ns(),
                                    file_thread_count() + gates_thread_count() + health_thread_count()))
            end_process();
    }
}

/* --- asking the drain -------------------------------------------------------------------------- */

/* Sends the request to the drain. The drain's own thread answers directly: it may get here from exit handlers that
 * end_process runs. */
static void ask(enum request_kind kind, uint32_t context, int64_t deadline_ns)
{
    if (is_drain)
        answer((struct request){ .kind = kind, .context = context });
    else
        request_ask(kind, context, deadline_ns);
}

void drain_finish_context(struct shim_context *context)
{
    if (shim_phase() & SHIM_STARTED)
        ask(REQUEST_CONTEXT, context->id, DEADLINES_AT_MOST * (int64_t)CONTEXT_DEADLINE_NS + ANSWER_DEADLINE_NS);
}

void drain_before_driver_exit(void)
{
    ask(REQUEST_DRIVER_EXIT, 0, DEADLINES_AT_MOST * (int64_t)EXIT_DEADLINE_NS + ANSWER_DEADLINE_NS);
}

void drain_leave(void)
{
    ask(REQUEST_LEAVE, 0, LEAVE_NS);
}

void drain_finish(void)
{
    ask(REQUEST_FINISH, 0, ANSWER_DEADLINE_NS);
}

int drain_start(void)
{
    driver_gone = closed = false;
    atomic_store(&begun, 0);
    requests_begin();
    int error = thread_start(drain_main);
    if (error)
        requests_end();
    /* Waits until the beginning of the trace is written, so that even a program that ends at once leaves a trace. */
    if (!error)
        futex_wait(&begun, 0, BEGIN_DEADLINE_NS);
    return error;
}
