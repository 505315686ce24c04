#include "engine/engine.h"

#include <signal.h>
#include <time.h>

/* The driver thread polls collectives and values in memory every POLL_NS. A real device sees a value at once. So in
 * the first EAGER_NS of a wait for a value, the thread polls every EAGER_POLL_NS without sleeping. The thread ends
 * after it has had nothing to do for IDLE_NS. */
enum { IDLE_NS = 500000000, POLL_NS = 20000, EAGER_NS = 300000, EAGER_POLL_NS = 1000 };

__thread bool sim_in_callback __attribute__((tls_model("initial-exec")));

_Atomic unsigned sim_values_watched;

static struct sim_op *watched;
/* list of operations that wait for a value, but have not begun: earlier operations of their stream still run */
static struct sim_op *queued;
static pthread_cond_t wake;
static bool started;

/* Reads the value in one atomic access, as a device does, because the program may be writing it. */
static uint64_t value_now(const struct sim_work *work)
{
    if (work->value.bytes == sizeof(uint64_t))
        return __atomic_load_n((const uint64_t *)work->value.address, __ATOMIC_ACQUIRE);
    return __atomic_load_n((const uint32_t *)work->value.address, __ATOMIC_ACQUIRE);
}

static bool value_there(const struct sim_work *work)
{
    uint64_t found = value_now(work), wanted = work->value.value;
    unsigned shift = 64 - 8 * work->value.bytes;
    switch (work->value.flags & 3) {
    case 0:
        return (int64_t)((found - wanted) << shift) >= 0;
    case 1:
        return found == wanted;
    case 2:
        return (found & wanted) != 0;
    default:
        return ~(found | wanted) << shift != 0;
    }
}

/* Looks whether the value is in memory. Returns the time. The clock is read after the value, so that there_at is
 * never before the value was stored, even if this thread is delayed between the two reads. */
static int64_t value_look(struct sim_op *op)
{
    bool there = value_there(&op->work);
    int64_t now = sim_now();
    if (!there)
        op->there_at = 0;
    else if (!op->there_at)
        op->there_at = now;
    return now;
}

/* Returns whether the wait for a value has ended. If so, sets op->end. */
static bool value_ends(struct sim_op *op)
{
    int64_t now = value_look(op);
    if (op->start > now || !op->there_at)
        return false;
    op->end = op->there_at > op->start ? op->there_at : op->start;
    return true;
}

static void list_add(struct sim_op **list, struct sim_op *op)
{
    while (*list)
        list = &(*list)->next_watched;
    op->next_watched = NULL;
    *list = op;
}

static void list_remove(struct sim_op **list, struct sim_op *op)
{
    while (*list != op)
        list = &(*list)->next_watched;
    *list = op->next_watched;
}

static void unwatch(struct sim_op *op)
{
    list_remove(&watched, op);
    sim_values_watched -= op->work.kind == SIM_WORK_WAIT_VALUE;
}

void sim_value_queued(struct sim_op *op)
{
    op->there_at = 0;
    list_add(&queued, op);
    sim_values_watched++;
}

/* Ends the waits whose value is in memory. Driver calls use this too, because on a busy machine the driver thread
 * runs late. */
void sim_values_end(void)
{
    for (struct sim_op *early = queued; early; early = early->next_watched)
        value_look(early);
    struct sim_op *op = watched;
    while (op) {
        if (op->work.kind != SIM_WORK_WAIT_VALUE || !value_ends(op)) {
            op = op->next_watched;
            continue;
        }
        unwatch(op);
        sim_op_timed(op);
        op = watched; /* begins at the list's start again, because sim_op_timed may have changed the list */
    }
}

/* Waits until all work before the operation in its stream is done. Called with sim_lock, returns without it. */
static void finish_before(struct sim_op *op)
{
    struct sim_stream *stream = op->stream;
    uint64_t before = op->number - 1;
    pthread_mutex_unlock(&sim_lock);
    sim_finish_through(stream, before);
    for (unsigned i = 0; i < op->dependency_count; i++)
        sim_finish_through(op->dependencies[i].stream, op->dependencies[i].number);
}

static void call_host(struct sim_op *op)
{
    const struct sim_work work = op->work;
    op->state = SIM_RUNNING;
    finish_before(op);
    sim_in_callback = true;
    if (work.host.callback)
        work.host.callback(work.host.stream, op->stream->context->sticky, work.host.argument);
    else
        work.host.function(work.host.argument);
    sim_in_callback = false;
    pthread_mutex_lock(&sim_lock);
    op->end = sim_now();
    sim_op_timed(op);
}

static void begin_polled(struct sim_op *op)
{
    const struct sim_launch *launch = &op->work.launch;
    op->state = SIM_RUNNING;
    finish_before(op);
    if (launch->function->kernel->begin && launch->arguments)
        launch->function->kernel->begin(launch->arguments->pointers, op->start);
    pthread_mutex_lock(&sim_lock);
    op->state = SIM_POLLED;
}

/* The time of the next poll of an operation that has begun. */
static int64_t next_look(const struct sim_op *op, int64_t now)
{
    bool eager = op->work.kind == SIM_WORK_WAIT_VALUE && now - op->start < EAGER_NS;
    return now + (eager ? EAGER_POLL_NS : POLL_NS);
}

/* Returns whether something must be done for the operation: it has ended, or its host function or begin function must
 * be called. Otherwise lowers *again to the time at which to look next. */
static bool look_at(struct sim_op *op, int64_t now, int64_t *again)
{
    bool is_value = op->work.kind == SIM_WORK_WAIT_VALUE;
    if (is_value && value_ends(op))
        return true;
    if (op->start > now) {
        if (*again > op->start)
            *again = op->start;
        return false;
    }
    if (op->work.kind == SIM_WORK_HOST || (op->work.kind == SIM_WORK_KERNEL && op->state == SIM_STARTED))
        return true;
    if (!is_value) {
        struct sim_arguments *arguments = op->work.launch.arguments;
        op->end = op->work.launch.function->kernel->poll(arguments ? arguments->pointers : NULL, op->start);
        if (op->end >= 0) {
            if (op->end < op->start)
                op->end = op->start;
            return true;
        }
    }
    int64_t next = next_look(op, now);
    if (*again > next)
        *again = next;
    return false;
}

/* Waits until there is an operation to watch. Returns false if there was none for IDLE_NS. */
static bool has_work(void)
{
    int64_t end = sim_now() + IDLE_NS;
    struct timespec until = { end / 1000000000, end % 1000000000 };
    while (!watched)
        if (pthread_cond_timedwait(&wake, &sim_lock, &until))
            break;
    return watched;
}

/* The body of the driver thread. It ends when it has nothing to do: a thread that stayed would keep the process alive
 * after the program's own threads have ended. */
static void *driver_thread(void *unused)
{
    /* A real device needs no processor of the host. With SCHED_BATCH, waking this thread does not interrupt the
     * program where all processors are in use. Without it, a call that made a stream wait for a value took up to 0.5
     * ms. */
    const struct sched_param no_priority = { 0 };
    pthread_setschedparam(pthread_self(), SCHED_BATCH, &no_priority);
    (void)unused;
    int64_t drained = 0;
    pthread_mutex_lock(&sim_lock);
    for (;;) {
        if (!has_work())
            break;
        int64_t now = sim_now();
        if (now - drained >= POLL_NS) {
            pthread_mutex_unlock(&sim_lock);
            sim_drain(); /* a kernel or copy may write the value that a stream waits for */
            pthread_mutex_lock(&sim_lock);
            drained = now = sim_now();
        }
        int64_t again = now + 1000000000;
        struct sim_op *op = watched;
        while (op && !look_at(op, now, &again))
            op = op->next_watched;
        if (op && op->work.kind == SIM_WORK_KERNEL && op->state == SIM_STARTED) {
            begin_polled(op);
            continue;
        }
        if (op) {
            unwatch(op);
            if (op->work.kind == SIM_WORK_HOST)
                call_host(op);
            else
                sim_op_timed(op);
            continue;
        }
        if (again < now + POLL_NS) { /* the next look is so soon that a sleep would last too long */
            pthread_mutex_unlock(&sim_lock);
            sim_spin_until(again);
            pthread_mutex_lock(&sim_lock);
            continue;
        }
        struct timespec until = { again / 1000000000, again % 1000000000 };
        pthread_cond_timedwait(&wake, &sim_lock, &until);
    }
    started = false;
    pthread_mutex_unlock(&sim_lock);
    return NULL;
}

static void start_thread(void)
{
    static bool initialized;
    if (!initialized) {
        pthread_condattr_t attributes;
        pthread_condattr_init(&attributes);
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
        pthread_cond_init(&wake, &attributes);
        pthread_condattr_destroy(&attributes);
        initialized = true;
    }
    /* The driver thread blocks all signals: the program's handlers must run in the program's threads. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_t thread;
    if (pthread_create(&thread, NULL, driver_thread, NULL) == 0)
        pthread_detach(thread);
    else
        sim_log("no driver thread: host functions will not run");
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    started = true;
}

void sim_watch(struct sim_op *op)
{
    if (!started)
        start_thread();
    if (op->work.kind == SIM_WORK_WAIT_VALUE)
        list_remove(&queued, op);
    list_add(&watched, op);
    pthread_cond_signal(&wake);
}
