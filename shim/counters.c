#include "counters.h"

#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/map.h"
#include "base/reserve.h"
#include "cupti.h"
#include "driver_calls.h"
#include "registry.h"
#include "shim.h"
#include "streams.h"

enum {
    ROUNDS = 2, /* over all groups */
    MOST_FAILURES = 64,
    MOST_CONFIGURATIONS = 65536,
    MOST_CONTEXTS = 257,
    QUIET_OPERATIONS = 4096,         /* after which the hardware is given back */
    IDLE_DEADLINE_NS = 2000000000,   /* for what the program has queued */
    MOST_TIMEOUTS = 3,               /* of that */
    KERNEL_DEADLINE_NS = 2000000000, /* for a counted launch */
    PAUSE_DEADLINE_NS = 500000000,   /* for others that count */
};

static const int64_t OPEN_DEADLINE_NS = 10000000000; /* for the library to load and prepare: no int */

/* shape_entry.counters, beside 0: not looked at yet. */
#define WANTED 1u
#define ALL_COUNTED 2u

/* A kernel with its grid and block on a device. */
struct configuration {
    uint32_t device, function, grid[3], block[3], shared;
    uint32_t taken;    /* turns, left out ones among them */
    uint32_t failures; /* launches of which nothing could be kept */
    bool no_tensor;    /* the tensor cores did nothing in it */
};

/* All but the flags belongs to the thread that has `busy`. */
static _Atomic uint32_t busy;
static _Atomic bool off;
static _Atomic uint32_t under_way; /* operations between their entry and their call's return */
static _Atomic uint64_t begun;     /* operations ever */
static struct configuration *configurations;
static _Atomic uint32_t configuration_count;
static struct ws_map places; /* hash of a configuration → its place + 1 */
static struct cupti_session *sessions[MOST_CONTEXTS];
static uint32_t first_metric[64]; /* of a device */
static unsigned timeouts;         /* of waits for the context */
static uint64_t last_counted;     /* `begun` at that time */
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

/* With `busy`. */
static void refuse(const char *why)
{
    if (atomic_load(&off))
        return;
    snprintf(refusal, sizeof(refusal), "%s", why);
    atomic_store(&off, true);
    atomic_fetch_and(&shim_page.phase, ~(uint32_t)SHIM_COUNTING);
    ws_warn("counters: %s; recording goes on without them", why);
}

/* --- threads of ours --------------------------------------------------------------------------- */

/* What may take long, or would leave traces in the program's thread (dlerror), is done by a thread of ours while the
 * program's waits, with a deadline. One at a time. */
static struct {
    bool (*run)(struct shim_context *context);
    struct shim_context *context;
    _Atomic uint32_t state; /* enum task_state; a futex */
} task;
enum task_state { TASK_NONE, TASK_RUNS, TASK_DONE, TASK_FAILED, TASK_LEFT };

static void *task_main(void *unused)
{
    (void)unused;
    thread_self.ours = true;
    ws_CUenum mode = WS_CU_STREAM_CAPTURE_MODE_RELAXED;
    if (driver.exchange_capture_mode)
        driver.exchange_capture_mode(&mode);
    bool done = driver.context_set(task.context->handle) == WS_CUDA_SUCCESS && task.run(task.context);
    driver.context_set(NULL);
    uint32_t runs = TASK_RUNS;
    if (!atomic_compare_exchange_strong(&task.state, &runs, done ? TASK_DONE : TASK_FAILED))
        atomic_store(&task.state, TASK_NONE); /* nobody waits any more */
    syscall(SYS_futex, &task.state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    return NULL;
}

static bool do_task(bool (*run)(struct shim_context *), struct shim_context *context, int64_t deadline_ns)
{
    uint32_t state = TASK_NONE;
    if (!atomic_compare_exchange_strong(&task.state, &state, TASK_RUNS))
        return false; /* the last one is still at work */
    task.run = run;
    task.context = context;
    if (thread_start(task_main)) {
        atomic_store(&task.state, TASK_NONE);
        return false;
    }
    int64_t deadline = ws_clock_ns() + deadline_ns, now;
    while ((state = atomic_load(&task.state)) == TASK_RUNS && (now = ws_clock_ns()) < deadline) {
        struct timespec timeout = { (deadline - now) / 1000000000, (deadline - now) % 1000000000 };
        syscall(SYS_futex, &task.state, FUTEX_WAIT_PRIVATE, TASK_RUNS, &timeout, NULL, 0);
    }
    if (state == TASK_RUNS && atomic_compare_exchange_strong(&task.state, &state, TASK_LEFT))
        return false;
    atomic_store(&task.state, TASK_NONE);
    return state == TASK_DONE;
}

/* A context has no query, and streams of others may go at any time. What is being captured in it would not survive
 * this: a capture may have begun since it was last asked about. */
static bool wait_for_context(struct shim_context *context)
{
    (void)context;
    return !shim_captures() && driver.context_synchronize() == WS_CUDA_SUCCESS;
}

/* --- waiting for the device -------------------------------------------------------------------- */

/* Returns what the driver says of the stream when it has an end, or when the deadline has passed. */
static ws_CUresult stream_done(const struct shim_stream *stream)
{
    int64_t deadline = ws_clock_ns() + KERNEL_DEADLINE_NS;
    ws_CUresult result;
    while ((result = driver.stream_query(stream->handle)) == WS_CUDA_ERROR_NOT_READY && ws_clock_ns() < deadline)
        sched_yield();
    return result;
}

/* --- what to count ----------------------------------------------------------------------------- */

static uint64_t hash_of(const struct configuration *configuration)
{
    const uint32_t *words = &configuration->device;
    uint64_t hash = 0x2545f4914f6cdd1du;
    for (size_t i = 0; i < offsetof(struct configuration, taken) / sizeof(uint32_t); i++)
        hash = (hash ^ words[i]) * 0x9e3779b97f4a7c15u ^ hash >> 31;
    return hash ? hash : 1;
}

/* The entry's configuration, made if need be; NULL where it is not to be counted. */
static struct configuration *configuration_of(struct shape_entry *shape)
{
    const struct ws_shape *row = registry_row(&registry.shape, shape->shape);
    struct configuration wanted = { .device = shape->stream->context->device,
                                    .function = row->function,
                                    .grid = { row->grid_x, row->grid_y, row->grid_z },
                                    .block = { row->block_x, row->block_y, row->block_z },
                                    .shared = row->shared_bytes };
    if (!configurations)
        configurations = ws_reserve(MOST_CONFIGURATIONS * sizeof(*configurations));
    for (uint64_t hash = hash_of(&wanted); configurations; hash++) {
        uint64_t *place = ws_map_put(&places, hash ? hash : 1);
        if (!place || (!*place && configuration_count == MOST_CONFIGURATIONS))
            break;
        if (!*place) {
            configurations[configuration_count] = wanted;
            *place = ++configuration_count;
        }
        struct configuration *found = &configurations[*place - 1];
        if (!memcmp(found, &wanted, offsetof(struct configuration, taken)))
            return found;
    }
    return NULL;
}

/* Does it wait for other ranks, so that it may never end by itself? */
static bool communicates(uint32_t function)
{
    static const char *const words[] = {
        "nccl", "nvshmem", "deep_ep", "internode", "cross_device_reduce", "multimem"
    };
    const struct ws_function *row = function ? registry_row(&registry.function, function) : NULL;
    for (size_t i = 0; row && i < sizeof(words) / sizeof(words[0]); i++)
        if (strstr(row->name.data, words[i]))
            return true;
    return false;
}

/* Whatever the time, is a launch of this entry one to be counted? */
static bool countable(struct shape_entry *shape, uint32_t flags)
{
    const struct ws_shape *row = registry_row(&registry.shape, shape->shape);
    return row->kind == WS_OP_KERNEL && !(flags & WS_OP_IN_COLLECTIVE) && !communicates(row->function) &&
           shape->stream->context->device <= sizeof(first_metric) / sizeof(first_metric[0]) &&
           shape->stream->context->id < MOST_CONTEXTS;
}

/* The group whose turn it is; false: all had theirs. */
static bool next_group(struct configuration *configuration, const struct cupti_session *session, uint32_t *group)
{
    for (; configuration->taken < ROUNDS * session->group_count; configuration->taken++) {
        const struct cupti_group *next = &session->groups[configuration->taken % session->group_count];
        if (!next->host || (configuration->no_tensor && next->tensor))
            continue;
        *group = configuration->taken % session->group_count;
        return true;
    }
    return false;
}

/* --- sessions ---------------------------------------------------------------------------------- */

/* The metrics of a device, once: all that would be read, so that what was not can be told. */
static void register_metrics(struct cupti_session *session)
{
    uint32_t *first = &first_metric[session->context->device - 1];
    if (*first)
        return;
    registry_lock();
    for (uint32_t i = 0; i < session->metric_count; i++) {
        session->metrics[i].device = session->context->device;
        uint32_t id = registry_add(&registry.metric, &session->metrics[i]);
        if (!i)
            *first = id;
    }
    registry_unlock();
}

static struct {
    struct cupti_session *session;
    const char *_Atomic why;
} opening;

static bool open_session(struct shim_context *context)
{
    const char *why = cupti_open(opening.session, context);
    atomic_store(&opening.why, why);
    return !why;
}

static struct cupti_session *session_of(struct shim_context *context)
{
    struct cupti_session **session = &sessions[context->id];
    if (*session)
        return *session;
    opening.session = ws_reserve(sizeof(*opening.session));
    opening.why = "libcupti was not ready within 10 s";
    if (!opening.session || !do_task(open_session, context, OPEN_DEADLINE_NS)) {
        refuse(atomic_load(&opening.why));
        return NULL;
    }
    register_metrics(opening.session);
    return *session = opening.session;
}

/* --- around a launch --------------------------------------------------------------------------- */

static bool is_current(const struct shim_context *context)
{
    ws_CUcontext handle = NULL;
    return driver.context_current && driver.context_current(&handle) == WS_CUDA_SUCCESS && handle == context->handle;
}

/* With `busy`: begins to count. */
static bool begin(struct shape_entry *shape)
{
    struct shim_context *context = shape->stream->context;
    if (!is_current(context) || atomic_load(&context->life) != CONTEXT_ALIVE)
        return false;
    struct configuration *configuration = configuration_of(shape);
    struct cupti_session *session = configuration ? session_of(context) : NULL;
    uint32_t group;
    if (!session)
        return false;
    if (configuration->failures >= MOST_FAILURES || !next_group(configuration, session, &group)) {
        shape->counters = ALL_COUNTED;
        return false;
    }
    uint64_t now = atomic_load(&begun);
    bool idle = do_task(wait_for_context, context, IDLE_DEADLINE_NS);
    if (!idle && !shim_captures() && ++timeouts >= MOST_TIMEOUTS) {
        refuse("the device was not done with its work 2 s later, or had failed, three times");
        return false;
    }
    if (!idle || shim_captures() || atomic_load(&under_way) != 1 || atomic_load(&begun) != now) {
        configuration->failures++;
        left_out++;
        return false;
    }
    const char *why = cupti_begin(session, &session->groups[group]);
    if (why) {
        refuse(why);
        return false;
    }
    current.session = session;
    current.configuration = configuration;
    current.group = group;
    current.begun = now;
    return true;
}

/* Where nothing was counted for long, nothing more may come: the hardware is given back. */
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

void counters_before(struct shim_thread *thread, struct ws_ring_op *record, struct shape_entry *shape)
{
    atomic_fetch_add(&under_way, 1);
    uint64_t number = atomic_fetch_add(&begun, 1);
    thread->counted = COUNTED_NOTHING;
    if (atomic_load_explicit(&off, memory_order_relaxed))
        return;
    if (!shape->counters)
        shape->counters = countable(shape, record->header.detail) ? WANTED : ALL_COUNTED;
    if (shape->counters == ALL_COUNTED) {
        if (number % QUIET_OPERATIONS == 0)
            be_quiet(shape->stream->context);
        return;
    }
    if (shim_captures() || !take())
        return;
    int saved_errno = errno;
    if (begin(shape)) {
        thread->counted = COUNTED_LAUNCH;
        record->header.detail |= WS_OP_COUNTED;
    } else {
        let_go();
    }
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
    registry_lock();
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
        /* What a kernel waits for may be this very thread. The range stays open: to end it could take for ever. */
        refuse("a kernel did not end within 2 s of its launch");
        current.session->profiler = NULL;
        return;
    }
    bool alone = atomic_load(&begun) == current.begun;
    const char *why = cupti_end(current.session, &current.session->groups[current.group], values);
    last_counted = current.begun;
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
        end(record);
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

void counters_pause(void)
{
    if (counters_wanted() && take_soon())
        let_go();
}

void counters_end(struct shim_context *context)
{
    if (!shim_options.counters || !take_soon())
        return;
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
    unsigned configured = atomic_load(&configuration_count);
    snprintf(text, sizeof(text), "%llu launches of %u kernels, grids and blocks counted, %llu given up%s%s",
             (unsigned long long)atomic_load(&counted), configured, (unsigned long long)atomic_load(&left_out),
             *refusal ? "; ended: " : "", refusal);
    return text;
}
