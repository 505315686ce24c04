#include "shim/drain/drain.h"

#include <stddef.h>
#include <sys/prctl.h>

#include "base/clock.h"
#include "shim/counters/counters.h"
#include "shim/drain/cost.h"
#include "shim/drain/file_thread.h"
#include "shim/drain/losses.h"
#include "shim/drain/recording.h"
#include "shim/drain/requests.h"
#include "shim/drain/ring_pages.h"
#include "shim/drain/ring_reader.h"
#include "shim/drain/rounds.h"
#include "shim/drain/session.h"
#include "shim/drain/trace.h"
#include "shim/health/health.h"
#include "shim/hook/bypass.h"
#include "shim/hook/driver_calls.h"
#include "shim/hook/elf_lookup.h"
#include "shim/objects/streams.h"
#include "shim/objects/thread.h"
#include "shim/stacks/native.h"
#include "shim/stacks/stacks.h"
#include "shim/state/first_thread.h"
#include "shim/state/futex.h"
#include "shim/state/phase.h"
#include "shim/state/wake.h"
#include "shim/timing/device_clock.h"
#include "shim/timing/gates.h"

enum {
    /* Before a context is destroyed: longest wait until one more event can be read. */
    CONTEXT_DEADLINE_NS = 200000000,
    HEALTH_END_NS = 10000000,      /* at exit: longest wait for a call of NVML to return */
    EXIT_DEADLINE_NS = 500000000,  /* at exit: longest wait until one more event can be read */
    QUIET_DEADLINE_NS = 300000000, /* longest wait for the program's threads to leave the calls that the shim wraps */
    SESSION_DEADLINE_NS = 200000000, /* at the end of a session: longest wait until one more event can be read */
    /* A thread that asks the drain waits this much longer than the deadline by which the drain itself gives up. */
    ANSWER_DEADLINE_NS = 2000000000,
    BEGIN_DEADLINE_NS = 400000000, /* longest wait for the drain to begin the trace, on a busy machine */
    /* longest time to write the end of the trace, if the process ends without exit() */
    LEAVE_NS = 50000000,
    LEAVE_DEADLINE_NS = 5000000, /* part of LEAVE_NS: longest wait until one more event can be read */
};

static _Atomic uint32_t begun; /* a futex: 1 once the beginning of the trace is written, or could not be written */
static bool closed;            /* the trace is closed; used by the drain only */

static __thread bool is_drain __attribute__((tls_model("initial-exec")));

/* end: how the program ended, as the trace states it. */
static void close_trace(const char *end)
{
    if (!trace_is_open())
        return;
    trace_say("end", end);
    cost_say();
    losses_count(WS_LOSS_BYPASSED, bypass_count());
    losses_at_end();
    if (counters_summary())
        trace_say("counters", counters_summary());
    if (health_summary())
        trace_say("health", health_summary());
    if (stacks_summary())
        trace_say("stacks", stacks_summary());
    if (native_summary())
        trace_say("native_stacks", native_summary());
    uint64_t unwritten_before = trace_unwritten();
    bool written = rounds_flush(ws_clock_ns());
    if (!written || trace_unwritten() != unwritten_before)
        rounds_flush(ws_clock_ns()); /* the second flush writes how many rows the first flush could not write */
    trace_close();
}

/* --- sessions ---------------------------------------------------------------------------------- */

/* Forgets the losses that were counted while the shim slept (recorded nothing), because they belong to no session. */
static void forget_counts(void)
{
    losses_add(ws_clock_ns(), 0);
    losses_are_written(true);
}

static void wake_up(const struct session_wish *wish)
{
    rounds_asleep(); /* drops what threads have recorded since the last session ended */
    forget_counts();
    ring_reader_begin();
    if (shim_late)
        contexts_find_primaries();
    int error = trace_begin_in(wish->file, wish->name);
    if (!error) {
        for (uint32_t id = 1; id <= context_count(); id++)
            device_clock_restart(context_at(id));
        for (uint32_t id = 1; id <= stream_count(); id++)
            stream_at(id)->line = (struct stream_line){ 0 };
        if (wish->overhead)
            shim_options.overhead = wish->overhead;
        shim_asleep = false;
        rounds_begin(ws_clock_ns());
        rounds_grow_pools(); /* before the first launch is recorded */
        recording_open(ws_clock_ns());
    }
    session_began(error, ws_clock_ns());
}

static void fall_asleep(void)
{
    recording_set_stopped(true);
    recording_update(ws_clock_ns());
    rounds_until_read(NULL, SESSION_DEADLINE_NS);
    health_end(HEALTH_END_NS);
    close_trace("detached");
    shim_asleep = true;
    if (driver.context_set && rounds_have_driver()) /* the context must not stay current on this thread */
        driver.context_set(NULL);
    session_ended(false);
}

static void session_step(void)
{
    const struct session_wish *wish = session_wanted();
    if (wish)
        wake_up(wish);
    else if (session_is_over(ws_clock_ns()))
        fall_asleep();
}

/* --- requests ---------------------------------------------------------------------------------- */

/* Ends the session, if it has not ended yet. Waits for the program's calls that are under way, and reads their
 * records. So the events of these records go back to the pools before contexts_release empties the pools. */
static void detach(void)
{
    if (!shim_asleep)
        fall_asleep();
    bool quiet = threads_leave_calls(QUIET_DEADLINE_NS);
    rounds_once();
    contexts_release(quiet);
}

/* Carries out the request. Returns true if this was the last request, after which the drain's thread ends. */
static bool answer(struct request request)
{
    struct shim_context *context = context_at(request.context);
    bool last = request.kind == REQUEST_FINISH || request.kind == REQUEST_LEAVE || request.kind == REQUEST_DETACH;
    if (closed) /* exit handlers on this thread may request the end of the trace once more */
        return true;
    switch (request.kind) {
    case REQUEST_NONE:
        return false;
    case REQUEST_CONTEXT:
        if (!shim_asleep)
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
    case REQUEST_DETACH:
        detach();
        break;
    case REQUEST_FINISH:
        break;
    }
    if (request.kind != REQUEST_CONTEXT) {
        health_end(request.kind == REQUEST_LEAVE ? 0 : HEALTH_END_NS);
        rounds_driver_goes();
        rounds_once();
        rounds_flush(ws_clock_ns());
    }
    if (last) {
        closed = true;
        close_trace(request.kind == REQUEST_LEAVE ? "without exit" : "by exit");
        session_ended(true);
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

/* Called when all remaining threads of the process are the shim's. These threads would keep the process alive,
 * because the C library ends a process only when its last thread ends. So the drain calls exit. */
static void end_process(void)
{
    void (*leave)(int) = (void (*)(int))elf_libc_symbol("exit");
    if (leave)
        leave(0);
}

/* --- pace -------------------------------------------------------------------------------------- */

static void sleep_until_needed(void)
{
    int64_t now = ws_clock_ns(), woken = wake_wait(now + rounds_pause_ns(now));
    if (!woken)
        return;
    rounds_woken(woken);
    ring_pages_of_new_threads(); /* done before the next round, because new threads already write to their rings */
    wake_wait_gap(now + ROUNDS_GAP_NS);
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
    if (!shim_asleep && trace_begin()) {
        shim_step_aside(NULL);
        requests_end();
        say_begun();
        return NULL;
    }
    say_begun();
    rounds_begin(ws_clock_ns());
    /* A stream capture in global mode makes "unsafe" driver calls of other threads fail, and such a call breaks the
     * capture. The drain's thread sets its own mode to relaxed, in which its calls succeed and break no capture. */
    ws_CUenum mode = WS_CU_STREAM_CAPTURE_MODE_RELAXED;
    if (driver.exchange_capture_mode)
        driver.exchange_capture_mode(&mode);
    for (;;) {
        sleep_until_needed();
        if (answer_all())
            return NULL;
        session_step();
        rounds_once();
        if (first_thread_left_alone(ws_clock_ns(), file_thread_count() + gates_thread_count() +
                                                       health_thread_count() + session_thread_count()))
            end_process();
    }
}

/* --- asking the drain -------------------------------------------------------------------------- */

/* Sends the request to the drain, and waits for the answer. If the calling thread is the drain itself, it carries out
 * the request directly. The drain makes such a request when it calls exit (end_process), because exit runs the shim's
 * exit handlers. */
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
        ask(REQUEST_CONTEXT, context->id, ROUNDS_DEADLINES * (int64_t)CONTEXT_DEADLINE_NS + ANSWER_DEADLINE_NS);
}

void drain_before_driver_exit(void)
{
    ask(REQUEST_DRIVER_EXIT, 0, ROUNDS_DEADLINES * (int64_t)EXIT_DEADLINE_NS + ANSWER_DEADLINE_NS);
}

void drain_leave(void)
{
    ask(REQUEST_LEAVE, 0, LEAVE_NS);
}

void drain_detach(void)
{
    ask(REQUEST_DETACH, 0, ANSWER_DEADLINE_NS);
}

void drain_finish(void)
{
    ask(REQUEST_FINISH, 0, ANSWER_DEADLINE_NS);
}

int drain_start(void)
{
    rounds_restart();
    closed = false;
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
