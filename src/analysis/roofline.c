#include "analysis/roofline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/activity.h"
#include "analysis/argued.h"
#include "analysis/counted.h"
#include "analysis/peaks.h"
#include "analysis/products.h"
#include "analysis/roofline_judge.h"
#include "analysis/roofline_report.h"
#include "analysis/steps.h"
#include "analysis/times.h"
#include "base/salted.h"

static const char shortcut_note[] = "computes by Winograd's or Fourier's algorithm, with fewer FLOPs than the direct "
                                    "convolution that is counted: its "
                                    "TFLOP/s look better than what its cores do";

static const char carried_note[] =
    "sizes were recorded of some launches only; those of the same grid are assumed to be alike";

static const char counted_note[] =
    "hardware counters were read at every launch, and the times include the waiting for that; a recording without "
    "--counters has its own times";

/* What is the same for all launches of a shape. */
struct launched {
    struct ws_roofline_row *row; /* NULL: of no kernel, or on another device */
    bool is_small;               /* fewer blocks than multiprocessors */
    bool is_plain;               /* nothing but the name may tell what it did */
};

/* An operator with what it was given; many ranges share one. */
struct priced {
    const struct ws_operator *entry; /* NULL: not in the table */
    struct ws_operator_cost cost;
    bool known;
    struct ws_product_row product;
};

struct work {
    const struct ws_report *report;
    const struct ws_process *process;
    const struct ws_track *track;
    const struct ws_track_steps *steps;
    struct ws_map prices;    /* name << 32 | inputs → place in priced + 1 */
    struct ws_vector priced; /* struct priced */
    uint32_t *owners;        /* by place in the track's order: the range of the operator that the kernel works for */
    double *kernel_time;     /* by range: of all such kernels */
    bool *shortcuts;         /* by range: some of them take one */
    struct ws_roofline_row *rows; /* by name */
    struct launched *launched;    /* by shape */
    struct ws_argued *argued;     /* NULL: no parameters */
    uint64_t *ordinary;           /* by name: launches that were not held up to be counted; NULL: all */
    size_t place;                 /* in the track's order, of the operation that is looked at */
    bool counts;                  /* for figures per step */
    bool disturbed;               /* its time is not the program's own, and others of the kernel have such */
};

static int price(struct work *work, const struct ws_range *range, struct priced **result)
{
    struct ws_tensor tensors[WS_TENSORS];
    uint64_t key = ((uint64_t)range->name << 32 | range->inputs) + 1;
    uint64_t *place = ws_salted_put(&work->prices, key ? key : UINT64_MAX); /* 0 is no key */
    if (!place)
        return -ENOMEM;
    if (!*place) {
        struct priced *priced = ws_vector_push(&work->priced);
        const struct ws_label *name = ws_rows_find(&work->process->labels, range->name);
        const struct ws_label *inputs = ws_rows_find(&work->process->labels, range->inputs);
        if (!priced)
            return -ENOMEM;
        *priced = (struct priced){ .entry = name ? ws_operator_find(name->text.data, name->text.length) : NULL };
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

/* Convolutions that are computed with fewer FLOPs than their definition has. */
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

/* The innermost operator around the launch whose work such kernels do, where its cost is known. */
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
        if (ws_range(ranges, place)->kind != WS_RANGE_OPERATOR)
            continue;
        if (price(work, ws_range(ranges, place), &priced))
            return -ENOMEM;
        if (priced->known && ws_operator_is_done_by(priced->entry, class)) {
            work->shortcuts[place] |= takes_shortcut(work, op);
            *owner = place;
            return 0;
        }
        /* What helps a known operator along (a cast, the sums of a split product) is not its caller's work. */
        if (priced->known)
            return 0;
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

/* Matrix work on fp32 inputs runs on tensor cores where the kernel's name says so. */
static enum ws_precision precision_of(enum ws_element element, const char *kernel)
{
    switch (element) {
    case WS_ELEMENT_FP64:
        return WS_PRECISION_FP64;
    case WS_ELEMENT_FP16:
        return WS_PRECISION_FP16;
    case WS_ELEMENT_BF16:
        return WS_PRECISION_BF16;
    case WS_ELEMENT_FP8:
        return WS_PRECISION_FP8;
    case WS_ELEMENT_INT8:
        return WS_PRECISION_INT8;
    default:
        return strstr(kernel, "tf32") || strstr(kernel, "TF32") || strstr(kernel, "s1688") ? WS_PRECISION_TF32
                                                                                           : WS_PRECISION_FP32;
    }
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
    row->unsure += (double)(ws_op_begin_error(&work->process->ops, op) + ws_op_end_error(&work->process->ops, op));
    row->flops += cost->flops * share;
    row->bytes += cost->bytes * share;
    if (cost->intensity_most > row->intensity_most)
        row->intensity_most = cost->intensity_most;
    if (row->element != cost->element)
        row->precision = precision_of(cost->element, ws_model_name(work->report->model, row->name)->text);
    row->element = cost->element;
}

static void add_counted(struct work *work, uint32_t op, const struct ws_counted *counted, struct ws_roofline_row *row,
                        struct ws_track_roofline *result)
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

/* Returns false where the parameters of the operation, or of those that are alike, do not say what it moves. */
static bool add_arguments(struct work *work, uint32_t op, struct ws_roofline_row *row,
                          struct ws_track_roofline *result)
{
    bool carried;
    const struct ws_operator_cost *cost = ws_argued_cost(work->argued, op, &carried);
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

static void add_product(const struct work *work, struct ws_product_row *product, const struct ws_roofline_row *row,
                        int64_t length, double flops)
{
    product->total = ws_sum(product->total, length);
    product->count++;
    product->flops += flops;
    product->steady = ws_sum(product->steady, work->counts ? length : 0);
    if (row->matmul.cores == WS_MATMUL_CORES_ORDINARY)
        product->ordinary = ws_sum(product->ordinary, length);
    /* Boyer and Moore's majority vote, by time. */
    if (product->count > 1 && product->name == row->name) {
        product->lead = ws_sum(product->lead, length);
    } else if (product->lead > length) {
        product->lead -= length;
    } else {
        product->lead = length - product->lead;
        product->name = row->name;
        product->precision = row->precision;
        product->matmul = row->matmul;
    }
}

static void add_work(struct work *work, size_t place, struct ws_roofline_row *row, struct ws_track_roofline *result)
{
    uint32_t op = work->track->order[place];
    uint32_t owner = work->owners ? work->owners[place] : WS_NO_RANGE;
    int64_t length = ws_op_length(&work->process->ops, op);
    const struct ws_counted *counted = ws_counts_of(result->counts, work->process->ops.shape[op]);
    struct priced *priced;
    bool is_counted =
        counted && counted->has_bytes && counted->has_flops && (counted->bytes > 0 || counted->flops > 0);
    bool argued = !is_counted && owner == WS_NO_RANGE && add_arguments(work, op, row, result);
    if (is_counted || (counted && counted->bytes > 0 && !argued && owner == WS_NO_RANGE))
        add_counted(work, op, counted, row, result);
    if (owner == WS_NO_RANGE || price(work, ws_range(&work->process->ranges, owner), &priced))
        return;
    /* A kernel of no time at all, as some recorders have them, still did its work. */
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
        add_product(work, &priced->product, row, length, cost->flops * share);
}

/* Which kernels have launches that were left alone. */
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

static int look_at_shapes(struct work *work, size_t subject, const struct ws_track_roofline *result)
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
        launched->is_small = blocks && blocks < result->gpu.sms;
        launched->is_plain =
            !work->owners && !ws_counts_of(result->counts, (uint32_t)i) && !ws_argued_has(work->argued, (uint32_t)i);
        launched->row->name = shape->name;
        if (ws_class_is_matmul(ws_report_class(work->report, shape->name)))
            launched->row->matmul = ws_matmul_name(name->text);
    }
    return 0;
}

static void add_kernels(struct work *work, struct ws_track_roofline *result)
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
        if (launched->is_small)
            row->small = ws_sum(row->small, length);
        if (counts)
            row->steady = ws_sum(row->steady, length);
        if (launched->is_plain)
            continue;
        work->place = i;
        work->counts = counts;
        work->disturbed = work->ordinary && work->ordinary[row->name] && ws_op_is_counted(ops, op);
        add_work(work, i, row, result);
    }
}

static int keep_products(const struct work *work, struct ws_track_roofline *result)
{
    const struct priced *priced = work->priced.data;
    for (size_t i = 0; i < work->priced.count; i++) {
        struct ws_vector *list = priced[i].cost.m > 0 ? &result->products : &result->attention;
        struct ws_product_row *product = priced[i].product.count ? ws_vector_push(list) : NULL;
        if (!product && priced[i].product.count)
            return -ENOMEM;
        if (product) {
            *product = priced[i].product;
            product->cost = priced[i].cost;
        }
    }
    ws_products_sum_up(&result->products, result->steps);
    ws_products_sum_up(&result->attention, result->steps);
    return ws_products_compare(result);
}

static void count_steps(const struct work *work, const struct ws_track_activity *activity,
                        struct ws_track_roofline *result)
{
    double steps = result->steps ? (double)result->steps : 1;
    double peak = result->match ? ws_gpu_peak(&result->gpu, result->precision) : 0;
    result->step_length = (double)(result->steps ? work->steps->mean : ws_activity_known(activity));
    for (int i = 0; i < WS_WORK_SOURCES; i++) {
        result->step_flops_from[i] /= steps;
        result->step_flops += result->step_flops_from[i];
    }
    if (result->step_length > 0 && peak > 0)
        result->mfu = result->step_flops / result->step_length / peak;
}

static int run(const struct ws_report *report, size_t subject, void *memory)
{
    struct ws_track_roofline *result = memory;
    struct work work = { .report = report, .track = ws_model_track(report->model, subject) };
    work.process = ws_model_process(report->model, work.track->process);
    work.steps = ws_report_result(report, &ws_analysis_steps, subject);
    work.priced = WS_VECTOR(struct priced);
    work.rows = calloc(report->model->names.count + 1, sizeof(*work.rows));
    result->rows = WS_VECTOR(struct ws_roofline_row);
    result->products = WS_VECTOR(struct ws_product_row);
    result->attention = WS_VECTOR(struct ws_product_row);
    result->steps = work.steps->kinds[WS_STEP_STEADY];
    result->match = ws_track_gpu(report, work.track, &result->gpu);
    int status = work.rows ? find_owners(&work) : -ENOMEM;
    if (!status)
        status = ws_argued_create(&work.argued, report->model, work.process, subject);
    if (!status)
        status = find_ordinary(&work);
    if (!status)
        status = ws_counts_create(&result->counts, work.process, work.track, subject);
    if (!status && work.owners) {
        result->moved = calloc(work.track->count + 1, sizeof(*result->moved));
        status = result->moved ? 0 : -ENOMEM;
    }
    if (!status)
        status = look_at_shapes(&work, subject, result);
    if (!status) {
        add_kernels(&work, result);
        status = ws_roofline_judge(report, work.rows, result);
    }
    if (!status)
        status = keep_products(&work, result);
    if (!status)
        count_steps(&work, ws_report_result(report, &ws_analysis_activity, subject), result);
    ws_map_finish(&work.prices);
    ws_vector_finish(&work.priced);
    free(work.owners);
    free(work.kernel_time);
    free(work.shortcuts);
    ws_argued_destroy(work.argued);
    free(work.ordinary);
    free(work.launched);
    free(work.rows);
    return status;
}

static void finish(void *memory)
{
    struct ws_track_roofline *result = memory;
    ws_vector_finish(&result->rows);
    ws_vector_finish(&result->products);
    ws_vector_finish(&result->attention);
    free(result->moved);
    ws_counts_destroy(result->counts);
}

const struct ws_analysis ws_analysis_roofline = {
    .name = "roofline",
    .title = "Roofline",
    .scope = WS_SCOPE_TRACK,
    .result_size = sizeof(struct ws_track_roofline),
    .needs = { &ws_analysis_activity, &ws_analysis_steps },
    .run = run,
    .finish = finish,
    .advise = ws_roofline_advise,
    .text = ws_roofline_text,
    .json = ws_roofline_json,
};
