#include "analysis/kernels/lengths.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/minmax.h"

enum {
    SYSTEMATIC_NS = 100,
    SAMPLES_FEWEST = 3, /* from fewer samples, the variation of the lengths cannot be estimated */
    /* The errors of the times of a launch that ended before its end event arrived add up to about this at most. */
    HIDDEN_NS = 16000,
};
static const double NEARLY = 2;

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

/* The number of standard errors within which a mean of normally distributed lengths lies in 99.7 % of cases: a
 * quantile of Student's t distribution, accurate to 3 % from 2 degrees of freedom on. */
static double deviations_of(double degrees)
{
    return 3 + 9 / degrees + 90 / (degrees * degrees * degrees);
}

/* The largest likely error of the sample's mean. */
static double mean_error(const struct lengths_sample *sample)
{
    double count = (double)sample->count;
    return SYSTEMATIC_NS + deviations_of(count - 1) * sqrt(sample_var(sample) / count) + sample->errors / count;
}

/* The total time of the other operations of a shape lies between these. */
struct between {
    double low, high;
};

/* Narrows the bounds to what the sample says, whose mean has this error. If both contradict each other, one of them
 * is wrong, so what holds either is kept. */
static struct between lengths_narrow(const struct shape_lengths *lengths, struct between before,
                                     const struct lengths_sample *sample, double error)
{
    double count = (double)lengths->other_count;
    struct between now = { count * (sample->mean - error), count * (sample->mean + error) };
    if (now.low > before.high || now.high < before.low)
        return (struct between){ ws_min(before.low, now.low), ws_max(before.high, now.high) };
    return (struct between){ ws_max(before.low, now.low), ws_min(before.high, now.high) };
}

static struct ws_length_bounds bounds_of(const struct shape_lengths *lengths)
{
    const struct lengths_sample *measured = &lengths->measured, *close = &lengths->close;
    struct between other = { lengths->other - lengths->other_errors, lengths->other + lengths->other_errors };
    if (measured->count >= SAMPLES_FEWEST)
        other = lengths_narrow(lengths, other, measured, mean_error(measured));
    if (close->count >= SAMPLES_FEWEST) {
        double left_out = (double)lengths->nearly_close / (double)close->count;
        double error = mean_error(close) + lengths->close_limit * sqrt(left_out);
        other = lengths_narrow(lengths, other, close, error);
    }
    return (struct ws_length_bounds){ .total = lengths->known + lengths->other,
                                      .shorter = ws_max(lengths->other - other.low, 0) + lengths->known_errors,
                                      .longer = ws_max(other.high - lengths->other, 0) + lengths->known_errors };
}

/* Were few launches measured, and with care? Times of other profilers have no errors. With other values of
 * --event-placement, all launches are measured, but many of them with errors that do not cancel out. */
static bool is_sampled(const struct ws_process *process)
{
    const char *placement = ws_process_placement(process);
    return !ws_process_meta(process, "import") && (!*placement || !strcmp(placement, "sampled"));
}

/* Do all operations of the shape do the same work? Copies and memsets of one shape may be of any size. */
static bool is_of_one_size(const struct ws_process *process, uint32_t shape)
{
    uint32_t kind = ws_process_shape(process, shape)->row.kind;
    return kind == WS_OP_KERNEL || kind == WS_OP_GRAPH;
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
        if (ws_op_is_timed(ops, op) && is_of_one_size(process, ops->shape[op]))
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
