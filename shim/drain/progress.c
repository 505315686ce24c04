#include "shim/drain/progress.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/minmax.h"
#include "shim/drain/pending.h"
#include "shim/hook/resolve.h"
#include "shim/objects/streams.h"
#include "shim/objects/thread.h"
#include "shim/state/phase.h"
#include "shim/state/registry.h"

enum {
    COMMS = 4096,      /* largest number of communicators, as in the registry */
    REMEMBERED = 1024, /* number of collectives that are remembered: the newest of all communicators; a power of 2 */
    /* Of the operations in a stream's queue that belong to collectives, only this many are examined, oldest first. */
    LOOKED_AT = 4096,
};

struct collective {
    uint32_t comm, function, thread;
    bool open;
    uint64_t sequence, first_launch, last_launch;
    int64_t host_begin;
};

static struct collective remembered[REMEMBERED]; /* a ring: the collective with number i is at i % REMEMBERED */
static uint64_t remembered_count;
static struct {
    uint64_t entered, open; /* sequence numbers of the newest collective, and of the oldest one that has not ended */
    /* Functions that launched these two collectives: ids in the dictionary driver_function. */
    uint32_t entered_as, open_as;
    int64_t entered_begin, open_begin; /* host ns at which these two functions were called */
} comms[COMMS];                        /* index: communicator id − 1 */
static uint32_t comm_most;
static uint32_t last_shape;
static int64_t last_launched;

/* --- notes -------------------------------------------------------------------------------------- */

void progress_note_op(const struct ws_op *op)
{
    if (op->result || op->flags & WS_OP_CAPTURED)
        return;
    last_shape = op->shape;
    last_launched = op->host_end;
}

void progress_note_collective(const struct ws_collective *row)
{
    if (!row->comm || row->comm > COMMS)
        return;
    comms[row->comm - 1].entered = row->sequence;
    comms[row->comm - 1].entered_as = row->function;
    comms[row->comm - 1].entered_begin = row->host_begin;
    comm_most = ws_max(comm_most, row->comm);
    if (row->last_launch)
        remembered[remembered_count++ % REMEMBERED] = (struct collective){ .comm = row->comm,
                                                                           .function = row->function,
                                                                           .thread = row->thread,
                                                                           .sequence = row->sequence,
                                                                           .first_launch = row->first_launch,
                                                                           .last_launch = row->last_launch,
                                                                           .host_begin = row->host_begin };
}

/* --- which collectives have not ended ----------------------------------------------------------- */

static void note_open(const struct ws_op *op)
{
    for (size_t i = 0; i < ws_min(remembered_count, (uint64_t)REMEMBERED); i++) {
        struct collective *one = &remembered[i];
        if (op->correlation >= one->first_launch && op->correlation <= one->last_launch && op->thread == one->thread)
            one->open = true;
    }
}

static void find_open(void)
{
    size_t count = ws_min(remembered_count, (uint64_t)REMEMBERED);
    for (size_t i = 0; i < count; i++)
        remembered[i].open = false;
    for (uint32_t id = 1; id <= stream_count(); id++) {
        unsigned left = LOOKED_AT;
        for (const struct pending *at = stream_at(id)->first; at && left; at = at->next)
            if (at->op.flags & WS_OP_IN_COLLECTIVE) {
                note_open(&at->op);
                left--;
            }
    }
    for (uint32_t i = 0; i < comm_most; i++)
        comms[i].open = 0;
    for (size_t i = 0; i < count; i++) {
        const struct collective *one = &remembered[i];
        if (!one->open || (comms[one->comm - 1].open && comms[one->comm - 1].open < one->sequence))
            continue;
        comms[one->comm - 1].open = one->sequence;
        comms[one->comm - 1].open_as = one->function;
        comms[one->comm - 1].open_begin = one->host_begin;
    }
}

/* --- rows --------------------------------------------------------------------------------------- */

static struct ws_progress_op call_named(uint32_t function, int64_t when)
{
    struct ws_progress_op op = { .launched_ns = when };
    if (function && function <= WS_ID_COUNT)
        snprintf(op.name, sizeof(op.name), "%s", resolve_table[function - 1].symbol);
    return op;
}

static struct ws_progress_op op_named(uint32_t shape_id, int64_t when)
{
    static const char *const kinds[WS_OP_KIND_COUNT] = {
        [WS_OP_KERNEL] = "kernel", [WS_OP_COPY] = "copy", [WS_OP_MEMSET] = "memset", [WS_OP_GRAPH] = "graph"
    };
    struct ws_progress_op op = { .launched_ns = when };
    const struct ws_shape *shape = shape_id ? registry_row(&registry.shape, shape_id) : NULL;
    const struct ws_function *function = shape && shape->kind == WS_OP_KERNEL && shape->function
                                             ? registry_row(&registry.function, shape->function)
                                             : NULL;
    if (function && function->name.length)
        snprintf(op.name, sizeof(op.name), "%.*s", (int)function->name.length, function->name.data);
    else if (shape && shape->kind < WS_OP_KIND_COUNT && kinds[shape->kind])
        snprintf(op.name, sizeof(op.name), "%s", kinds[shape->kind]);
    else if (shape)
        return call_named(shape->driver_function, when);
    return op;
}

/* Returns the stream's first waiting operation, or NULL. Skips events without an operation. */
static const struct pending *first_waiting(const struct shim_stream *stream)
{
    const struct pending *at = stream->first;
    while (at && !at->op.shape)
        at = at->next;
    return at;
}

static uint8_t *put(uint8_t *at, const void *row, size_t size)
{
    memcpy(at, row, size);
    return at + size;
}

static uint8_t *write_streams(uint8_t *at, struct ws_progress_head *head)
{
    for (uint32_t id = 1; id <= stream_count(); id++) {
        const struct shim_stream *stream = stream_at(id);
        const struct pending *first = first_waiting(stream);
        head->waiting += first ? stream->waiting : 0;
        if (!first || head->streams == WS_PROGRESS_STREAMS)
            continue;
        const struct ws_progress_stream row = { .stream = id,
                                                .device = stream->context->device,
                                                .waiting = stream->waiting,
                                                .correlation = first->op.correlation,
                                                .first = op_named(first->op.shape, first->op.host_end) };
        at = put(at, &row, sizeof(row));
        head->streams++;
    }
    return at;
}

static uint8_t *write_comm(uint8_t *at, uint32_t id)
{
    const struct ws_comm *comm = registry_row(&registry.comm, id);
    const struct ws_progress_comm row = { .name_hash = comm->name_hash,
                                          .rank = comm->rank,
                                          .size = comm->size,
                                          .device = comm->device,
                                          .entered = comms[id - 1].entered,
                                          .open = comms[id - 1].open,
                                          .entered_op =
                                              call_named(comms[id - 1].entered_as, comms[id - 1].entered_begin),
                                          .open_op = comms[id - 1].open
                                                         ? call_named(comms[id - 1].open_as, comms[id - 1].open_begin)
                                                         : (struct ws_progress_op){ 0 } };
    return put(at, &row, sizeof(row));
}

/* Writes the communicators, as far as there is room: first those with an open collective (one that has not ended),
 * then the others. Newer communicators come first in both groups. A communicator in which this rank has launched no
 * collective is written, too: it shows which collectives this rank is missing from. */
static uint8_t *write_comms(uint8_t *at, struct ws_progress_head *head)
{
    uint32_t count = ws_min(atomic_load_explicit(&registry.comm.count, memory_order_acquire), (uint32_t)COMMS);
    for (int open = 1; open >= 0; open--)
        for (uint32_t id = count; id && head->comms < WS_PROGRESS_COMMS; id--)
            if ((comms[id - 1].open != 0) == open) {
                at = write_comm(at, id);
                head->comms++;
            }
    return at;
}

/* The number of the thread's calls so far. The thread may change the number while this function reads it. Such a race
 * does no harm: a number that was right a moment ago is good enough. */
__attribute__((no_sanitize("thread"))) static uint64_t calls_of(const struct shim_thread *thread)
{
    return __atomic_load_n(&thread->correlation, __ATOMIC_RELAXED);
}

static uint8_t *write_threads(uint8_t *at, struct ws_progress_head *head)
{
    for (unsigned slot = 0; slot < thread_slots_used() && head->threads < WS_PROGRESS_THREADS; slot++) {
        const struct shim_thread *thread = thread_at(slot);
        bool in_nccl;
        if (!thread || !thread_is_in_call(thread, &in_nccl))
            continue;
        const struct ws_progress_thread row = { .tid = thread->tid, .in_nccl = in_nccl, .calls = calls_of(thread) };
        at = put(at, &row, sizeof(row));
        head->threads++;
    }
    return at;
}

size_t progress_write(uint8_t bytes[WS_PROGRESS_MAX], int64_t now)
{
    struct ws_progress_head head = { .recording = shim_recording() != 0,
                                     .settled = pending_settled(),
                                     .now_ns = now,
                                     .last = op_named(last_shape, last_launched) };
    find_open();
    uint8_t *at = write_streams(bytes + sizeof(head), &head);
    at = write_comms(at, &head);
    at = write_threads(at, &head);
    memcpy(bytes, &head, sizeof(head));
    return (size_t)(at - bytes);
}
