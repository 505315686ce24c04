/* A run is a sequence of operations that ran in one stream, one after the other without a pause. The computed times
 * of a stream are its "line" (reconstruct.h). An event that tells when a run ended serves to correct all times of the
 * run, and the durations of its kernels.
 *
 * All times are in ns and all variances in ns². Only the drain thread uses these functions. */
#ifndef WALLSHIM_SHIM_TIMING_RUNS_H
#define WALLSHIM_SHIM_TIMING_RUNS_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/timing/durations.h"
#include "shim/timing/times.h"

static const double EVENT = 150.0 * 150; /* variance of an event's time that is rounded to half a microsecond */

/* The variance of an event's time in the context whose stream is computed (dispatch_event_var). Only the drain thread
 * uses it. */
extern double event_noise;

static const double FAR_OFF = 4; /* a deviation of more than this many standard deviations is not chance */
/* The trace states errors of this many standard deviations (99 % of a normal distribution). */
static const double STATED = 2.6;
enum { SYSTEMATIC = 250 }; /* ns added to every error, for effects that the model leaves out */

/* The line of a stream (its computed times), up to the last computed operation. `bias` is the part of the variance of
 * `free` that comes from the kernels' mean durations. The error of a mean is the same in each launch of the kernel,
 * so n launches add n² times the variance of the mean. `var` is the rest of the variance of `free`. */
struct line {
    int64_t free; /* computed end of the last operation, or the time of an event after it */
    double var, bias;
    double early;      /* ns by which the last operation may have begun earlier, because a launch's call took long */
    bool behind_event; /* the last entry of the queue is an event, so the next operation begins later (dispatch.h) */
    bool guessed;      /* some of the line's kernels were never measured, so `free` is hardly known */
    /* Number of this line. struct duration counts a kernel's launches in one line or run, and holds the number of
     * that line or run. */
    uint32_t number;
    /* Number of successive runs much longer (> 0) or much shorter (< 0) than expected. */
    int apart;
    /* Mean squared deviation of the ends of runs from their computed ends, relative to the computed variance. */
    double seen;
    double scale; /* factor by which the variances of the stream's runs are multiplied */
    double tail;  /* factor for the errors of times that no event corrects (line_learn_tail) */
};

/* Returns a new line without operations. apart, seen, tail: the values of the stream's previous line. */
struct line line_of(int apart, double seen, double tail);

/* Lets the line go on from the time `free`, whose variance is `var`. The line's earlier operations no longer
 * matter. */
void line_begin(struct line *line, int64_t free, double var);

double line_var(const struct line *line);

/* May the line's last operation still run at `time`, given the uncertainty of its computed end? */
bool line_may_reach(const struct line *line, int64_t time);

/* Does the line's last operation surely run until after `time`? */
bool line_surely_reaches(const struct line *line, int64_t time);

/* Learns `tail` from an event. off: how far the event lies outside the computed end, ns; 0: the event agrees with the
 * computed end. var: variance of `off`. If kernels take very different times, then queues are sometimes long, and
 * computed times are off by more than STATED standard deviations much more often than in a normal distribution.
 * `tail` grows until 99.7 % of the computed ends are within the errors that the trace would state for them. Few ends
 * are measured, so the true share is uncertain, and it is to be 99 % at least. */
void line_learn_tail(struct line *line, double off, double var);

/* Adds the next operation to the line: a kernel with this duration. */
void line_add(struct line *line, struct duration *duration);

/* Are the operation's times computed (reconstruct.h)? If not, its events alone tell its times. */
bool pending_is_computed(const struct pending *pending);

struct duration *pending_duration(const struct pending *pending);

/* How long the operation probably takes; 0: not known. pending: may be NULL. */
double pending_expected(const struct pending *pending);

struct run {
    struct pending *first, *last;
    unsigned count;
};

/* The run that ends with `last`. Its first operation is `first` or a later one. */
struct run run_until(struct pending *first, struct pending *last);

/* The variances of a run's times. A walk goes along the run, one operation after the other, and adds up variances:
 * "up to the operation" means the operation that the walk has reached. */
struct walk {
    double begun;    /* variance of the run's start */
    double random;   /* sum of the kernels' variances from launch to launch, up to the operation */
    double bias;     /* variance from the kernels' mean durations, up to the operation */
    double common;   /* covariance of the operation's time and the run's end, from the kernels' mean durations */
    double end;      /* variance of the run's end */
    double usual;    /* variance of the run's end, if no kernel's duration has changed */
    bool changeable; /* a kernel of the run has changed its duration repeatedly of late */
};

/* Counts the run's launches by kernel, and returns the variances at the run's start. */
struct walk run_walk(struct run run);

/* The run's end was measured `off` ns from its computed end. Is this too far for a run in which no duration has
 * changed? */
bool run_is_far(const struct walk *walk, double off, double end_var);

/* Corrects the run's operations so that the run ends at `end`. Each time moves by its share of the correction, as in
 * a Kalman smoother. Afterwards the times are most certain at both ends of the run. */
void run_bridge(struct run run, struct walk walk, int64_t end, double end_var, struct line *line);

/* Learns from a run that was `off` ns longer than expected. walk: the variances before run_bridge corrected the run.
 * end_var: variance of the measured end. foreseen: before the measurement, it was certain that the run's end would be
 * measured. */
void run_learn(struct run run, struct walk walk, double off, double end_var, bool foreseen, struct line *line);

#endif
