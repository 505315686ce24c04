#include "analysis/steps/phases.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/steps/marked_steps.h"
#include "analysis/steps/steps.h"
#include "base/minmax.h"

/* If there are at least FEW_ITERATIONS steps, the last step gets the kind WS_STEP_CUT and does not count, because it
 * may be incomplete. */
enum { FEW_ITERATIONS = 4 };

/* A range around an iteration of an inference server, and what the range's name tells of the iteration's work. */
struct iteration {
    int64_t begin, end; /* begin and end of the range; ns, host clock */
    struct ws_server_step work;
};

/* Reads the text of each label (name of ranges) once, because the many iterations of a server have few different
 * labels. */
static struct ws_server_step *read_labels(const struct ws_process *process)
{
    const struct ws_label *labels = process->labels.rows.data;
    size_t count = process->labels.rows.count;
    struct ws_server_step *steps = calloc(count + 1, sizeof(*steps));
    for (size_t i = 0; steps && i < count; i++)
        steps[i] = ws_server_step_read(labels[i].text.data, labels[i].text.length);
    return steps;
}

/* Adds the server's iterations that the thread's ranges enclose to the list, in order of start. If ranges are nested,
 * only the outermost one counts. */
static int phases_collect_thread(const struct ws_process *process, const struct ws_thread_rows *thread,
                                 const struct ws_server_step *labels, struct ws_vector *iterations)
{
    int64_t until = INT64_MIN;
    for (uint32_t i = 0; i < thread->count; i++) {
        const struct ws_range *range = ws_range(&process->ranges, thread->first + i);
        uint32_t label = ws_entries_place(&process->labels, range->name);
        if (range->kind != WS_RANGE_ANNOTATION || label == UINT32_MAX || !labels[label].iteration ||
            range->host_begin < until)
            continue;
        struct iteration *iteration = ws_vector_push(iterations);
        if (!iteration)
            return -ENOMEM;
        *iteration = (struct iteration){ range->host_begin, range->host_end, labels[label] };
        until = range->host_end;
    }
    return 0;
}

/* Collects the iterations of the thread with the most iterations. Collects no iterations if a draft model guesses
 * tokens (speculative decoding; phases.h). */
static int phases_collect(const struct ws_process *process, struct ws_vector *iterations)
{
    const struct ws_thread_rows *threads = process->ranges.threads.data;
    struct ws_server_step *labels = read_labels(process);
    struct ws_vector of_thread = WS_VECTOR(struct iteration);
    int status = labels ? 0 : -ENOMEM;
    bool drafts = false;
    for (size_t i = 0; i < process->labels.rows.count && !status; i++)
        drafts |= labels[i].drafts;
    for (size_t i = 0; i < process->ranges.threads.count && !status && !drafts; i++) {
        of_thread.count = 0;
        status = phases_collect_thread(process, &threads[i], labels, &of_thread);
        if (of_thread.count > iterations->count) {
            struct ws_vector fewer = *iterations;
            *iterations = of_thread;
            of_thread = fewer;
        }
    }
    ws_vector_finish(&of_thread);
    free(labels);
    return status;
}

/* Fills the steps of a device from the iterations. The number of a step is the index of its iteration. */
static int steps_of_iterations(const struct ws_report *report, const struct ws_track *track,
                               const struct ws_vector *iterations, struct ws_track_steps *result)
{
    const struct iteration *list = iterations->data;
    int64_t *begins = malloc((iterations->count + 1) * sizeof(*begins));
    if (!begins)
        return -ENOMEM;
    for (size_t i = 0; i < iterations->count; i++)
        begins[i] = list[i].begin;
    begins[iterations->count] = list[iterations->count - 1].end;
    int status = ws_steps_between(report, track, begins, iterations->count + 1, result);
    struct ws_step *steps = result->steps.data;
    for (size_t i = 0; i < result->steps.count; i++)
        steps[i].kind = i + 1 == result->steps.count && i + 1 >= FEW_ITERATIONS ? WS_STEP_CUT : WS_STEP_STEADY;
    free(begins);
    return status;
}

int ws_server_steps(const struct ws_report *report, const struct ws_track *track, struct ws_track_steps *result)
{
    const struct ws_process *process = ws_model_process(report->model, track->process);
    struct ws_vector iterations = WS_VECTOR(struct iteration);
    int status = ws_process_serves(process) ? phases_collect(process, &iterations) : 0;
    if (!status && iterations.count > 1)
        status = steps_of_iterations(report, track, &iterations, result);
    if (result->steps.count) {
        result->source = WS_STEPS_FOUND;
        result->proof = WS_PROOF_SERVER;
    }
    ws_vector_finish(&iterations);
    return status;
}

/* Sets the phase of each step from the server's iterations that the host began during the step. */
static void set_phases(const struct ws_vector *iterations, struct ws_vector *steps)
{
    const struct iteration *list = iterations->data;
    struct ws_step *step = steps->data, *past = step + steps->count;
    for (size_t i = 0; i < iterations->count && step < past; i++) {
        while (step < past && step->host_end <= list[i].begin)
            step++;
        if (step < past && step->host_begin <= list[i].begin)
            step->phase |= list[i].work.phase;
    }
}

/* Finds the phase (prefill, decode …) that takes most time in the steady steps. Steady steps of other phases get the
 * kind WS_STEP_OTHER, so that they do not count. If step markers gave the steps, and steps without a known phase take
 * most time, no step is changed. */
static void leave_out_phases(struct ws_track_steps *result)
{
    struct ws_step *list = result->steps.data;
    struct ws_phases *phases = &result->phases;
    int64_t lasted[WS_PHASE_COUNT] = { 0 };
    size_t kinds = 0;
    for (size_t i = 0; i < result->steps.count; i++)
        if (list[i].kind == WS_STEP_STEADY)
            lasted[list[i].phase] = ws_sum(lasted[list[i].phase], list[i].end - list[i].begin);
    for (unsigned phase = 0; phase < WS_PHASE_COUNT; phase++) {
        kinds += lasted[phase] > 0;
        phases->lead = lasted[phase] > lasted[phases->lead] ? phase : phases->lead;
    }
    phases->several = kinds > 1 && (phases->lead || result->source != WS_STEPS_MARKED);
    for (size_t i = 0; i < result->steps.count && phases->several; i++)
        if (list[i].kind == WS_STEP_STEADY && list[i].phase != phases->lead)
            list[i].kind = WS_STEP_OTHER;
}

static bool is_whole(const struct ws_step *step)
{
    return step->kind != WS_STEP_CUT && step->kind != WS_STEP_PAUSED && step->kind != WS_STEP_COUNTED;
}

static void add_step(struct ws_phase_row *row, const struct ws_step *step, const struct ws_server_step *work)
{
    row->steps++;
    row->with_requests += work->requests > 0;
    row->with_tokens += work->tokens > 0;
    row->requests += work->requests;
    row->tokens += work->tokens;
    row->lasted = ws_sum(row->lasted, step->end - step->begin);
    row->busy = ws_sum(row->busy, step->split.busy);
}

/* Adds the durations of kernels to phases->rows and phases->kernels, in one pass over the operations. */
static void add_kernels(const struct ws_process *process, const struct ws_track *track,
                        const struct ws_track_steps *steps, struct ws_phases *phases)
{
    size_t cursor = 0;
    for (size_t i = 0; i < track->count; i++) {
        uint32_t op = track->order[i];
        if (ws_process_shape(process, process->ops.shape[op])->row.kind != WS_OP_KERNEL)
            continue;
        const struct ws_step *step = ws_steps_next(steps, &cursor, ws_op_begin(&process->ops, op));
        int64_t length = ws_op_length(&process->ops, op);
        phases->kernels = ws_sum(phases->kernels, length);
        if (step && is_whole(step))
            phases->rows[step->phase].kernels = ws_sum(phases->rows[step->phase].kernels, length);
    }
}

/* Returns the work (requests, tokens) of the first iteration that began in the step. The iteration is found by its
 * time. The step's number is not the index of an iteration, because in a window of a recording a step keeps the
 * number that it has in the whole recording. */
static const struct ws_server_step *work_of(const struct ws_vector *iterations, const struct ws_step *step)
{
    static const struct ws_server_step unknown;
    const struct iteration *list = iterations->data;
    size_t from = 0, to = iterations->count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (list[middle].begin < step->host_begin)
            from = middle + 1;
        else
            to = middle;
    }
    return from < iterations->count && list[from].begin < step->host_end ? &list[from].work : &unknown;
}

static int sum_phases(const struct ws_process *process, const struct ws_track *track,
                      const struct ws_track_steps *steps, const struct ws_vector *iterations,
                      struct ws_phases *phases)
{
    const struct ws_step *step = steps->steps.data;
    int64_t *lengths = malloc((steps->steps.count + 1) * sizeof(*lengths));
    if (!lengths)
        return -ENOMEM;
    for (unsigned phase = 0; phase < WS_PHASE_COUNT; phase++) {
        struct ws_phase_row *row = &phases->rows[phase];
        for (size_t i = 0; i < steps->steps.count; i++) {
            if (step[i].phase != phase || !is_whole(&step[i]))
                continue;
            lengths[row->steps] = step[i].end - step[i].begin;
            add_step(row, &step[i], work_of(iterations, &step[i]));
        }
        qsort(lengths, row->steps, sizeof(*lengths), ws_ascending);
        row->p95 = row->steps ? ws_steps_percentile(lengths, row->steps, 95) : 0;
        phases->any |= phase && row->steps;
    }
    if (phases->any)
        add_kernels(process, track, steps, phases);
    free(lengths);
    return 0;
}

/* Fills `phases` from a server's iterations that are not used as steps, because there is only one iteration, or
 * because the program has step markers. */
static int sum_apart(const struct ws_report *report, const struct ws_track *track, const struct ws_vector *iterations,
                     struct ws_phases *phases)
{
    const struct ws_process *process = ws_model_process(report->model, track->process);
    struct ws_track_steps apart = { .proof = WS_PROOF_SERVER, .steps = WS_VECTOR(struct ws_step) };
    int status = steps_of_iterations(report, track, iterations, &apart);
    if (!status)
        status = ws_steps_prepare(report, track, &apart);
    set_phases(iterations, &apart.steps);
    if (!status)
        status = sum_phases(process, track, &apart, iterations, phases);
    ws_vector_finish(&apart.steps);
    return status;
}

int ws_phases_tell(const struct ws_report *report, const struct ws_track *track, struct ws_track_steps *result)
{
    const struct ws_process *process = ws_model_process(report->model, track->process);
    struct ws_vector iterations = WS_VECTOR(struct iteration);
    bool are_steps = result->source == WS_STEPS_FOUND && result->proof == WS_PROOF_SERVER;
    int status = ws_process_serves(process) ? phases_collect(process, &iterations) : 0;
    if (status || !iterations.count)
        goto out;
    if (are_steps || result->source == WS_STEPS_MARKED)
        set_phases(&iterations, &result->steps);
    if (are_steps)
        status = sum_phases(process, track, result, &iterations, &result->phases);
    else if (result->source == WS_STEPS_MARKED || iterations.count == 1)
        status = sum_apart(report, track, &iterations, &result->phases);
    leave_out_phases(result);
out:
    ws_vector_finish(&iterations);
    return status;
}
