#include "engine/engine.h"

#include <stdlib.h>
#include <string.h>

/* When the length of a queue is a multiple of this number, a launch does the real work of operations that have
 * ended. */
enum { DRAIN_EVERY = 256 };

struct sim_stream *sim_busy;

static struct sim_op *free_ops;
static uint64_t correlations;
static struct sim_stream *settle_list;

/* Returns the duration of a kernel that begins at `start`. It is longer while SIMGPU_THROTTLE holds the clocks
 * down. */
static int64_t throttled(const struct sim_device *device, int64_t start, int64_t duration)
{
    const struct sim_throttle *throttle = &sim_config.throttle;
    if (!throttle->mhz || !sim_throttle_holds(throttle, start))
        return duration;
    return duration * (device->model->clock_khz / 1000) / throttle->mhz;
}

/* Reserves the unit (a copy engine) for `duration`, at the first time from `from` on at which the unit is free that
 * long. Returns that time. */
static int64_t unit_take(struct sim_unit *unit, int64_t from, int64_t duration)
{
    int64_t now = sim_now();
    unsigned past = 0;
    while (past < unit->count && unit->spans[past].end < now && unit->spans[past].end < from)
        past++;
    if (past) {
        unit->count -= past;
        memmove(unit->spans, unit->spans + past, unit->count * sizeof(*unit->spans));
    }
    unsigned at = 0;
    for (; at < unit->count && unit->spans[at].start < from + duration; at++)
        if (unit->spans[at].end > from)
            from = unit->spans[at].end;
    if (unit->count == unit->capacity) {
        unsigned capacity = unit->capacity ? unit->capacity * 2 : 64;
        struct sim_span *spans = realloc(unit->spans, capacity * sizeof(*spans));
        if (!spans)
            return from;
        unit->spans = spans;
        unit->capacity = capacity;
    }
    memmove(unit->spans + at + 1, unit->spans + at, (unit->count - at) * sizeof(*unit->spans));
    unit->spans[at] = (struct sim_span){ from, from + duration };
    unit->count++;
    return from;
}

/* The earliest time at which this operation may begin after the previous one of its stream. */
static int64_t stream_ready(const struct sim_stream *stream, const struct sim_op *op)
{
    if (op->work.overlaps && stream->last_was_kernel)
        return stream->last_start + (stream->last_end - stream->last_start) / 2;
    return stream->last_end;
}

/* The time of an event. An event directly behind another event comes event_dispatch_ns later, because the device
 * takes time for each entry of a queue. An event behind a kernel, copy or memset has the time of that operation's
 * end. */
static int64_t event_start(const struct sim_stream *stream, int64_t ready)
{
    int64_t next = stream->last_end + sim_config.event_dispatch_ns;
    return stream->last_was_event && ready < next ? next : ready;
}

/* The start of an operation that the device could begin at `ready`. An operation directly behind an event begins
 * later than one behind another operation, as was measured on an H200 (shim/timing/dispatch.h). */
static int64_t work_start(const struct sim_stream *stream, int64_t ready)
{
    int64_t start = ready + sim_config.dispatch_ns, after = stream->last_end + sim_config.after_event_ns;
    return stream->last_was_event && start < after ? after : start;
}

static bool is_device_work(enum sim_kind kind)
{
    return kind == SIM_WORK_KERNEL || kind == SIM_WORK_COPY || kind == SIM_WORK_MEMSET;
}

static bool ends_outside(const struct sim_work *work)
{
    if (work->kind == SIM_WORK_KERNEL)
        return work->launch.function->kernel && work->launch.function->kernel->poll;
    return work->kind == SIM_WORK_HOST || work->kind == SIM_WORK_WAIT_VALUE;
}

static void settle_later(struct sim_stream *stream)
{
    if (stream->to_settle)
        return;
    stream->to_settle = true;
    stream->next_to_settle = settle_list;
    settle_list = stream;
}

/* Called when the operation's start and end are known: notifies the operations that wait for these times. */
static void timed(struct sim_op *op)
{
    struct sim_stream *stream = op->stream;
    op->state = SIM_TIMED;
    stream->waiting = op->next;
    stream->last_was_kernel = op->work.kind == SIM_WORK_KERNEL;
    stream->last_was_event = op->work.kind == SIM_WORK_EVENT;
    stream->last_start = op->start;
    if (op->end < stream->last_end)
        op->end = stream->last_end;
    stream->last_end = op->end;
    if (op->work.kind == SIM_WORK_EVENT)
        sim_event_settle(op);
    for (unsigned i = 0; i < op->waiter_count; i++) {
        struct sim_op *waiter = op->waiters[i];
        if (waiter->ready < op->end)
            waiter->ready = op->end;
        if (--waiter->unresolved == 0 && waiter == waiter->stream->waiting)
            settle_later(waiter->stream);
    }
    op->waiter_count = 0;
}

static void settle_stream(struct sim_stream *stream)
{
    struct sim_op *op;
    while ((op = stream->waiting) && op->state == SIM_WAITING && !op->unresolved) {
        int64_t ready = stream_ready(stream, op);
        if (ready < op->ready)
            ready = op->ready;
        if (ready < op->submit + sim_config.submit_ns)
            ready = op->submit + sim_config.submit_ns;
        op->start = is_device_work(op->work.kind) ? work_start(stream, ready) : ready;
        if (op->work.kind == SIM_WORK_EVENT)
            op->start = event_start(stream, ready);
        if (ends_outside(&op->work)) {
            op->state = SIM_STARTED;
            sim_watch(op);
            return;
        }
        if (op->work.unit != SIM_ENGINE_NONE)
            op->start = unit_take(&stream->context->device->units[op->work.unit], op->start, op->work.duration);
        if (op->work.kind == SIM_WORK_KERNEL)
            op->work.duration = throttled(stream->context->device, op->start, op->work.duration);
        op->end = op->start + op->work.duration;
        /* In the stream, the operation before a SIM_WORK_GRAPH_END is the graph's SIM_WORK_GRAPH_BEGIN. The graph
         * starts when that operation has ended. */
        if (op->work.kind == SIM_WORK_GRAPH_END)
            op->start = stream->last_end + sim_config.dispatch_ns;
        if (op->start > op->end)
            op->start = op->end;
        timed(op);
    }
}

static void settle_listed(void)
{
    struct sim_stream *stream;
    while ((stream = settle_list)) {
        settle_list = stream->next_to_settle;
        stream->to_settle = false;
        settle_stream(stream);
    }
}

void sim_settle(struct sim_stream *stream)
{
    settle_stream(stream);
    if (settle_list)
        settle_listed();
}

/* Called when an operation has ended whose end the model cannot compute, such as a host function. The caller has set
 * op->end. */
void sim_op_timed(struct sim_op *op)
{
    timed(op);
    settle_later(op->stream);
    settle_listed();
    pthread_cond_broadcast(&sim_changed);
}

static bool grow(void **items, unsigned count, unsigned *capacity, size_t size)
{
    if (count < *capacity)
        return true;
    unsigned larger = *capacity ? *capacity * 2 : 4;
    void *memory = realloc(*items, larger * size);
    if (!memory)
        return false;
    *items = memory;
    *capacity = larger;
    return true;
}

void sim_depend(struct sim_op *op, struct sim_op *on)
{
    if (!on || on->stream == op->stream)
        return;
    if (!grow((void **)&op->dependencies, op->dependency_count, &op->dependency_capacity, sizeof(*op->dependencies)))
        return;
    op->dependencies[op->dependency_count++] = (struct sim_dependency){ on->stream, on->number };
    if (on->state == SIM_TIMED) {
        if (op->ready < on->end)
            op->ready = on->end;
    } else if (grow((void **)&on->waiters, on->waiter_count, &on->waiter_capacity, sizeof(struct sim_op *))) {
        on->waiters[on->waiter_count++] = op;
        op->unresolved++;
    }
}

/* Makes an operation on the legacy default stream wait for the blocking streams of its context. Makes an operation on
 * one of those streams wait for the legacy stream. */
static void depend_on_context(struct sim_op *op)
{
    struct sim_stream *stream = op->stream, *legacy = stream->context->legacy;
    if (stream->internal || stream->flags & WS_CU_STREAM_NON_BLOCKING)
        return;
    if (stream != legacy) {
        if (legacy->tail)
            sim_depend(op, legacy->tail);
        return;
    }
    for (struct sim_stream *other = sim_busy; other; other = other->next_busy)
        if (other->context == stream->context && !other->internal && !(other->flags & WS_CU_STREAM_NON_BLOCKING))
            sim_depend(op, other->tail);
}

static void busy_add(struct sim_stream *stream)
{
    stream->previous_busy = NULL;
    stream->next_busy = sim_busy;
    if (sim_busy)
        sim_busy->previous_busy = stream;
    sim_busy = stream;
}

static void busy_remove(struct sim_stream *stream)
{
    if (stream->previous_busy)
        stream->previous_busy->next_busy = stream->next_busy;
    else
        sim_busy = stream->next_busy;
    if (stream->next_busy)
        stream->next_busy->previous_busy = stream->previous_busy;
}

static struct sim_op *op_take(void)
{
    struct sim_op *op = free_ops;
    if (!op)
        return calloc(1, sizeof(*op));
    free_ops = op->next;
    return op;
}

/* Adds an operation at the end of the stream. With sim_lock held. Afterwards the caller adds dependencies and calls
 * sim_settle. */
struct sim_op *sim_enqueue(struct sim_stream *stream, const struct sim_work *work, int64_t submit)
{
    struct sim_op *op = op_take();
    if (!op)
        return NULL;
    op->next = NULL;
    op->stream = stream;
    op->number = ++stream->issued;
    op->state = SIM_WAITING;
    op->tid = sim_thread_id();
    op->correlation = ++correlations;
    op->submit = submit;
    op->ready = 0;
    op->ran = false;
    op->unresolved = op->dependency_count = op->waiter_count = 0;
    op->work = *work;
    if (stream->tail)
        stream->tail->next = op;
    else
        stream->head = op;
    stream->tail = op;
    if (!stream->waiting)
        stream->waiting = op;
    if (!stream->count++)
        busy_add(stream);
    if (work->kind == SIM_WORK_WAIT_VALUE)
        sim_value_queued(op);
    depend_on_context(op);
    return op;
}

/* With sim_lock held: removes the stream's first operation, which is done. */
void sim_retire_head(struct sim_stream *stream)
{
    struct sim_op *op = stream->head;
    sim_truth_write(op);
    sim_count_end(op);
    stream->head = op->next;
    if (!stream->head)
        stream->tail = NULL;
    if (!--stream->count)
        busy_remove(stream);
    stream->done = op->number;
    op->next = free_ops;
    free_ops = op;
    if (stream->destroyed && !stream->count)
        sim_stream_forget(stream);
}

bool sim_dependencies_done(const struct sim_op *op)
{
    for (unsigned i = 0; i < op->dependency_count; i++)
        if (op->dependencies[i].stream->done < op->dependencies[i].number)
            return false;
    return true;
}

/* Removes ended operations that have no real work from the head of the queue, so that the queue stays short. */
static void retire_idle(struct sim_stream *stream, int64_t now)
{
    struct sim_op *op;
    while ((op = stream->head) && op->state == SIM_TIMED && op->end <= now && sim_work_is_free(&op->work) &&
           sim_dependencies_done(op))
        sim_retire_head(stream);
}

/* Waits until the stream's queue has fewer than `most` operations. With sim_lock held, which is released during the
 * wait. When the queue's length is a multiple of DRAIN_EVERY, this also does the real work of ended operations. So
 * queues stay short in programs that never wait. */
void sim_make_room(struct sim_stream *stream, unsigned most)
{
    if (stream->count && stream->count % DRAIN_EVERY == 0) {
        pthread_mutex_unlock(&sim_lock);
        sim_drain();
        pthread_mutex_lock(&sim_lock);
    }
    while (stream->count >= most) {
        uint64_t first = stream->head->number;
        pthread_mutex_unlock(&sim_lock);
        sim_finish_through(stream, first);
        pthread_mutex_lock(&sim_lock);
    }
}

/* With sim_lock held: checks that the stream and the event of a driver call still exist. The call looked them up
 * before it took the lock, so another thread may have destroyed them. */
static ws_CUresult still_there(const struct sim_stream *stream, const struct sim_work *work)
{
    bool has_event = work->kind == SIM_WORK_EVENT || work->kind == SIM_WORK_WAIT;
    if (has_event && work->event.event->magic != SIM_EVENT)
        return WS_CUDA_ERROR_INVALID_HANDLE;
    return sim_alive(stream);
}

ws_CUresult sim_submit(struct sim_stream *stream, struct sim_work *work, int64_t host_ns, uint64_t *number)
{
    bool captured;
    ws_CUresult result = sim_capture_work(stream, work, &captured);
    if (captured) {
        if (result != WS_CUDA_SUCCESS)
            sim_work_finish(work);
        return result;
    }
    sim_values_look();
    pthread_mutex_lock(&sim_lock);
    sim_make_room(stream, (unsigned)sim_config.queue_depth);
    result = still_there(stream, work);
    if (result != WS_CUDA_SUCCESS) {
        pthread_mutex_unlock(&sim_lock);
        sim_work_finish(work);
        return result;
    }
    int64_t now = sim_now();
    retire_idle(stream, now);
    struct sim_op *op = sim_enqueue(stream, work, now + host_ns);
    if (op) {
        if (number)
            *number = op->number;
        if (work->kind == SIM_WORK_EVENT)
            sim_event_recorded(op);
        else if (work->kind == SIM_WORK_WAIT)
            sim_event_wait(op, work->event.event);
        sim_settle(stream);
    }
    bool full = sim_truth_full();
    pthread_mutex_unlock(&sim_lock);
    if (full)
        sim_truth_flush();
    if (host_ns)
        sim_spin_until(now + host_ns);
    return op ? WS_CUDA_SUCCESS : WS_CUDA_ERROR_OUT_OF_MEMORY;
}

static struct sim_op *op_numbered(struct sim_stream *stream, uint64_t number)
{
    if (stream->tail && stream->tail->number == number)
        return stream->tail;
    struct sim_op *op = stream->head;
    while (op && op->number < number)
        op = op->next;
    return op;
}

uint64_t sim_last_queued(void)
{
    return correlations;
}

void sim_finish_queued(struct sim_stream *stream, uint64_t last)
{
    uint64_t number = stream->tail->correlation <= last ? stream->tail->number : stream->head->number;
    pthread_mutex_unlock(&sim_lock);
    sim_finish_through(stream, number);
    pthread_mutex_lock(&sim_lock);
}

/* Waits until the operation of this number has ended in the model and its real work is done. */
ws_CUresult sim_finish_through(struct sim_stream *stream, uint64_t number)
{
    sim_values_look();
    pthread_mutex_lock(&sim_lock);
    struct sim_context *context = stream->context;
    while (stream->done < number) {
        const struct sim_op *op = op_numbered(stream, number);
        if (!op)
            break;
        if (op->state != SIM_TIMED) {
            pthread_cond_wait(&sim_changed, &sim_lock);
            continue;
        }
        int64_t end = op->end;
        pthread_mutex_unlock(&sim_lock);
        sim_wait_until(end);
        sim_drain();
        pthread_mutex_lock(&sim_lock);
    }
    pthread_mutex_unlock(&sim_lock);
    return context->sticky;
}
