#include "compare/side.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/activity.h"
#include "analysis/gaps.h"
#include "analysis/steps.h"

/* What one sample has seen of an operation's name. */
struct tally {
    double now; /* time in this sample */
    double sum, squares, error;
    uint64_t count;
    bool touched; /* in this sample */
};

struct sweep {
    struct ws_side *side;
    const struct ws_report *report;
    const struct ws_track *track;
    const struct ws_process *process;
    const struct ws_track_activity *activity;
    const struct ws_track_causes *causes;
    struct tally *tallies; /* by index into ws_model.names */
    uint32_t *touched;     /* names in this sample */
    size_t touched_count;
    double *shape_times;               /* by shape of the process: over all samples */
    const struct ws_op_shape **shapes; /* by name: the one with most time so far */
    double *most;                      /* by name: that time */
    size_t gap;                        /* the next one: gaps are in order of time, as samples are */
};

/* The time between two boundaries, in ns. */
struct sample {
    int64_t length;
    struct ws_split split;
    int64_t begin, end;
    uint32_t first, count; /* places in ws_track.order */
};

double ws_sum_mean(const struct ws_sum *sum, size_t samples)
{
    return samples ? sum->sum / (double)samples : 0;
}

double ws_sum_variance(const struct ws_sum *sum, size_t samples)
{
    if (samples < 2)
        return 0;
    double count = (double)samples, mean = sum->sum / count;
    double variance = (sum->squares - count * mean * mean) / (count - 1);
    return variance > 0 ? variance : 0;
}

static void add(struct ws_sum *sum, double value)
{
    sum->sum += value;
    sum->squares += value * value;
}

static uint32_t class_of(const struct ws_report *report, uint32_t name)
{
    return ws_model_name(report->model, name)->kind == WS_OP_GRAPH ? (uint32_t)WS_GRAPH_CLASS
                                                                   : (uint32_t)ws_report_class(report, name);
}

/* Idle time by cause: the gaps that begin in the sample. What no gap explains is unexplained. */
static void add_gaps(struct sweep *sweep, const struct sample *sample, double error)
{
    const struct ws_gap *gaps = sweep->activity->gaps.data;
    const struct ws_ops *ops = &sweep->process->ops;
    double causes[WS_CAUSE_COUNT] = { 0 }, left = (double)(sample->length - sample->split.busy);
    for (; sweep->gap < sweep->activity->gaps.count; sweep->gap++) {
        const struct ws_gap *gap = &gaps[sweep->gap];
        int64_t begin = ws_gap_begin(ops, gap);
        if (begin >= sample->end)
            break;
        if (begin < sample->begin)
            continue;
        double length = (double)ws_gap_length(ops, sweep->track, gap);
        causes[sweep->causes->causes[sweep->gap]] += length;
        left -= length;
    }
    causes[WS_PART_UNEXPLAINED] += left;
    for (int cause = 0; cause < WS_CAUSE_COUNT; cause++) {
        add(&sweep->side->parts[cause], causes[cause]);
        sweep->side->parts[cause].error += error;
    }
}

static void add_ops(struct sweep *sweep, const struct sample *sample)
{
    const struct ws_ops *ops = &sweep->process->ops;
    const struct ws_op_shape *shapes = sweep->process->shapes.data;
    for (uint32_t place = sample->first; place < sample->first + sample->count; place++) {
        uint32_t op = sweep->track->order[place], shape = ops->shape[op], name = shapes[shape].name;
        struct tally *tally = &sweep->tallies[name];
        double length = (double)ws_op_length(ops, op);
        if (!tally->touched) {
            tally->touched = true;
            sweep->touched[sweep->touched_count++] = name;
        }
        tally->now += length;
        tally->error += (double)ops->begin_error[op] + ops->end_error[op];
        tally->count++;
        sweep->shape_times[shape] += length;
    }
}

/* Closes the sample: what it has seen of each name, and of each class. */
static void add_names(struct sweep *sweep)
{
    double classes[WS_SAMPLE_CLASSES] = { 0 };
    for (size_t i = 0; i < sweep->touched_count; i++) {
        uint32_t name = sweep->touched[i];
        struct tally *tally = &sweep->tallies[name];
        tally->sum += tally->now;
        tally->squares += tally->now * tally->now;
        classes[class_of(sweep->report, name)] += tally->now;
        tally->now = 0;
        tally->touched = false;
    }
    sweep->touched_count = 0;
    for (size_t class = 0; class < WS_SAMPLE_CLASSES; class ++)
        add(&sweep->side->classes[class], classes[class]);
}

static void add_sample(struct sweep *sweep, const struct sample *sample)
{
    struct ws_side *side = sweep->side;
    const struct ws_track_activity *activity = sweep->activity;
    const struct ws_split *split = &sample->split;
    int64_t known = ws_activity_known(activity);
    int64_t error = ws_most(activity->busy - activity->busy_least, activity->busy_most - activity->busy);
    double share = known > 0 ? (double)sample->length / (double)known * (double)error : 0;
    side->samples++;
    add(&side->length, (double)sample->length);
    add(&side->busy, (double)split->busy);
    add(&side->compute, (double)split->group[WS_GROUP_COMPUTE]);
    add(&side->comm, (double)split->group[WS_GROUP_COMM]);
    add(&side->memory, (double)split->group[WS_GROUP_MEMORY]);
    add(&side->parts[WS_SAMPLE_COMM], (double)split->exposed_comm);
    add(&side->parts[WS_SAMPLE_MEMORY], (double)split->exposed_memory);
    add(&side->parts[WS_SAMPLE_COMPUTE], (double)split->group[WS_GROUP_COMPUTE]);
    struct ws_sum *const erring[] = { &side->busy,
                                      &side->compute,
                                      &side->comm,
                                      &side->memory,
                                      &side->parts[WS_SAMPLE_COMM],
                                      &side->parts[WS_SAMPLE_MEMORY],
                                      &side->parts[WS_SAMPLE_COMPUTE] };
    for (size_t i = 0; i < sizeof(erring) / sizeof(erring[0]); i++)
        erring[i]->error += share;
    add_gaps(sweep, sample, share);
    add_ops(sweep, sample);
    add_names(sweep);
}

/* --- a device ---------------------------------------------------------------------------------- */

static void add_steps(struct sweep *sweep, const struct ws_track_steps *steps)
{
    const struct ws_step *list = steps->steps.data;
    for (size_t i = 0; i < steps->steps.count; i++) {
        if (!ws_step_is_steady(&list[i]))
            continue;
        struct sample sample = {
            list[i].end - list[i].begin, list[i].split, list[i].begin, list[i].end, list[i].first, list[i].count
        };
        add_sample(sweep, &sample);
    }
}

static void add_recording(struct sweep *sweep)
{
    const struct ws_track_activity *activity = sweep->activity;
    struct sample sample = {
        .length = ws_activity_known(activity),
        .split = { .busy = activity->busy,
                   .group = { activity->group[WS_GROUP_COMPUTE], activity->group[WS_GROUP_COMM],
                              activity->group[WS_GROUP_MEMORY] },
                   .comm_overlap = activity->comm_overlap,
                   .exposed_comm = activity->exposed_comm,
                   .exposed_memory = activity->exposed_memory },
        .begin = activity->begin,
        .end = activity->end,
        .count = (uint32_t)sweep->track->count,
    };
    add_sample(sweep, &sample);
}

static void keep_longest_shapes(struct sweep *sweep)
{
    const struct ws_op_shape *shapes = sweep->process->shapes.data;
    for (size_t i = 0; i < sweep->process->shapes.count; i++) {
        if (sweep->shape_times[i] <= sweep->most[shapes[i].name])
            continue;
        sweep->most[shapes[i].name] = sweep->shape_times[i];
        sweep->shapes[shapes[i].name] = &shapes[i];
    }
}

static int add_track(struct sweep *sweep, size_t track)
{
    const struct ws_track_steps *steps = ws_report_result(sweep->report, &ws_analysis_steps, track);
    sweep->track = ws_model_track(sweep->report->model, track);
    sweep->process = ws_model_process(sweep->report->model, sweep->track->process);
    sweep->activity = ws_report_result(sweep->report, &ws_analysis_activity, track);
    sweep->causes = ws_report_result(sweep->report, &ws_analysis_causes, track);
    sweep->gap = 0;
    if (!sweep->track->count)
        return 0;
    if (sweep->side->per_step && !steps->kinds[WS_STEP_STEADY]) {
        sweep->side->left_out++;
        return 0;
    }
    sweep->shape_times = calloc(sweep->process->shapes.count + 1, sizeof(*sweep->shape_times));
    if (!sweep->shape_times)
        return -ENOMEM;
    sweep->side->devices++;
    if (sweep->side->per_step)
        add_steps(sweep, steps);
    else
        add_recording(sweep);
    keep_longest_shapes(sweep);
    free(sweep->shape_times);
    return 0;
}

/* --- all of them ------------------------------------------------------------------------------- */

static int longest_first(const void *a, const void *b)
{
    const struct ws_side_kernel *x = a, *y = b;
    if (x->time.sum != y->time.sum)
        return x->time.sum < y->time.sum ? 1 : -1;
    return (x->name > y->name) - (x->name < y->name);
}

static int gather_kernels(struct sweep *sweep)
{
    struct ws_vector *kernels = &sweep->side->kernels;
    for (size_t i = 0; i < sweep->report->model->names.count; i++) {
        const struct tally *tally = &sweep->tallies[i];
        struct ws_side_kernel *kernel = tally->count ? ws_vector_push(kernels) : NULL;
        if (tally->count && !kernel)
            return -ENOMEM;
        if (!kernel)
            continue;
        *kernel = (struct ws_side_kernel){
            .name = (uint32_t)i,
            .class = class_of(sweep->report, (uint32_t)i),
            .count = tally->count,
            .time = { tally->sum, tally->squares, tally->error },
            .shape = sweep->shapes[i],
        };
        sweep->side->classes[kernel->class].error += tally->error;
    }
    if (kernels->count)
        qsort(kernels->data, kernels->count, sizeof(struct ws_side_kernel), longest_first);
    return 0;
}

bool ws_report_has_steps(const struct ws_report *report)
{
    for (size_t i = 0; i < report->model->tracks.count; i++) {
        const struct ws_track_steps *steps = ws_report_result(report, &ws_analysis_steps, i);
        if (steps->kinds[WS_STEP_STEADY])
            return true;
    }
    return false;
}

int ws_side_init(struct ws_side *side, const struct ws_report *report, bool per_step)
{
    size_t names = report->model->names.count + 1, tracks = report->model->tracks.count;
    *side = (struct ws_side){ .report = report, .per_step = per_step, .kernels = WS_VECTOR(struct ws_side_kernel) };
    struct sweep sweep = {
        .side = side,
        .report = report,
        .tallies = calloc(names, sizeof(*sweep.tallies)),
        .touched = calloc(names, sizeof(*sweep.touched)),
        .shapes = calloc(names, sizeof(*sweep.shapes)),
        .most = calloc(names, sizeof(*sweep.most)),
    };
    int status = sweep.tallies && sweep.touched && sweep.shapes && sweep.most ? 0 : -ENOMEM;
    for (size_t i = 0; i < tracks && !status; i++) {
        const struct ws_track *track = ws_model_track(report->model, i);
        side->untimed += track->untimed + track->backwards;
        status = add_track(&sweep, i);
    }
    status = status ? status : gather_kernels(&sweep);
    free(sweep.tallies);
    free(sweep.touched);
    free(sweep.shapes);
    free(sweep.most);
    return status;
}

void ws_side_finish(struct ws_side *side)
{
    ws_vector_finish(&side->kernels);
}
