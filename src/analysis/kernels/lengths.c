#include "analysis/kernels/lengths.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/minmax.h"

enum {
    SYSTEMATIC_NS = 100,
    SAMPLES_FEWEST = 3, /* from fewer samples, the variation of the lengths cannot be estimated */
    HIDDEN_NS = 16000,  /* the end of a launch that ended before its end event arrived has at most about this error */
};
static const double DEVIATIONS = 3, NEARLY = 2;

/* Lengths of operations, ns. */
struct lengths_sample {
    uint64_t count;
    double mean;
    double squares; /* sum of squared differences between the lengths and `mean` */
    double errors;  /* sum of the errors of the start and end times */
};

/* Sums over the operations of one shape (operations with the same static properties, such as kernel and stream) on
 * the device. Times are in ns. */
struct shape_lengths {
    double known, known_errors; /* sums of the lengths and errors of operations that are measured or close */
    double other, other_errors; /* the same sums for all other operations */
    uint64_t other_count;
    struct lengths_sample measured; /* operations whose start and end are both measured */
    struct lengths_sample close;    /* operations whose length has an error below close_limit */
    uint64_t nearly_close; /* operations that are not close, but whose error is little larger (is_nearly_close) */
    double close_limit;    /* standard deviation of the measured lengths; 0: too few operations were measured */
};

static void sample_add(struct lengths_sample *sample, double length, double errors)
{
    double from_mean = length - sample->mean; /* Welford's method */
    sample->mean += from_mean / (double)++sample->count;
    sample->squares += from_mean * (length - sample->mean);
    sample->errors += errors;
}

static double sample_var(const struct lengths_sample *sample)
{
    return sample->squares / ((double)sample->count - 1);
}

static bool is_measured(const struct ws_ops *ops, size_t op)
{
    enum { MEASURED = WS_TIME_MEASURED | WS_TIME_MEASURED << 2 };
    return (ops->flags[op] & (WS_OP_BEGIN_QUALITY | WS_OP_END_QUALITY)) == MEASURED;
}

static void lengths_measure(struct shape_lengths *lengths, const struct ws_ops *ops, size_t op)
{
    if (!is_measured(ops, op))
        return;
    sample_add(&lengths->measured, (double)ws_op_length(ops, op), 0);
    if (lengths->measured.count >= SAMPLES_FEWEST)
        lengths->close_limit = sqrt(sample_var(&lengths->measured));
}

/* May the operation be left out of the close ones because of its length? */
static bool is_nearly_close(const struct shape_lengths *lengths, double errors)
{
    return errors < ws_max(NEARLY * lengths->close_limit, HIDDEN_NS);
}

static void lengths_add(struct shape_lengths *lengths, const struct ws_ops *ops, size_t op)
{
    double length = (double)ws_op_length(ops, op);
    double errors = (double)(ws_op_begin_error(ops, op) + ws_op_end_error(ops, op));
    bool close = errors < lengths->close_limit;
    if (close)
        sample_add(&lengths->close, length, errors);
    else
        lengths->nearly_close += is_nearly_close(lengths, errors);
    if (close || is_measured(ops, op)) {
        lengths->known += length;
        lengths->known_errors += errors;
    } else {
        lengths->other += length;
        lengths->other_errors += errors;
        lengths->other_count++;
    }
}

/* The largest likely error of the sample's mean. */
static double mean_error(const struct lengths_sample *sample)
{
    double count = (double)sample->count;
    return SYSTEMATIC_NS + DEVIATIONS * sqrt(sample_var(sample) / count) + sample->errors / count;
}

/* Lowers *less and *more to what the sample says: by how much the true total of the other operations may be below and
 * above their total in the trace. error: of the sample's mean. */
static void lengths_narrow(const struct shape_lengths *lengths, const struct lengths_sample *sample, double error,
                           double *less, double *more)
{
    double count = (double)lengths->other_count;
    *less = ws_min(*less, ws_max(lengths->other - count * (sample->mean - error), 0));
    *more = ws_min(*more, ws_max(count * (sample->mean + error) - lengths->other, 0));
}

static struct ws_length_bounds bounds_of(const struct shape_lengths *lengths)
{
    const struct lengths_sample *close = &lengths->close;
    double less = lengths->other_errors, more = less;
    if (lengths->measured.count >= SAMPLES_FEWEST)
        lengths_narrow(lengths, &lengths->measured, mean_error(&lengths->measured), &less, &more);
    if (close->count >= SAMPLES_FEWEST) {
        double left_out = (double)lengths->nearly_close / (double)close->count;
        double error = mean_error(close) + lengths->close_limit * sqrt(left_out);
        lengths_narrow(lengths, close, error, &less, &more);
    }
    return (struct ws_length_bounds){ .total = lengths->known + lengths->other,
                                      .shorter = less + lengths->known_errors,
                                      .longer = more + lengths->known_errors };
}

/* Were few launches measured, and with care? Times of other profilers have no errors. With other values of
 * --event-placement (a trace calls `shared` "marks"), all launches are measured, but many of them with errors that do
 * not cancel out. */
static bool is_sampled(const struct ws_process *process)
{
    const char *placement = ws_process_meta(process, "marks");
    return !ws_process_meta(process, "import") &&
           !(placement && (!strcmp(placement, "marks") || !strcmp(placement, "pairs")));
}

static int lengths_run(const struct ws_report *report, size_t subject, void *memory)
{
    const struct ws_process *process = ws_model_process(report->model, subject);
    const struct ws_ops *ops = &process->ops;
    struct ws_process_lengths *result = memory;
    if (!is_sampled(process))
        return 0;
    struct shape_lengths *shapes = calloc(process->shapes.count + 1, sizeof(*shapes));
    result->shapes = calloc(process->shapes.count + 1, sizeof(*result->shapes));
    int status = shapes && result->shapes ? 0 : -ENOMEM;
    for (size_t op = 0; op < ops->count && !status; op++)
        if (ws_op_is_timed(ops, op))
            lengths_measure(&shapes[ops->shape[op]], ops, op);
    for (size_t op = 0; op < ops->count && !status; op++)
        if (ws_op_is_timed(ops, op))
            lengths_add(&shapes[ops->shape[op]], ops, op);
    for (size_t i = 0; i < process->shapes.count && !status; i++)
        result->shapes[i] = bounds_of(&shapes[i]);
    free(shapes);
    return status;
}

static void lengths_finish(void *memory)
{
    struct ws_process_lengths *result = memory;
    free(result->shapes);
}

const struct ws_analysis ws_analysis_lengths = {
    .name = "lengths",
    .scope = WS_SCOPE_PROCESS,
    .result_size = sizeof(struct ws_process_lengths),
    .run = lengths_run,
    .finish = lengths_finish,
};
