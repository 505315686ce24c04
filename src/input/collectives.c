/* Finds the kernels of each collective (a call such as ncclAllReduce) in another profiler's file. Some files state to
 * which collective a kernel belongs. If the file does not state it, an NCCL kernel belongs to the collective call
 * during which the calling thread launched the kernel. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "input/gather.h"

static int input_collectives_by_place(const void *a, const void *b)
{
    const struct ws_gather_collective *x = a, *y = b;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    /* If two records begin at the same time, the longer record comes first, because it contains the shorter
     * record. */
    return (x->end < y->end) - (x->end > y->end);
}

static const struct ws_gather_call *call_of(const struct ws_gather *gather, const struct ws_gather_op *op)
{
    return op->call ? (const struct ws_gather_call *)gather->calls.data + (op->call - 1) : NULL;
}

/* Merges records of one collective call that are nested: one lies within the time of another on the same thread. The
 * outer record takes the fields that it lacks from the inner record. The inner record is dropped. */
static void input_collectives_fold(struct ws_vector *collectives)
{
    struct ws_gather_collective *list = collectives->data;
    size_t kept = 0;
    for (size_t i = 0; i < collectives->count; i++) {
        struct ws_gather_collective *outer = kept ? &list[kept - 1] : NULL, inner = list[i];
        bool nested = outer && outer->thread == inner.thread && inner.end <= outer->end;
        if (!nested) {
            list[kept++] = inner;
            continue;
        }
        outer->comm = outer->comm ? outer->comm : inner.comm;
        outer->sequence = outer->sequence ? outer->sequence : inner.sequence;
        if (inner.function && (!outer->function || (!outer->count && inner.count))) {
            outer->function = inner.function;
            outer->count = inner.count;
            outer->datatype = inner.datatype;
            outer->peer = inner.peer;
            outer->all_parts = inner.all_parts;
        }
    }
    collectives->count = kept;
}

static void input_collectives_put(struct ws_gather *gather, const struct ws_gather_collective *collective,
                                  uint64_t first, uint64_t last)
{
    const struct ws_comm *comms = gather->comms.data;
    uint32_t ranks = collective->comm ? comms[collective->comm - 1].size : 0;
    struct ws_collective row = {
        .function = collective->function,
        .thread = collective->thread,
        .correlation = first,
        .host_begin = collective->begin,
        .host_end = collective->end,
        .comm = collective->comm,
        .stream = collective->stream,
        .count = collective->all_parts && ranks ? collective->count / ranks : collective->count,
        .datatype = collective->datatype,
        .peer = collective->peer,
        .sequence = collective->sequence,
        .first_launch = first,
        .last_launch = last,
    };
    if (collective->function)
        ws_gather_row(gather, WS_FAMILY_collective, &row);
}

static bool is_nccl(const struct ws_gather *gather, const struct ws_gather_op *op)
{
    const struct ws_shape *shape = ws_intern_item(&gather->shapes, op->shape);
    const bool *communicates = gather->communicates.data;
    return shape->kind == WS_OP_KERNEL && shape->function && communicates[shape->function - 1];
}

/* Returns the record of the innermost collective call that was running on this thread at `time`, or NULL. */
static struct ws_gather_collective *innermost_around(const struct ws_vector *collectives, uint32_t thread,
                                                     int64_t time)
{
    struct ws_gather_collective *list = collectives->data;
    size_t low = 0, high = collectives->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (list[middle].thread < thread || (list[middle].thread == thread && list[middle].begin <= time))
            low = middle + 1;
        else
            high = middle;
    }
    bool found = low && list[low - 1].thread == thread && list[low - 1].end >= time;
    return found ? &list[low - 1] : NULL;
}

/* Marks the operation as part of the collective. Stores the correlation id of the operation's launch in launch[1],
 * the collective's last launch so far, and in launch[0], its first launch, if launch[0] is still 0. */
static void add_launch(struct ws_gather *gather, struct ws_gather_op *op, struct ws_gather_collective *collective,
                       uint64_t launch[2])
{
    struct ws_comm *comms = gather->comms.data;
    const struct ws_shape *shape = ws_intern_item(&gather->shapes, op->shape);
    op->flags |= WS_OP_IN_COLLECTIVE;
    launch[1] = ws_gather_correlation(collective->thread, op->correlation);
    launch[0] = launch[0] ? launch[0] : launch[1];
    collective->stream = shape->stream;
    if (collective->comm && !comms[collective->comm - 1].device)
        comms[collective->comm - 1].device = ws_gather_device_of(gather, shape->stream);
}

/* Handles a kernel whose collective the file states; `own` describes this collective. If the kernel was launched
 * during a collective call that has a record, `own` takes the thread and the times of this record, and replaces the
 * record in `records`. If there is no such record, writes `own` as a row of the trace at once, with the thread and
 * the times of the call that launched the kernel. */
static void assign_named_kernel(struct ws_gather *gather, const struct ws_vector *records, uint64_t (*launches)[2],
                                struct ws_gather_collective own)
{
    struct ws_gather_op *op = (struct ws_gather_op *)gather->ops.data + (own.op - 1);
    const struct ws_gather_call *call = call_of(gather, op);
    struct ws_gather_collective *record = call ? innermost_around(records, call->thread, call->begin) : NULL;
    uint64_t launch[2] = { 0 };
    own.thread = record ? record->thread : call ? call->thread : 0;
    own.begin = record ? record->begin : call ? call->begin : op->begin;
    own.end = record ? record->end : call ? call->end : op->begin;
    add_launch(gather, op, &own, record ? launches[record - (struct ws_gather_collective *)records->data] : launch);
    if (record)
        *record = own;
    else
        input_collectives_put(gather, &own, launch[0], launch[1]);
}

/* Assigns each NCCL kernel that has no collective yet to the collective call during which the kernel was launched on
 * the same thread. */
static void assign_nccl_kernels(struct ws_gather *gather, const struct ws_vector *records, uint64_t (*launches)[2],
                                const uint32_t *order)
{
    for (size_t i = 0; i < gather->ops.count && records->count; i++) {
        struct ws_gather_op *op = (struct ws_gather_op *)gather->ops.data + order[i];
        const struct ws_gather_call *call = call_of(gather, op);
        if (!call || op->flags & WS_OP_IN_COLLECTIVE || !is_nccl(gather, op))
            continue;
        struct ws_gather_collective *record = innermost_around(records, call->thread, call->begin);
        if (record)
            add_launch(gather, op, record, launches[record - (struct ws_gather_collective *)records->data]);
    }
}

int ws_gather_tie_collectives(struct ws_gather *gather, const uint32_t *order)
{
    const struct ws_gather_collective *list = gather->collectives.data;
    struct ws_vector records = WS_VECTOR(struct ws_gather_collective);
    uint64_t(*launches)[2] = calloc(gather->collectives.count + 1, sizeof(*launches));
    int status = launches ? 0 : -ENOMEM;
    for (size_t i = 0; i < gather->collectives.count && !status; i++) {
        struct ws_gather_collective *record = list[i].op ? NULL : ws_vector_push(&records);
        if (record)
            *record = list[i];
        else if (!list[i].op)
            status = -ENOMEM;
    }
    if (!status) {
        if (records.count)
            qsort(records.data, records.count, sizeof(*list), input_collectives_by_place);
        input_collectives_fold(&records);
        for (size_t i = 0; i < gather->collectives.count; i++)
            if (list[i].op)
                assign_named_kernel(gather, &records, launches, list[i]);
        assign_nccl_kernels(gather, &records, launches, order);
        for (size_t i = 0; i < records.count; i++)
            input_collectives_put(gather, (struct ws_gather_collective *)records.data + i, launches[i][0],
                                  launches[i][1]);
        status = gather->error;
    }
    const struct ws_comm *comms = gather->comms.data;
    for (size_t i = 0; i < gather->comms.count && !status; i++)
        ws_gather_row(gather, WS_FAMILY_comm, &comms[i]);
    free(launches);
    ws_vector_finish(&records);
    return status;
}
