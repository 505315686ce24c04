#include "analysis/roofline/roofline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/activity/activity.h"
#include "analysis/activity/host_time.h"
#include "analysis/cost/counter_cost.h"
#include "analysis/cost/kernel_cost.h"
#include "analysis/cost/server_step.h"
#include "analysis/kernels/classify.h"
#include "analysis/roofline/gemms.h"
#include "analysis/roofline/roofline_judge.h"
#include "analysis/roofline/roofline_report.h"
#include "analysis/steps/steps.h"
#include "base/minmax.h"
#include "base/salted.h"
#include "report/peaks.h"

static const char shortcut_note[] = "uses the Winograd or an FFT algorithm, with fewer FLOPs than the direct "
                                    "convolution that is counted: its "
                                    "TFLOP/s are higher than what its cores compute";

static const char carried_note[] =
    "sizes were recorded for some launches only; launches with the same grid are assumed to be equal";

static const char counted_note[] =
    "hardware counters were read at every launch, and the times include waiting for that; a recording without "
    "--counters has the true times";

/* Facts that all launches of one shape (kernel, grid, block, stream) have in common. */
struct launched {
    /* row for the kernel's name; NULL: the operation is not a kernel, or runs on another device */
    struct ws_roofline_row *row;
    bool in_graph; /* the kernel was launched with a CUDA graph */
    bool is_small; /* the grid has fewer blocks than the GPU has SMs */
    bool is_plain; /* only the kernel's name can tell the roofline class */
};

static const char tokens_note[] =
    "its sizes are not in the trace; each weight is used once for each of the tokens that "
    "the range of the server's step names, at most";

/* The cost (FLOPs and bytes) of an operator with given inputs. All ranges with this operator and these inputs share
 * this cost. */
struct priced {
    const struct ws_operator *entry; /* the operator's entry in the table of operators; NULL: the operator has none */
    /* number of tokens that the range's name gives, if the range is an inference server's step */
    struct ws_server_step step;
    struct ws_operator_cost cost;
    bool known;
    struct ws_gemm_row gemm;
};

struct work {
    const struct ws_report *report;
    const struct ws_process *process;
    const struct ws_track *track;
    const struct ws_track_steps *steps;
    struct ws_map prices;    /* maps (operator's name id << 32 | id of its inputs) to the index in `priced` + 1 */
    struct ws_vector priced; /* struct priced */
    bool serves;             /* some range is a step of an inference server */
    /* by index in ws_track.order: index of the range of the operator whose work the kernel does; WS_NO_RANGE: not
     * known */
    uint32_t *owners;
    double *kernel_time; /* by index of a range: ns of all kernels that do the work of the range's operator */
    /* by index of a range: a kernel that does the work of the range's operator computes a convolution with fewer
     * FLOPs than its definition (enum ws_shortcut) */
    bool *shortcuts;
    struct ws_roofline_row *rows;  /* one row per kernel name, by index in ws_model.names */
    struct launched *launched;     /* facts about launches, by index in ws_process.shapes */
    struct ws_kernel_costs *costs; /* costs computed from kernels' parameters; NULL: no parameters were recorded */
    /* by index in ws_model.names: number of launches at which no hardware counters were read, so that their times are
     * undisturbed. NULL: counters were read at no launch */
    uint64_t *ordinary;
    size_t place;    /* index of the current operation in ws_track.order */
    bool counts;     /* the current operation is in a steady step, or there are no steady steps */
    bool has_shapes; /* the trace holds the shapes of the inputs of at least one operator */
    bool disturbed;  /* reading counters lengthened the current operation; other launches of the kernel have
                        undisturbed times */
};

static int price(struct work *work, const struct ws_range *range, struct priced **result)
{
    struct ws_tensor tensors[WS_TENSORS];
    uint64_t key = ((uint64_t)range->name << 32 | range->inputs) + 1;
    uint64_t *place = ws_salted_put(&work->prices, key ? key : UINT64_MAX); /* the map does not allow the key 0 */
    if (!place)
        return -ENOMEM;
    if (!*place) {
        struct priced *priced = ws_vector_push(&work->priced);
        const struct ws_label *name = ws_entries_find(&work->process->labels, range->name);
        const struct ws_label *inputs = ws_entries_find(&work->process->labels, range->inputs);
        if (!priced)
            return -ENOMEM;
        work->has_shapes |= inputs && inputs->text.length;
        *priced = (struct priced){ .entry = name ? ws_operator_find(name->text.data, name->text.length) : NULL };
        if (name)
            priced->step = ws_server_step_read(name->text.data, name->text.length);
        if (priced->entry && inputs)
            priced->known =
                ws_operator_cost(priced->entry, tensors, ws_tensors_parse(&inputs->text, tensors), &priced->cost);
        *place = work->priced.count;
    }
    *result = (struct priced *)work->priced.data + *place - 1;
    return 0;
}

static enum ws_kernel_class class_of(const struct work *work, uint32_t op)
{
    return ws_report_class(work->report, ws_process_shape(work->process, work->process->ops.shape[op])->name);
}

/* Does the kernel belong to an algorithm (Winograd, FFT) that computes a convolution with fewer FLOPs than its
 * definition? */
static bool takes_shortcut(struct work *work, uint32_t op)
{
    uint32_t name = ws_process_shape(work->process, work->process->ops.shape[op])->name;
    struct ws_roofline_row *row = &work->rows[name];
    if (row->shortcut == WS_SHORTCUT_UNSEEN) {
        const char *text = ws_model_name(work->report->model, name)->text;
        row->shortcut = strstr(text, "inograd") || strstr(text, "fft") ? WS_SHORTCUT_TAKEN : WS_SHORTCUT_NONE;
    }
    return row->shortcut == WS_SHORTCUT_TAKEN;
}

static bool is_operator(const struct ws_range *range)
{
    return range->kind == WS_RANGE_OPERATOR;
}

/* Finds the range of the operator whose work the kernel does. This is the innermost operator with a known cost around
 * the launch, if kernels of the same class as this kernel do that operator's main work. If there is no such operator
 * and the kernel is a matrix kernel, finds the range of the inference server's step around the launch. */
static int find_owner(struct work *work, uint32_t op, uint32_t *owner)
{
    const struct ws_ops *ops = &work->process->ops;
    const struct ws_ranges *ranges = &work->process->ranges;
    enum ws_kernel_class class = class_of(work, op);
    struct priced *priced;
    *owner = WS_NO_RANGE;
    if (!ws_op_thread(ops, op))
        return 0;
    uint32_t place = ws_ranges_at(ranges, ws_op_thread(ops, op), ws_op_host_begin(ops, op));
    for (; place != WS_NO_RANGE; place = ranges->parents[place]) {
        const struct ws_range *range = ws_range(ranges, place);
        bool may_tell = work->serves && ws_class_is_matmul(class) &&
                        (range->kind == WS_RANGE_ANNOTATION || range->kind == WS_RANGE_STEP);
        if (!is_operator(range) && !may_tell)
            continue;
        if (price(work, range, &priced))
            return -ENOMEM;
        if (!is_operator(range)) {
            if (*owner == WS_NO_RANGE && priced->step.tokens > 0)
                *owner = place;
            continue;
        }
        if (priced->known && ws_operator_is_done_by(priced->entry, class)) {
            work->shortcuts[place] |= takes_shortcut(work, op);
            *owner = place;
            return 0;
        }
        /* The kernel does only side work (a cast, the sums of a split GEMM) of this operator. So it does not do the
         * main work of an enclosing operator either. */
        if (priced->known)
            break;
    }
    return 0;
}

static bool is_kernel(const struct work *work, uint32_t op)
{
    return ws_model_name(work->report->model, ws_process_shape(work->process, work->process->ops.shape[op])->name)
               ->kind == WS_OP_KERNEL;
}

static int find_owners(struct work *work)
{
    const struct ws_ops *ops = &work->process->ops;
    size_t ranges = work->process->ranges.rows.count;
    if (!ranges)
        return 0;
    work->owners = malloc((work->track->count + 1) * sizeof(*work->owners));
    work->kernel_time = calloc(ranges + 1, sizeof(*work->kernel_time));
    work->shortcuts = calloc(ranges + 1, sizeof(*work->shortcuts));
    if (!work->owners || !work->kernel_time || !work->shortcuts)
        return -ENOMEM;
    work->serves = ws_process_serves(work->process);
    for (size_t i = 0; i < work->track->count; i++) {
        uint32_t op = work->track->order[i];
        work->owners[i] = WS_NO_RANGE;
        if (is_kernel(work, op) && find_owner(work, op, &work->owners[i]))
            return -ENOMEM;
        if (work->owners[i] != WS_NO_RANGE)
            work->kernel_time[work->owners[i]] += (double)ws_op_length(ops, op);
    }
    return 0;
}

/* Returns the possible error of the operation's duration, in ns. */
static double unsure_of(const struct work *work, uint32_t op)
{
    return (double)(ws_op_begin_error(&work->process->ops, op) + ws_op_end_error(&work->process->ops, op));
}

static void add_cost(struct work *work, uint32_t op, const struct ws_operator_cost *cost, double share,
                     struct ws_roofline_row *row, struct ws_track_roofline *result)
{
    if (work->counts)
        result->step_flops_from[row->source] += cost->flops * share;
    if (result->moved && row->source == WS_WORK_SHAPE)
        result->moved[work->place] =
            (struct ws_op_moved){ (float)(cost->bytes * share), (float)(cost->written * share) };
    if (work->disturbed)
        return;
    row->known = ws_sum(row->known, ws_op_length(&work->process->ops, op));
    row->known_count++;
    row->unsure += unsure_of(work, op);
    row->flops += cost->flops * share;
    row->bytes += cost->bytes * share;
    if (cost->intensity_most > row->intensity_most)
        row->intensity_most = cost->intensity_most;
    if (row->element != cost->element)
        row->precision = ws_roofline_precision(cost->element, ws_model_name(work->report->model, row->name)->text);
    row->element = cost->element;
}

static void add_counted(struct work *work, uint32_t op, const struct ws_counter_cost *counted,
                        struct ws_roofline_row *row, struct ws_track_roofline *result)
{
    const struct ws_operator_cost cost = { .flops = counted->flops,
                                           .bytes = counted->bytes,
                                           .written = counted->written };
    row->source = WS_WORK_COUNTER;
    add_cost(work, op, &cost, 1, row, result);
    row->precision = counted->precision;
    if (!counted->has_flops)
        row->note = counted->note;
    else if (ws_op_is_counted(&work->process->ops, op) && !work->disturbed)
        row->note = counted_note;
}

/* Adds the cost that follows from the kernel parameters of this launch, or of other launches of the same shape.
 * Returns false if no parameters give the cost. */
static bool add_arguments(struct work *work, uint32_t op, struct ws_roofline_row *row,
                          struct ws_track_roofline *result)
{
    bool carried;
    const struct ws_operator_cost *cost = ws_kernel_costs_cost(work->costs, op, &carried);
    if (carried)
        row->note = carried_note;
    if (!cost)
        return false;
    if (cost->note)
        row->note = cost->note;
    row->source = WS_WORK_ARGUMENTS;
    add_cost(work, op, cost, 1, row, result);
    return true;
}

/* Adds to the row the upper limit of the arithmetic intensity that follows from the number of tokens in a step of an
 * inference server. */
static void add_tokens(const struct work *work, uint32_t op, const struct ws_server_step *step,
                       struct ws_roofline_row *row, const struct ws_track_roofline *result)
{
    const char *name = ws_model_name(work->report->model, row->name)->text;
    double most = ws_server_step_intensity(step, class_of(work, op), &row->matmul, name);
    if (!(most > 0))
        return;
    row->bounded = ws_sum(row->bounded, ws_op_length(&work->process->ops, op));
    row->intensity_most = ws_max(most, row->intensity_most);
    if (row->source != WS_WORK_NONE)
        return;
    /* The trace does not tell whether weights of 8 or 4 bits are multiplied in 16 bits. The code assumes 16 bits: the
     * ridge of 16 bits is lower than that of 8 bits, so no kernel is wrongly called memory-bound. */
    row->precision = ws_gpu_peak(&result->gpu, WS_PRECISION_BF16) > 0 ? WS_PRECISION_BF16 : WS_PRECISION_FP16;
    row->source = WS_WORK_TOKENS;
    row->note = tokens_note;
}

static void roofline_add_gemm(const struct work *work, struct ws_gemm_row *gemm, const struct ws_roofline_row *row,
                              uint32_t op, double flops)
{
    int64_t length = ws_op_length(&work->process->ops, op);
    gemm->total = ws_sum(gemm->total, length);
    gemm->unsure += unsure_of(work, op);
    gemm->count++;
    gemm->flops += flops;
    gemm->steady = ws_sum(gemm->steady, work->counts ? length : 0);
    if (row->matmul.cores == WS_MATMUL_CORES_ORDINARY)
        gemm->ordinary = ws_sum(gemm->ordinary, length);
    /* A majority vote (Boyer and Moore) finds the kernel name that took more than half of the time. Each launch votes
     * with its duration. */
    if (gemm->count > 1 && gemm->name == row->name) {
        gemm->lead = ws_sum(gemm->lead, length);
    } else if (gemm->lead > length) {
        gemm->lead -= length;
    } else {
        gemm->lead = length - gemm->lead;
        gemm->name = row->name;
        gemm->precision = row->precision;
        gemm->matmul = row->matmul;
    }
}

static void roofline_add_work(struct work *work, size_t place, struct ws_roofline_row *row,
                              struct ws_track_roofline *result)
{
    uint32_t op = work->track->order[place];
    uint32_t owner = work->owners ? work->owners[place] : WS_NO_RANGE;
    int64_t length = ws_op_length(&work->process->ops, op);
    const struct ws_counter_cost *counted = ws_counter_costs_of(result->counts, work->process->ops.shape[op]);
    struct priced *priced, *step = NULL;
    if (owner != WS_NO_RANGE && !is_operator(ws_range(&work->process->ranges, owner))) {
        if (price(work, ws_range(&work->process->ranges, owner), &step))
            return;
        owner = WS_NO_RANGE;
    }
    bool is_counted =
        counted && counted->has_bytes && counted->has_flops && (counted->bytes > 0 || counted->flops > 0);
    bool by_arguments = !is_counted && owner == WS_NO_RANGE && add_arguments(work, op, row, result);
    if (is_counted || (counted && counted->bytes > 0 && !by_arguments && owner == WS_NO_RANGE))
        add_counted(work, op, counted, row, result);
    else if (step && !by_arguments)
        add_tokens(work, op, &step->step, row, result);
    if (owner == WS_NO_RANGE || price(work, ws_range(&work->process->ranges, owner), &priced))
        return;
    /* Some profilers give kernels a duration of 0. If all kernels of the operator have this duration, each kernel
     * counts as doing all of the operator's work. */
    double time = work->kernel_time[owner], share = time > 0 ? (double)length / time : 1;
    const struct ws_operator_cost *cost = &priced->cost;
    if (!is_counted) {
        row->source = WS_WORK_SHAPE;
        add_cost(work, op, cost, share, row, result);
        if (work->shortcuts[owner])
            row->shortcut = WS_SHORTCUT_TAKEN;
        if (cost->note || work->shortcuts[owner])
            row->note = work->shortcuts[owner] ? shortcut_note : cost->note;
    }
    if (!work->disturbed && (cost->m > 0 || cost->queries > 0))
        roofline_add_gemm(work, &priced->gemm, row, op, cost->flops * share);
}

/* Counts, for each kernel name, the launches at which no hardware counters were read. */
static int find_ordinary(struct work *work)
{
    const struct ws_ops *ops = &work->process->ops;
    if (!ws_sparse_count(&ops->counted))
        return 0;
    work->ordinary = calloc(work->report->model->names.count + 1, sizeof(*work->ordinary));
    for (size_t i = 0; i < work->track->count && work->ordinary; i++)
        if (!ws_op_is_counted(ops, work->track->order[i]))
            work->ordinary[ws_process_shape(work->process, ops->shape[work->track->order[i]])->name]++;
    return work->ordinary ? 0 : -ENOMEM;
}

static int describe_shapes(struct work *work, size_t subject, const struct ws_track_roofline *result)
{
    const struct ws_process *process = work->process;
    work->launched = calloc(process->shapes.count + 1, sizeof(*work->launched));
    if (!work->launched)
        return -ENOMEM;
    for (size_t i = 0; i < process->shapes.count; i++) {
        const struct ws_op_shape *shape = ws_process_shape(process, i);
        const struct ws_op_name *name = ws_model_name(work->report->model, shape->name);
        if (shape->track != subject || name->kind != WS_OP_KERNEL)
            continue;
        struct launched *launched = &work->launched[i];
        uint64_t blocks = (uint64_t)shape->row.grid_x * shape->row.grid_y * shape->row.grid_z;
        launched->row = &work->rows[shape->name];
        launched->in_graph = ws_launches_graph(process, shape->row.driver_function);
        launched->is_small = blocks && blocks < result->gpu.sms;
        launched->is_plain = !work->owners && !ws_counter_costs_of(result->counts, (uint32_t)i) &&
                             !ws_kernel_costs_has(work->costs, (uint32_t)i);
        launched->row->name = shape->name;
        if (ws_class_is_matmul(ws_report_class(work->report, shape->name)))
            launched->row->matmul = ws_matmul_name(name->text);
    }
    return 0;
}

static void roofline_add_kernels(struct work *work, struct ws_track_roofline *result)
{
    const struct ws_ops *ops = &work->process->ops;
    struct ws_steady_walk walk = ws_steady_walk(work->steps);
    for (size_t i = 0; i < work->track->count; i++) {
        uint32_t op = work->track->order[i];
        const struct launched *launched = &work->launched[ops->shape[op]];
        struct ws_roofline_row *row = launched->row;
        if (!row)
            continue;
        int64_t length = ws_op_length(ops, op);
        bool counts = !result->steps || ws_steady_at(&walk, ws_op_begin(ops, op));
        row->count++;
        row->total = ws_sum(row->total, length);
        if (launched->in_graph)
            row->in_graphs = ws_sum(row->in_graphs, length);
        if (launched->is_small)
            row->small = ws_sum(row->small, length);
        if (counts)
            row->steady = ws_sum(row->steady, length);
        if (launched->is_plain)
            continue;
        work->place = i;
        work->counts = counts;
        work->disturbed = work->ordinary && work->ordinary[row->name] && ws_op_is_counted(ops, op);
        roofline_add_work(work, i, row, result);
    }
}

static int collect_gemms(const struct work *work, struct ws_track_roofline *result)
{
    const struct priced *priced = work->priced.data;
    for (size_t i = 0; i < work->priced.count; i++) {
        struct ws_vector *list = priced[i].cost.m > 0 ? &result->gemms : &result->attention;
        struct ws_gemm_row *gemm = priced[i].gemm.count ? ws_vector_push(list) : NULL;
        if (!gemm && priced[i].gemm.count)
            return -ENOMEM;
        if (gemm) {
            *gemm = priced[i].gemm;
            gemm->cost = priced[i].cost;
        }
    }
    ws_gemms_sum_up(&result->gemms, result->steps);
    ws_gemms_sum_up(&result->attention, result->steps);
    return ws_gemms_compare(result);
}

static int roofline_run(const struct ws_report *report, size_t subject, void *memory)
{
    struct ws_track_roofline *result = memory;
    struct work work = { .report = report, .track = ws_model_track(report->model, subject) };
    work.process = ws_model_process(report->model, work.track->process);
    work.steps = ws_report_result(report, &ws_analysis_steps, subject);
    work.priced = WS_VECTOR(struct priced);
    work.rows = calloc(report->model->names.count + 1, sizeof(*work.rows));
    result->rows = WS_VECTOR(struct ws_roofline_row);
    result->gemms = WS_VECTOR(struct ws_gemm_row);
    result->attention = WS_VECTOR(struct ws_gemm_row);
    result->steps = work.steps->kinds[WS_STEP_STEADY];
    result->match = ws_track_gpu(report, work.track, &result->gpu);
    int status = work.rows ? find_owners(&work) : -ENOMEM;
    if (!status)
        status = ws_kernel_costs_create(&work.costs, report->model, work.process, subject);
    if (!status)
        status = find_ordinary(&work);
    if (!status)
        status = ws_counter_costs_create(&result->counts, work.process, work.track, subject);
    if (!status && work.owners) {
        result->moved = calloc(work.track->count + 1, sizeof(*result->moved));
        status = result->moved ? 0 : -ENOMEM;
    }
    if (!status)
        status = describe_shapes(&work, subject, result);
    result->has_shapes = work.has_shapes;
    if (!status) {
        roofline_add_kernels(&work, result);
        status = ws_roofline_judge(report, work.rows, result);
    }
    if (!status)
        status = collect_gemms(&work, result);
    if (!status)
        ws_roofline_count_steps(work.steps, ws_report_result(report, &ws_analysis_activity, subject), result);
    ws_map_finish(&work.prices);
    ws_vector_finish(&work.priced);
    free(work.owners);
    free(work.kernel_time);
    free(work.shortcuts);
    ws_kernel_costs_destroy(work.costs);
    free(work.ordinary);
    free(work.launched);
    free(work.rows);
    return status;
}

static void roofline_finish(void *memory)
{
    struct ws_track_roofline *result = memory;
    ws_vector_finish(&result->rows);
    ws_vector_finish(&result->gemms);
    ws_vector_finish(&result->attention);
    free(result->moved);
    ws_counter_costs_destroy(result->counts);
}

const struct ws_analysis ws_analysis_roofline = {
    .name = "roofline",
    .title = "Roofline",
    .scope = WS_SCOPE_TRACK,
    .result_size = sizeof(struct ws_track_roofline),
    .needs = { &ws_analysis_activity, &ws_analysis_steps },
    .run = roofline_run,
    .finish = roofline_finish,
    .advise = ws_roofline_advise,
    .text = ws_roofline_text,
    .json = ws_roofline_json,
};
