#include "shim/counters/counters.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/reserve.h"
#include "shim/counters/configurations.h"
#include "shim/counters/cupti.h"
#include "shim/counters/tasks.h"
#include "shim/hook/driver_calls.h"
#include "shim/objects/streams.h"
#include "shim/state/phase.h"
#include "shim/state/registry.h"

enum {
    MOST_FAILURES = 64, /* after this many failures, no more counters are read for this kernel, grid and block */
    MOST_CONTEXTS = 257,
    /* the profiler is disabled after this many operations for which no counters were read */
    QUIET_OPERATIONS = 4096,
    IDLE_DEADLINE_NS = 1000000000, /* limit of a wait for the work that the program has queued */
    MOST_FAILED_WAITS = 3, /* counting ends once the driver has refused this many times to wait for a context */
    KERNEL_DEADLINE_NS = 2000000000, /* limit of the wait for the end of a kernel whose counters are read */
    OPEN_DEADLINE_NS = 2000000000,   /* limit of the wait for libcupti to load and prepare */
    /* if libcupti's calls around a launch take longer than this, the excess is subtracted from `patience` (see
     * below) */
    CALLS_DEADLINE_NS = 100000000,
    /* before a capture begins or a context ends: limit of the wait for a launch that another thread is counting */
    PAUSE_DEADLINE_NS = 500000000,
};

static const int64_t PATIENCE_NS = 3000000000; /* initial value of `patience`; too large for an enum */

/* Values of shape_entry.counters. WANTED: hardware counters are to be read for launches of the shape. ALL_COUNTED: no
 * hardware counters are to be read for the shape's launches any more, or at all. 0: not decided yet. */
#define WANTED 1u
#define ALL_COUNTED 2u

/* `busy` is a lock: only the thread that has set it (see take) may use the variables of this file that are not
 * _Atomic. */
static _Atomic uint32_t busy;
static _Atomic bool off;
/* number of operations, in all threads, that are between counters_before and counters_after */
static _Atomic uint32_t under_way;
static _Atomic uint64_t begun; /* how many operations have begun so far, in all threads */
static struct cupti_session *sessions[MOST_CONTEXTS];
/* for each device: dictionary id of its first metric; 0: its metrics are not added yet */
static uint32_t first_metric[64];
static unsigned failed_waits; /* how often the driver refused to wait for a context */
static uint64_t last_counted; /* the value of `begun` when hardware counters were last read for a launch */
static _Atomic uint64_t counted, left_out;
static char refusal[320];

static struct {
    struct cupti_session *session;
    struct configuration *configuration;
    uint32_t group;
    uint64_t begun;
} current;

bool counters_wanted(void)
{
    return shim_options.counters && !atomic_load_explicit(&off, memory_order_relaxed);
}

static bool take(void)
{
    uint32_t free = 0;
    return atomic_compare_exchange_strong_explicit(&busy, &free, 1, memory_order_acquire, memory_order_relaxed);
}

static void let_go(void)
{
    atomic_store_explicit(&busy, 0, memory_order_release);
}

/* Stops the reading of hardware counters for good, and prints the reason. The caller has set `busy`. */
static void refuse(const char *why)
{
    if (atomic_load(&off))
        return;
    snprintf(refusal, sizeof(refusal), "%s", why);
    atomic_store(&off, true);
    atomic_fetch_and(&shim_page.phase, ~(uint32_t)SHIM_COUNTING);
    ws_warn("counters: %s; recording goes on without them", why);
}

/* --- patience ---------------------------------------------------------------------------------- */

/* The time, in ns, that launches may still spend in waits that end at their deadlines: the length of each such wait
 * is subtracted. When this time is used up, no more counters are read. Only the thread that has set `busy` may use
 * this variable. */
static int64_t patience = PATIENCE_NS;

static int64_t at_most(int64_t ns)
{
    return ns < patience ? ns : patience;
}

static void lose_patience(int64_t since, int64_t allowed)
{
    int64_t lost = ws_clock_ns() - since - allowed;
    if (lost > 0)
        patience -= lost;
    if (patience <= 0)
        refuse("launches waited for 3 s in all, for the device or for libcupti, in vain");
}

/* --- waiting for the device -------------------------------------------------------------------- */

/* Host time, ns, at which the current wait for a context began; 0: no thread waits for a context. */
static _Atomic int64_t idle_asked;

/* Waits for all work of the context, because the driver has no call that only asks whether a context is idle. The
 * driver could be asked about streams one by one, but other threads may destroy streams at any time. Waiting for a
 * context would break a capture in the context. So a thread that begins a capture first counts the capture, and then
 * waits while idle_asked is set (counters_pause). This function sets idle_asked before it checks for captures. So
 * either this function sees the capture, or the thread that begins the capture sees idle_asked. */
static bool wait_for_context(struct shim_context *context)
{
    (void)context;
    atomic_store(&idle_asked, ws_clock_ns());
    bool idle = !shim_captures() && driver.context_synchronize() == WS_CUDA_SUCCESS;
    atomic_store(&idle_asked, 0);
    return idle;
}

/* Waits until the context's work is done. Returns false if the work was not done by the deadline, or if the wait
 * failed. The caller has set `busy`. */
static bool is_idle(struct shim_context *context)
{
    int64_t since = ws_clock_ns();
    switch (task_do(wait_for_context, context, at_most(IDLE_DEADLINE_NS), true)) {
    case TASK_DONE:
        return true;
    case TASK_FAILED:
        if (!shim_captures() && ++failed_waits >= MOST_FAILED_WAITS)
            refuse("the device could not be waited for, three times");
        return false;
    case TASK_LATE:
        lose_patience(since, 0);
        return false;
    default: /* TASK_WAS_BUSY: an earlier task, such as a wait, is not over yet */
        return false;
    }
}

/* Waits until the stream's work is done, or until the deadline. Returns the driver's last answer. */
static ws_CUresult stream_done(const struct shim_stream *stream)
{
    int64_t deadline = ws_clock_ns() + at_most(KERNEL_DEADLINE_NS);
    ws_CUresult result;
    while ((result = driver.stream_query(stream->handle)) == WS_CUDA_ERROR_NOT_READY && ws_clock_ns() < deadline)
        sched_yield();
    return result;
}

/* --- sessions ---------------------------------------------------------------------------------- */

/* Can hardware counters be read for this launch? They cannot in a green context: a thread of the shim would have to
 * make the context current, which it must not do with a green context (objects/contexts.h). */
static bool can_be_counted(const struct shape_entry *shape, uint32_t flags)
{
    const struct shim_context *context = shape->stream->context;
    return !context->green && context->device <= sizeof(first_metric) / sizeof(first_metric[0]) &&
           context->id < MOST_CONTEXTS && configuration_countable(shape, flags);
}

/* Adds all metrics of the context's device to the dictionary `metric`, once for each device. So the trace also lists
 * metrics for which no launch has a value. */
static void register_metrics(struct cupti_session *session)
{
    uint32_t *first = &first_metric[session->context->device - 1];
    if (*first || !registry_lock())
        return;
    for (uint32_t i = 0; i < session->metric_count; i++) {
        session->metrics[i].device = session->context->device;
        uint32_t id = registry_add(&registry.metric, &session->metrics[i]);
        if (!i)
            *first = id;
    }
    registry_unlock();
}

enum opening_state { NOT_OPENING, OPENING, OPENED, REFUSED };

static struct {
    struct cupti_session *session;
    const char *why;
    _Atomic uint32_t state; /* enum opening_state */
} opening;

static bool open_session(struct shim_context *context)
{
    opening.why = cupti_open(opening.session, context);
    atomic_store(&opening.state, opening.why ? REFUSED : OPENED);
    return !opening.why;
}

/* Opens libcupti in a thread of the shim. If libcupti loads slowly, only the launch that first needs it waits for it,
 * for OPEN_DEADLINE_NS at most. Counters of later launches are read once libcupti is ready. */
static void begin_to_open(struct shim_context *context)
{
    int64_t since = ws_clock_ns();
    if (!opening.session)
        opening.session = ws_reserve(sizeof(*opening.session));
    if (!opening.session) {
        refuse("not enough memory");
        return;
    }
    atomic_store(&opening.state, OPENING);
    switch (task_do(open_session, context, at_most(OPEN_DEADLINE_NS), false)) {
    case TASK_LATE:
        lose_patience(since, 0);
        break;
    case TASK_WAS_BUSY:
        atomic_store(&opening.state, NOT_OPENING);
        break;
    case TASK_FAILED:
        if (atomic_load(&opening.state) == OPENING) { /* the task failed before it called open_session */
            opening.why = "no thread could be started, or the context not used in one";
            atomic_store(&opening.state, REFUSED);
        }
        break;
    default:
        break;
    }
}

/* Returns the context's CUPTI session. Returns NULL if the context has no session yet, or if CUPTI refused one. */
static struct cupti_session *session_of(struct shim_context *context)
{
    if (sessions[context->id])
        return sessions[context->id];
    if (atomic_load(&opening.state) == NOT_OPENING)
        begin_to_open(context);
    uint32_t state = atomic_load(&opening.state);
    if (state == REFUSED)
        refuse(opening.why);
    if (state != OPENED)
        return NULL;
    struct cupti_session *session = opening.session;
    register_metrics(session);
    if (atomic_load(&session->context->life) == CONTEXT_ALIVE)
        sessions[session->context->id] = session;
    opening.session = NULL;
    atomic_store(&opening.state, NOT_OPENING);
    return sessions[context->id];
}

/* --- around a launch --------------------------------------------------------------------------- */

static bool is_current(const struct shim_context *context)
{
    ws_CUcontext handle = NULL;
    return driver.context_current && driver.context_current(&handle) == WS_CUDA_SUCCESS && handle == context->handle;
}

/* Starts the hardware counters for the launch. Returns false if no counters are read for it. The caller has set
 * `busy`. */
static bool begin(struct shape_entry *shape)
{
    struct shim_context *context = shape->stream->context;
    if (!is_current(context) || atomic_load(&context->life) != CONTEXT_ALIVE)
        return false;
    struct configuration *configuration = configuration_find(shape);
    struct cupti_session *session = configuration ? session_of(context) : NULL;
    uint32_t group;
    if (!session)
        return false;
    if (configuration->failures >= MOST_FAILURES ||
        !configuration_turn(configuration, session->groups, session->group_count, &group)) {
        shape->counters = ALL_COUNTED;
        return false;
    }
    uint64_t now = atomic_load(&begun);
    if (!is_idle(context))
        return false;
    if (shim_captures() || atomic_load(&under_way) != 1 || atomic_load(&begun) != now) {
        configuration->failures++;
        left_out++;
        return false;
    }
    int64_t since = ws_clock_ns();
    const char *why = cupti_begin(session, &session->groups[group]);
    if (why) {
        refuse(why);
        return false;
    }
    lose_patience(since, CALLS_DEADLINE_NS);
    current.session = session;
    current.configuration = configuration;
    current.group = group;
    current.begun = now;
    return true;
}

/* Disables the context's profiler if no counters were read during the last QUIET_OPERATIONS operations. In this case
 * all kernels have probably been counted, so other tools may use the hardware counters. */
static void be_quiet(const struct shim_context *context)
{
    if (context->id >= MOST_CONTEXTS || !take())
        return;
    if (sessions[context->id] && atomic_load(&begun) - last_counted >= QUIET_OPERATIONS)
        cupti_disable(sessions[context->id]);
    let_go();
}

void counters_given_up(struct shim_thread *thread)
{
    if (!thread->counted)
        return;
    if (thread->counted == COUNTED_LAUNCH) {
        refuse("a launch was left by a jump while it was counted");
        current.session->profiler = NULL;
        let_go();
    }
    thread->counted = COUNTED_NOT_ASKED;
    atomic_fetch_sub(&under_way, 1);
}

/* Sets the thread's capture mode, and returns the previous mode. In relaxed mode, the shim's driver calls do not
 * break a capture that another thread begins at the same time. */
static ws_CUenum relax(ws_CUenum mode)
{
    if (driver.exchange_capture_mode)
        driver.exchange_capture_mode(&mode);
    return mode;
}

void counters_before(struct shim_thread *thread, struct ws_ring_op *record, struct shape_entry *shape)
{
    atomic_fetch_add(&under_way, 1);
    uint64_t number = atomic_fetch_add(&begun, 1);
    thread->counted = COUNTED_NOTHING;
    if (atomic_load_explicit(&off, memory_order_relaxed))
        return;
    if (!shape->counters)
        shape->counters = can_be_counted(shape, record->header.detail) ? WANTED : ALL_COUNTED;
    if (shape->counters == ALL_COUNTED) {
        if (number % QUIET_OPERATIONS == 0)
            be_quiet(shape->stream->context);
        return;
    }
    if (shim_captures() || !take())
        return;
    int saved_errno = errno;
    ws_CUenum mode = relax(WS_CU_STREAM_CAPTURE_MODE_RELAXED);
    if (begin(shape)) {
        thread->counted = COUNTED_LAUNCH;
        record->header.detail |= WS_OP_COUNTED;
    } else {
        let_go();
    }
    relax(mode);
    errno = saved_errno;
}

static uint64_t whole(double value)
{
    return value > 0 ? value < 9e18 ? (uint64_t)(value + 0.5) : UINT64_MAX / 2 : 0;
}

static void keep(const struct ws_ring_op *record, const double *values)
{
    const struct cupti_session *session = current.session;
    const struct cupti_group *group = &session->groups[current.group];
    uint32_t first = first_metric[session->context->device - 1] + group->first;
    if (!registry_lock())
        return;
    for (uint32_t i = 0; i < group->count; i++) {
        bool share = session->metrics[group->first + i].quantity == WS_QUANTITY_TENSOR_ACTIVE;
        if (share && values[i] == 0)
            current.configuration->no_tensor = true;
        struct ws_counter row = { .shape = record->header.shape,
                                  .metric = first + i,
                                  .correlation = record->correlation,
                                  .value = whole(share ? values[i] * 1e4 : values[i]) };
        if (values[i] == values[i])
            registry_add(&registry.counter, &row);
    }
    registry_unlock();
    current.configuration->taken++;
    counted++;
}

static void end(struct ws_ring_op *record)
{
    double values[WS_METRICS_IN_GROUP];
    ws_CUresult result = stream_done(stream_at(record->stream));
    if (result == WS_CUDA_ERROR_NOT_READY) {
        /* The kernel may be waiting for the calling thread. The profiler's range is left open, because the call that
         * ends the range might never return. */
        refuse("a kernel did not end within the time that launches may wait");
        current.session->profiler = NULL;
        return;
    }
    bool alone = atomic_load(&begun) == current.begun;
    int64_t since = ws_clock_ns();
    const char *why = cupti_end(current.session, &current.session->groups[current.group], values);
    last_counted = current.begun;
    lose_patience(since, CALLS_DEADLINE_NS);
    if (why || result != WS_CUDA_SUCCESS)
        refuse(why ? why : "a kernel failed");
    else if (alone && record->result == WS_CUDA_SUCCESS)
        keep(record, values);
    else {
        current.configuration->failures++;
        left_out++;
    }
}

void counters_after(struct shim_thread *thread, struct ws_ring_op *record)
{
    if (thread->counted == COUNTED_LAUNCH) {
        int saved_errno = errno;
        ws_CUenum mode = relax(WS_CU_STREAM_CAPTURE_MODE_RELAXED);
        end(record);
        relax(mode);
        let_go();
        errno = saved_errno;
    }
    thread->counted = COUNTED_NOT_ASKED;
    atomic_fetch_sub(&under_way, 1);
}

/* --- the rest ---------------------------------------------------------------------------------- */

static bool take_soon(void)
{
    int64_t deadline = ws_clock_ns() + PAUSE_DEADLINE_NS;
    while (!take()) {
        if (ws_clock_ns() >= deadline)
            return false;
        sched_yield();
    }
    return true;
}

/* If is_idle gave up waiting for its task, the task may still be about to call the driver. So counters_pause also
 * waits until idle_asked is 0, but at most until PAUSE_DEADLINE_NS after idle_asked was set. By then the task is
 * waiting in the driver, and does not break a capture that begins later. */
void counters_pause(void)
{
    if (counters_wanted() && take_soon())
        let_go();
    int64_t asked;
    while ((asked = atomic_load(&idle_asked)) && ws_clock_ns() < asked + PAUSE_DEADLINE_NS)
        sched_yield();
}

void counters_end(struct shim_context *context)
{
    if (!shim_options.counters || !take_soon())
        return;
    task_let_end(context, PAUSE_DEADLINE_NS);
    if (!context)
        atomic_store(&off, true);
    for (uint32_t id = 1; id < MOST_CONTEXTS; id++) {
        struct cupti_session *session = sessions[id];
        if (!session || (context && session->context != context))
            continue;
        if (atomic_load(&session->context->life) == CONTEXT_ALIVE)
            cupti_disable(session);
        if (context)
            sessions[id] = NULL;
    }
    let_go();
}

const char *counters_summary(void)
{
    static char text[512];
    if (!shim_options.counters)
        return NULL;
    uint32_t configured = configurations_known();
    snprintf(text, sizeof(text), "%llu launches of %u kernels, grids and blocks counted, %llu given up%s%s",
             (unsigned long long)atomic_load(&counted), configured, (unsigned long long)atomic_load(&left_out),
             *refusal ? "; ended: " : "", refusal);
    return text;
}
