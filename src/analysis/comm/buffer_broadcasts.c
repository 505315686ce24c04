#include "analysis/comm/buffer_broadcasts.h"

#include <stdio.h>
#include <string.h>

#include "analysis/comm/comm.h"
#include "analysis/kernels/classify.h"
#include "analysis/kernels/kernels.h"
#include "analysis/steps/steps.h"
#include "base/minmax.h"

/* Percent. There is advice only if at least MOST_STEPS percent of the steady steps (all steps except warm-up and
 * other unusual steps, steps.h) begin with broadcasts, and if the broadcasts run outside compute for at least WORTH
 * percent of a step. */
enum { MOST_STEPS = 80, WORTH = 1 };

/* If an all-reduce begins less than 1/FORWARD of a step after the last broadcast, it comes too early to reduce
 * gradients. */
enum { FORWARD = 5 };

/* The broadcasts at the start of a step: those before the step's first matrix kernel. Broadcasts after an all-reduce
 * of the same communicator (`reduced`) do not count. */
struct lead {
    uint64_t count, bytes;
    /* `exposed`: ns of the broadcasts in which no compute ran; `end`: end of the last broadcast (ns, host clock) */
    int64_t exposed, end;
    uint32_t comm; /* id of the first broadcast's communicator in the trace, plus 1; 0: not known */
    bool computed; /* true: a matrix kernel of the step has begun */
    bool reduced;  /* true: after a broadcast, an all-reduce of the communicator `comm` has begun */
    bool early;    /* true: this all-reduce comes too early to reduce gradients (FORWARD) */
};

/* Sums over the steady steps that begin with broadcasts and then have an all-reduce of the same communicator. */
struct buffers {
    uint64_t count, bytes;
    int64_t exposed;
    /* `steps`: number of these steps; `late_steps`: number of these steps whose first all-reduce comes late enough to
     * reduce gradients (lead.early is false) */
    uint32_t steps, late_steps;
    bool named;     /* true: at least MOST_STEPS percent of the device's broadcasts were launched in PyTorch's range
                       "DistributedDataParallel.forward" */
    int64_t saving; /* ns that a step would save without the broadcasts; 0: no advice */
};

/* State of a walk over the device's collectives and, in parallel, over its operations, both in order of their start
 * times. */
struct walk {
    const struct ws_report *report;
    const struct ws_process *process;
    const struct ws_track *track;
    const struct ws_track_comm *comm;
    size_t at; /* index in track->order of the next operation that the walk visits */
};

static bool buffers_is(const struct ws_comm_kind *kind, const char *function)
{
    return kind->operation == ws_comm_by_function(function);
}

static void buffers_end_step(struct buffers *buffers, struct lead *lead)
{
    if (lead->count && lead->reduced) {
        buffers->count += lead->count;
        buffers->bytes += lead->bytes;
        buffers->exposed = ws_sum(buffers->exposed, lead->exposed);
        buffers->steps++;
        buffers->late_steps += !lead->early;
    }
    *lead = (struct lead){ 0 };
}

/* Did a matrix kernel begin between `begin`, the start of the step, and `time`? Each call continues the walk where
 * the previous call stopped. Only matrix kernels count, because PyTorch's copy kernels that pack the buffers run
 * before the broadcasts of these buffers. */
static bool buffers_computed(struct walk *walk, int64_t begin, int64_t time)
{
    const struct ws_ops *ops = &walk->process->ops;
    bool computed = false;
    for (; walk->at < walk->track->count; walk->at++) {
        uint32_t op = walk->track->order[walk->at];
        if (ws_op_begin(ops, op) >= time)
            break;
        uint32_t name = ws_process_shape(walk->process, ops->shape[op])->name;
        computed |= ws_op_begin(ops, op) >= begin && ws_class_is_matmul(ws_report_class(walk->report, name));
    }
    return computed;
}

static void buffers_take(struct lead *lead, const struct ws_comm_kind *kind, const struct ws_comm_op *op,
                         int64_t exposed, int64_t least_wait)
{
    if (lead->reduced)
        return;
    if (buffers_is(kind, "ncclBroadcast") && !lead->computed) {
        lead->comm = lead->count ? lead->comm : op->comm;
        lead->count++;
        lead->bytes += op->bytes;
        lead->exposed = ws_sum(lead->exposed, exposed);
        lead->end = op->end;
    } else if (buffers_is(kind, "ncclAllReduce") && lead->count &&
               (op->comm == lead->comm || !op->comm || !lead->comm)) {
        lead->reduced = true;
        lead->early = op->begin - lead->end < least_wait;
    }
}

static struct buffers buffers_sum(struct walk *walk, const struct ws_track_steps *steps, const int64_t *exposed)
{
    const struct ws_comm_op *ops = walk->comm->ops.data;
    const struct ws_comm_kind *kinds = walk->comm->kinds.data;
    const struct ws_step *current = NULL;
    struct buffers buffers = { 0 };
    struct lead lead = { 0 };
    size_t cursor = 0;
    for (size_t i = 0; i < walk->comm->ops.count; i++) {
        const struct ws_step *step = ws_steps_next(steps, &cursor, ops[i].begin);
        if (step != current)
            buffers_end_step(&buffers, &lead);
        current = step;
        if (!ws_step_is_steady(step))
            continue;
        lead.computed |= buffers_computed(walk, step->begin, ops[i].begin);
        buffers_take(&lead, &kinds[ops[i].kind], &ops[i], exposed[i], (step->end - step->begin) / FORWARD);
    }
    buffers_end_step(&buffers, &lead);
    return buffers;
}

/* Was the operation launched in the forward pass of DistributedDataParallel? */
static bool buffers_in_forward(const struct ws_process *process, uint32_t op)
{
    static const char forward[] = "DistributedDataParallel.forward";
    uint32_t at =
        ws_ranges_at(&process->ranges, ws_op_thread(&process->ops, op), ws_op_host_begin(&process->ops, op));
    for (; at != WS_NO_RANGE; at = process->ranges.parents[at]) {
        const struct ws_label *name = ws_entries_find(&process->labels, ws_range(&process->ranges, at)->name);
        if (name && name->text.length == sizeof(forward) - 1 &&
            !memcmp(name->text.data, forward, sizeof(forward) - 1))
            return true;
    }
    return false;
}

/* Were at least MOST_STEPS percent of the device's broadcasts launched in the forward pass of
 * DistributedDataParallel? */
static bool buffers_are_named(const struct walk *walk)
{
    const struct ws_comm_launch *launches = walk->comm->launches.data;
    const struct ws_comm_op *ops = walk->comm->ops.data;
    const struct ws_comm_kind *kinds = walk->comm->kinds.data;
    uint64_t all = 0, named = 0;
    for (size_t i = 0; i < walk->comm->launches.count; i++)
        if (buffers_is(&kinds[ops[launches[i].comm_op].kind], "ncclBroadcast")) {
            all++;
            named += buffers_in_forward(walk->process, launches[i].op);
        }
    return all && named * 100 >= all * MOST_STEPS;
}

/* Does the device have any broadcasts? Most programs have none, and buffers_judge then skips the walk over the
 * operations. */
static bool buffers_any(const struct ws_track_comm *comm)
{
    const struct ws_comm_kind *kinds = comm->kinds.data;
    bool any = false;
    for (size_t i = 0; i < comm->kinds.count; i++)
        any |= buffers_is(&kinds[i], "ncclBroadcast");
    return any;
}

static struct buffers buffers_judge(const struct ws_report *report, size_t track)
{
    const struct ws_track_steps *steps = ws_report_result(report, &ws_analysis_steps, track);
    uint64_t steady = steps->kinds[WS_STEP_STEADY];
    if (!steady || !buffers_any(ws_report_comm(report, track)) || ws_report_infers(report, track))
        return (struct buffers){ 0 };
    const struct ws_track_collectives *collectives = ws_report_result(report, &ws_analysis_collectives, track);
    struct walk walk = { .report = report,
                         .track = ws_model_track(report->model, track),
                         .comm = ws_report_comm(report, track) };
    walk.process = ws_model_process(report->model, walk.track->process);
    struct buffers buffers = buffers_sum(&walk, steps, collectives->exposed.data);
    int64_t saving = ws_comm_per_step(report, track, buffers.exposed);
    if (saving < ws_max(steps->mean / 100 * WORTH, (int64_t)1))
        return buffers;
    buffers.named = buffers_are_named(&walk);
    if ((buffers.named ? buffers.steps : buffers.late_steps) * 100ULL >= steady * MOST_STEPS)
        buffers.saving = saving;
    return buffers;
}

int ws_buffer_broadcasts_advise(const struct ws_report *report, size_t track, struct ws_advice_list *list,
                                int64_t *saving)
{
    static char certain[] =
        "do not broadcast the model's buffers in each step: DistributedDataParallel(broadcast_buffers=False), unless "
        "ranks need equal running statistics (then SyncBatchNorm)";
    static char guess[] =
        "set DistributedDataParallel(broadcast_buffers=False), if the broadcasts at the start of each step are its "
        "buffers and each rank may keep its own";
    const struct ws_track_steps *steps = ws_report_result(report, &ws_analysis_steps, track);
    const struct ws_track_collectives *collectives = ws_report_result(report, &ws_analysis_collectives, track);
    struct buffers buffers = buffers_judge(report, track);
    uint64_t steady = steps->kinds[WS_STEP_STEADY];
    char time[WS_FORMAT_SIZE], count[WS_FORMAT_SIZE], bytes[WS_FORMAT_SIZE], size[64] = "", evidence[256];
    *saving = buffers.saving;
    if (!buffers.saving)
        return 0;
    if (buffers.bytes)
        snprintf(size, sizeof(size), ", %s", ws_format_bytes(bytes, buffers.bytes / steady));
    snprintf(
        evidence, sizeof(evidence),
        "%s broadcast%s a step%s, before the all-reduces; %s a step outside compute%s; %s",
        ws_format_each(count, buffers.count, steady), buffers.count == steady ? "" : "s", size,
        ws_format_time(time, buffers.saving), collectives->all.matched ? "" : ", waiting for other ranks included",
        buffers.named ? "launched in DistributedDataParallel.forward" : "a guess, from the order of collectives");
    return ws_advice_add(list, &(struct ws_advice){ .name = "buffer_broadcasts",
                                                    .part = WS_PART_EXPOSED_COMM,
                                                    .saving_ns = buffers.saving,
                                                    .what = buffers.named ? certain : guess,
                                                    .evidence = evidence,
                                                    .track = (uint32_t)track });
}
