#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/activity/activity.h"
#include "analysis/comm/comm.h"
#include "base/hash.h"
#include "base/minmax.h"
#include "base/salted.h"

/* Limits the number of rows (struct ws_comm_kind) per device. Each communicator size (number of ranks) has rows of
 * its own, and a damaged trace may hold very many sizes. Once there are MOST_KINDS rows, all further operations go
 * into rows whose `ranks` is 0. */
enum { MOST_KINDS = 256 };

/* The calls of one NCCL group. NCCL launches the same kernels for all calls of a group. */
struct bundle {
    uint64_t first, last; /* correlation ids of the first and the last launch by these calls */
    uint32_t comm_op;     /* index of the struct ws_comm_op made from the bundle; WS_NOWHERE: none yet */
    uint32_t kind, member;
    uint32_t comm; /* communicator of the group's first call, as in ws_comm_op.comm */
    uint32_t calls;
    uint64_t sequence, bytes;
};

/* A communication kernel with its correlation id. */
struct numbered {
    uint64_t correlation;
    uint32_t launch; /* index into ws_track_comm.launches */
};

/* A line is all kernels with the same name on the same stream. If the kind of operation is known from NCCL calls, it
 * must be the same for all kernels of a line, too. The map finder.streams gives a kernel's line. The n-th kernel of a
 * line is compared with the n-th kernel of the same line on other ranks. */
struct line {
    /* indices in `members` and `kinds`; `kind` is only used for kernels whose calls are not in the trace */
    uint32_t member, kind;
};

struct finder {
    const struct ws_report *report;
    const struct ws_process *process;
    const struct ws_track *track;
    struct ws_track_comm *result;
    struct ws_vector bundles; /* elements: struct bundle, in order of `first` */
    struct ws_vector lines;   /* elements: struct line */
    struct ws_map comms;      /* id of a communicator + 1 → index of the communicator in `members` + 1 */
    /* number of ranks + 1 → number of communicators with this many ranks whose name is not in the trace */
    struct ws_map sizes;
    struct ws_map streams; /* kernel name, stream and operation → index in `lines` + 1 */
    struct ws_map names;   /* kernel name and operation → number of streams with such kernels */
};

static uint64_t comm_ops_add_up(uint64_t a, uint64_t b)
{
    uint64_t sum;
    return __builtin_add_overflow(a, b, &sum) || sum > INT64_MAX ? INT64_MAX : sum;
}

/* Sorts the items only if they are not in order: calls of a single thread are in order already. */
static void sort_if_needed(void *items, size_t count, size_t size, int (*compare)(const void *, const void *))
{
    const char *at = items;
    for (size_t i = 1; i < count; i++)
        if (compare(at + (i - 1) * size, at + i * size) > 0) {
            qsort(items, count, size, compare);
            return;
        }
}

/* ---- calls */

static uint32_t comm_ops_device_of(const struct ws_process *process, const struct ws_collective *call)
{
    const struct ws_comm *comm = ws_entries_find(&process->comms, call->comm);
    if (comm)
        return comm->device;
    const struct ws_stream *stream = ws_entries_find(&process->streams, call->stream);
    const struct ws_context *context = stream ? ws_entries_find(&process->contexts, stream->context) : NULL;
    return context ? context->device : 0;
}

/* Returns the index in result->kinds of the row with these values. Adds the row if it does not exist. Returns
 * WS_NOWHERE if memory runs out. */
static uint32_t kind_for(struct ws_track_comm *result, ws_comm_operation operation, uint32_t ranks, bool by_name)
{
    struct ws_comm_kind *kinds = result->kinds.data;
    if (result->kinds.count >= MOST_KINDS)
        ranks = 0;
    for (uint32_t i = 0; i < result->kinds.count; i++)
        if (kinds[i].operation == operation && kinds[i].ranks == ranks && kinds[i].by_name == by_name)
            return i;
    struct ws_comm_kind *kind = ws_vector_push(&result->kinds);
    if (!kind)
        return WS_NOWHERE;
    *kind = (struct ws_comm_kind){ .operation = operation, .ranks = ranks, .by_name = by_name };
    return (uint32_t)result->kinds.count - 1;
}

static uint64_t group_of(const char *what, uint64_t a, uint64_t b)
{
    uint64_t words[3] = { ws_hash(what, strlen(what)), a, b };
    return ws_hash_key(words, sizeof(words));
}

static struct ws_comm_member *member_at(const struct ws_track_comm *result, uint32_t index)
{
    return (struct ws_comm_member *)result->members.data + index;
}

/* Returns the index of a call's communicator in `members`. Returns WS_NOWHERE if the trace does not describe the
 * communicator, or memory runs out. */
static uint32_t member_for(struct finder *finder, uint32_t id)
{
    const struct ws_comm *comm = ws_entries_find(&finder->process->comms, id);
    uint64_t *place = comm ? ws_salted_put(&finder->comms, (uint64_t)id + 1) : NULL;
    if (!place)
        return WS_NOWHERE;
    if (*place)
        return (uint32_t)(*place - 1);
    uint64_t group = comm->name_hash ? group_of("communicator", comm->name_hash, 0) : 0;
    uint64_t *nameless = group ? NULL : ws_salted_put(&finder->sizes, (uint64_t)comm->size + 1);
    if (nameless)
        group = group_of("nameless", comm->size, ++*nameless);
    struct ws_comm_member *member = group ? ws_vector_push(&finder->result->members) : NULL;
    if (!member)
        return WS_NOWHERE;
    *member = (struct ws_comm_member){ .group = group, .rank = comm->rank, .size = comm->size };
    *place = finder->result->members.count;
    return (uint32_t)(*place - 1);
}

static int by_first_launch(const void *a, const void *b)
{
    const struct ws_collective *x = *(const struct ws_collective *const *)a,
                               *y = *(const struct ws_collective *const *)b;
    if (x->first_launch != y->first_launch)
        return x->first_launch < y->first_launch ? -1 : 1;
    return (x->correlation > y->correlation) - (x->correlation < y->correlation);
}

static int add_to_bundle(struct finder *finder, const struct ws_collective *call, uint32_t kind, uint64_t bytes)
{
    struct ws_comm_kind *kinds = finder->result->kinds.data;
    size_t count = finder->bundles.count;
    struct bundle *bundle = count ? (struct bundle *)finder->bundles.data + (count - 1) : NULL;
    if (bundle && bundle->first == call->first_launch && bundle->last == call->last_launch) {
        ws_comm_operation both = ws_comm_together(kinds[bundle->kind].operation, kinds[kind].operation);
        uint32_t ranks = kinds[bundle->kind].ranks == kinds[kind].ranks ? kinds[kind].ranks : 0;
        bundle->kind = kind_for(finder->result, both, ranks, false);
        bundle->bytes = comm_ops_add_up(bundle->bytes, bytes);
        bundle->calls++;
        return bundle->kind == WS_NOWHERE ? -ENOMEM : 0;
    }
    bundle = ws_vector_push(&finder->bundles);
    if (!bundle)
        return -ENOMEM;
    *bundle = (struct bundle){ .first = call->first_launch,
                               .last = call->last_launch,
                               .comm_op = WS_NOWHERE,
                               .kind = kind,
                               .member = member_for(finder, call->comm),
                               .comm = ws_entries_find(&finder->process->comms, call->comm) ? call->comm + 1 : 0,
                               .calls = 1,
                               .sequence = call->sequence,
                               .bytes = bytes };
    return 0;
}

static void comm_ops_count_calls(struct finder *finder, uint32_t kind, uint64_t calls, uint64_t bytes)
{
    struct ws_comm_kind *row = (struct ws_comm_kind *)finder->result->kinds.data + kind;
    row->calls += calls;
    row->bytes = comm_ops_add_up(row->bytes, bytes);
}

static int comm_ops_add_call(struct finder *finder, const struct ws_collective *call)
{
    const struct ws_process *process = finder->process;
    const struct ws_comm *comm = ws_entries_find(&process->comms, call->comm);
    const struct ws_driver_function *function = ws_entries_find(&process->driver_functions, call->function);
    ws_comm_operation operation = ws_comm_by_function(function ? function->name.data : "");
    uint32_t ranks = comm ? comm->size : 0;
    uint64_t bytes = ws_comm_bytes(operation, call->count, call->datatype, ranks);
    uint32_t kind = kind_for(finder->result, operation, ranks, false);
    if (kind == WS_NOWHERE)
        return -ENOMEM;
    bool numbered = ws_comm_is_joint(operation) && call->sequence;
    uint32_t member = numbered ? WS_NOWHERE : member_for(finder, call->comm);
    if (member != WS_NOWHERE) { /* sequence numbers also count calls that not all ranks make, such as sends, so joint
                                   calls may have different numbers on the ranks */
        member_at(finder->result, member)->by_order = true;
        member_at(finder->result, member)->unnumbered |= !call->sequence;
    }
    if (call->first_launch)
        return add_to_bundle(finder, call, kind, bytes);
    comm_ops_count_calls(finder, kind, 1, bytes);
    return 0;
}

static int find_bundles(struct finder *finder)
{
    const struct ws_collective *calls = finder->process->collectives.data;
    size_t count = 0;
    const struct ws_collective **sorted = malloc((finder->process->collectives.count + 1) * sizeof(*sorted));
    if (!sorted)
        return -ENOMEM;
    for (size_t i = 0; i < finder->process->collectives.count; i++)
        if (!calls[i].result && comm_ops_device_of(finder->process, &calls[i]) == finder->track->device)
            sorted[count++] = &calls[i];
    sort_if_needed((void *)sorted, count, sizeof(*sorted), by_first_launch);
    int status = 0;
    for (size_t i = 0; i < count && !status; i++)
        status = comm_ops_add_call(finder, sorted[i]);
    free(sorted);
    const struct bundle *bundles = finder->bundles.data;
    for (size_t i = 0; i < finder->bundles.count && !status; i++)
        comm_ops_count_calls(finder, bundles[i].kind, bundles[i].calls, bundles[i].bytes);
    return status;
}

/* ---- launches */

/* Finds the track's communication kernels. assign_launches and make_ops find the NCCL operations of these kernels
 * later. */
static int find_launches(struct finder *finder)
{
    const struct ws_ops *ops = &finder->process->ops;
    size_t shapes = finder->process->shapes.count;
    bool *is_comm = calloc(shapes + 1, sizeof(*is_comm)), any = finder->process->collectives.count;
    int status = is_comm ? 0 : -ENOMEM;
    for (size_t i = 0; is_comm && i < shapes; i++) {
        is_comm[i] = ws_report_group(finder->report, ws_process_shape(finder->process, i)->name) == WS_GROUP_COMM;
        any |= is_comm[i];
    }
    for (size_t i = 0; any && i < finder->track->count && !status; i++) {
        uint32_t op = finder->track->order[i];
        if (!is_comm[ops->shape[op]] && !(ops->flags[op] & WS_OP_IN_COLLECTIVE))
            continue;
        struct ws_comm_launch *launch = ws_vector_push(&finder->result->launches);
        status = launch ? 0 : -ENOMEM;
        if (launch)
            *launch = (struct ws_comm_launch){ op, WS_NOWHERE };
    }
    free(is_comm);
    return status;
}

static int by_correlation(const void *a, const void *b)
{
    const struct numbered *x = a, *y = b;
    return (x->correlation > y->correlation) - (x->correlation < y->correlation);
}

/* Finds the bundle (the NCCL calls of one group) that launched each kernel. Stores the index of the bundle in the
 * launch's comm_op until make_ops replaces it by the index of the operation. */
static int assign_launches(struct finder *finder)
{
    struct ws_comm_launch *launches = finder->result->launches.data;
    const struct bundle *bundles = finder->bundles.data;
    size_t count = finder->result->launches.count, at = 0;
    struct numbered *sorted = finder->bundles.count ? malloc((count + 1) * sizeof(*sorted)) : NULL;
    if (!sorted)
        return finder->bundles.count ? -ENOMEM : 0;
    for (size_t i = 0; i < count; i++)
        sorted[i] = (struct numbered){ ws_op_correlation(&finder->process->ops, launches[i].op), (uint32_t)i };
    sort_if_needed(sorted, count, sizeof(*sorted), by_correlation);
    for (size_t i = 0; i < finder->bundles.count; i++) {
        while (at < count && sorted[at].correlation < bundles[i].first)
            at++;
        for (; at < count && sorted[at].correlation <= bundles[i].last; at++)
            launches[sorted[at].launch].comm_op = (uint32_t)i;
    }
    free(sorted);
    return 0;
}

/* ---- operations */

/* Finds or adds the line that a kernel belongs to: all kernels with the same name on the same stream. The n-th kernel
 * of a line is compared with the n-th kernel of the same line on other ranks. If the kind of operation is known, only
 * kernels of the same kind of operation share a line. Returns NULL if memory runs out. */
static struct line *line_for(struct finder *finder, const struct ws_op_shape *shape, ws_comm_operation operation)
{
    uint64_t *place =
        ws_salted_put(&finder->streams, group_of("stream", (uint64_t)shape->name << 32 | shape->stream, operation));
    uint64_t *streams =
        place && !*place ? ws_salted_put(&finder->names, group_of("name", shape->name, operation)) : NULL;
    if (!place || (!*place && !streams))
        return NULL;
    if (*place)
        return (struct line *)finder->lines.data + (*place - 1);
    const char *name = ws_model_name(finder->report->model, shape->name)->text;
    struct ws_comm_member *member = ws_vector_push(&finder->result->members);
    struct line *line = member ? ws_vector_push(&finder->lines) : NULL;
    if (!line)
        return NULL;
    *member =
        (struct ws_comm_member){ .group = group_of(name, operation, ++*streams), .by_name = true, .by_order = true };
    *line = (struct line){ .member = (uint32_t)finder->result->members.count - 1, .kind = WS_NOWHERE };
    *place = finder->lines.count;
    return line;
}

static struct ws_comm_op *push_op(struct finder *finder, struct ws_comm_op op)
{
    struct ws_comm_kind *kind = (struct ws_comm_kind *)finder->result->kinds.data + op.kind;
    struct ws_comm_op *place = ws_vector_push(&finder->result->ops);
    if (!place)
        return NULL;
    *place = op;
    kind->timed += op.calls;
    kind->timed_bytes = comm_ops_add_up(kind->timed_bytes, op.bytes);
    if (kind->by_name)
        kind->calls++;
    return place;
}

/* Creates an operation for a kernel whose NCCL call is not in the trace. */
static struct ws_comm_op *op_by_name(struct finder *finder, const struct ws_op_shape *shape)
{
    struct line *line = line_for(finder, shape, WS_NOWHERE);
    if (!line)
        return NULL;
    if (line->kind == WS_NOWHERE) {
        ws_comm_operation operation = ws_comm_by_kernel(ws_model_name(finder->report->model, shape->name)->text);
        line->kind = kind_for(finder->result, operation, 0, true);
    }
    if (line->kind == WS_NOWHERE)
        return NULL;
    return push_op(
        finder, (struct ws_comm_op){
                    .begin = INT64_MAX, .end = INT64_MIN, .calls = 1, .kind = line->kind, .member = line->member });
}

/* Finds or creates the operation of a bundle (the NCCL calls of one group). If the communicator of these calls is not
 * known, all kernels with this name on this stream (the kernel's line) count as one communicator. */
static struct ws_comm_op *op_of_bundle(struct finder *finder, struct bundle *bundle, const struct ws_op_shape *shape)
{
    const struct ws_comm_kind *kind = (struct ws_comm_kind *)finder->result->kinds.data + bundle->kind;
    if (bundle->comm_op != WS_NOWHERE)
        return (struct ws_comm_op *)finder->result->ops.data + bundle->comm_op;
    if (bundle->member == WS_NOWHERE && ws_comm_is_joint(kind->operation)) {
        const struct line *line = line_for(finder, shape, kind->operation);
        if (!line)
            return NULL;
        bundle->member = line->member;
    }
    bundle->comm_op = (uint32_t)finder->result->ops.count;
    return push_op(finder, (struct ws_comm_op){ .begin = INT64_MAX,
                                                .end = INT64_MIN,
                                                .sequence = bundle->sequence,
                                                .bytes = bundle->bytes,
                                                .calls = bundle->calls,
                                                .kind = bundle->kind,
                                                .member = bundle->member,
                                                .comm = bundle->comm });
}

static int make_ops(struct finder *finder)
{
    const struct ws_ops *ops = &finder->process->ops;
    struct ws_comm_launch *launches = finder->result->launches.data;
    for (size_t i = 0; i < finder->result->launches.count; i++) {
        uint32_t op = launches[i].op;
        const struct ws_op_shape *shape = ws_process_shape(finder->process, ops->shape[op]);
        uint32_t bundle = launches[i].comm_op;
        struct ws_comm_op *made = bundle < finder->bundles.count
                                      ? op_of_bundle(finder, (struct bundle *)finder->bundles.data + bundle, shape)
                                      : op_by_name(finder, shape);
        if (!made)
            return -ENOMEM;
        int64_t begin = ws_op_begin(ops, op), end = ws_op_end(ops, op);
        made->begin = ws_min(begin, made->begin);
        made->end = ws_max(end, made->end);
        launches[i].comm_op = (uint32_t)(made - (struct ws_comm_op *)finder->result->ops.data);
    }
    return 0;
}

/* Counts joint operations (which all ranks of a communicator must join). Numbers them in order of time if their calls
 * have no sequence numbers, or if the sequence numbers may differ between ranks. If only a kernel is known and not
 * its call, we assume that all ranks must join the operation. ws_comm_match checks this assumption: it compares the
 * ends of these kernels between ranks. */
static void number_ops(struct ws_track_comm *result)
{
    struct ws_comm_op *ops = result->ops.data;
    const struct ws_comm_kind *kinds = result->kinds.data;
    for (size_t i = 0; i < result->ops.count; i++) {
        struct ws_comm_member *member = ops[i].member != WS_NOWHERE ? member_at(result, ops[i].member) : NULL;
        if (member && !ws_comm_is_joint(kinds[ops[i].kind].operation) && !member->by_name)
            ops[i].member = WS_NOWHERE;
        else if (member) {
            member->joint++;
            if (member->by_order)
                ops[i].sequence = member->joint;
        }
    }
}

static int comm_ops_run(const struct ws_report *report, size_t subject, void *memory)
{
    const struct ws_track *track = ws_model_track(report->model, subject);
    struct ws_track_comm *result = memory;
    *result = (struct ws_track_comm){ .ops = WS_VECTOR(struct ws_comm_op),
                                      .launches = WS_VECTOR(struct ws_comm_launch),
                                      .kinds = WS_VECTOR(struct ws_comm_kind),
                                      .members = WS_VECTOR(struct ws_comm_member) };
    struct finder finder = { .report = report,
                             .process = ws_model_process(report->model, track->process),
                             .track = track,
                             .result = result,
                             .bundles = WS_VECTOR(struct bundle),
                             .lines = WS_VECTOR(struct line) };
    int status = find_bundles(&finder);
    if (!status)
        status = find_launches(&finder);
    if (!status)
        status = assign_launches(&finder);
    if (!status)
        status = make_ops(&finder);
    if (!status)
        number_ops(result);
    ws_vector_finish(&finder.bundles);
    ws_vector_finish(&finder.lines);
    ws_map_finish(&finder.comms);
    ws_map_finish(&finder.sizes);
    ws_map_finish(&finder.streams);
    ws_map_finish(&finder.names);
    return status;
}

static void comm_ops_finish(void *memory)
{
    struct ws_track_comm *result = memory;
    ws_vector_finish(&result->ops);
    ws_vector_finish(&result->launches);
    ws_vector_finish(&result->kinds);
    ws_vector_finish(&result->members);
}

const struct ws_analysis ws_analysis_comm_ops = {
    .name = "comm_ops",
    .scope = WS_SCOPE_TRACK,
    .result_size = sizeof(struct ws_track_comm),
    .run = comm_ops_run,
    .finish = comm_ops_finish,
};
