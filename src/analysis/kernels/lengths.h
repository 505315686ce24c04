/* Bounds of the total time of operations, for traces with computed times: times that the shim did not measure, but
 * inferred from other times (WS_TIME_INFERRED).
 *
 * The computed start of an operation may be wrong by some µs, and so may its computed end. Start and end are wrong by
 * nearly the same amount, so the length is wrong by far less. So if the errors of start and end times are added up,
 * the sum overstates the error of a sum of lengths. The shim computes the length of such an operation from measured
 * launches of the same kernel, grid and block (shim/timing/durations.h). In this analysis, the samples are launches
 * of the same shape: the stream and all other static properties are the same too. The mean of n samples with standard
 * deviation s lies within t s / √n of the true mean in 99.7 % of cases, where t is the quantile of Student's t
 * distribution (3 for many samples). All samples count as independent. So the true total length of a shape's m other
 * operations likely lies between m × (mean - error) and m × (mean + error). This is an estimate: if one launch in a
 * hundred takes much longer and none of the samples is one of these, the error is stated too small. There are two
 * sets of samples, and the closer bound of both counts:
 *
 * - Launches whose start and end are both measured. `error` is t s / √n + SYSTEMATIC_NS. SYSTEMATIC_NS allows for a
 *   constant error in the time between two CUDA events. Its value is our choice. The shim subtracts its estimate of
 *   this error (shim/timing/dispatch.h), so only the error of the estimate is left.
 * - Launches whose start and end have small errors: the sum of both is below s. Where lengths vary, these are more
 *   than the measured ones, because the shim measures many ends alone. `error` grows by the mean of their errors. The
 *   end of a long launch may be better known than that of a short one, so these samples may leave out short launches.
 *   Hence launches with errors from s to 2 s count as left out, and those with errors below 16 µs in any case. If
 *   there are u of them, `error` also grows by s × √(u / n): the mean of n out of n + u values differs from the mean
 *   of all by at most so much (Cantelli). */
#ifndef WALLSHIM_ANALYSIS_KERNELS_LENGTHS_H
#define WALLSHIM_ANALYSIS_KERNELS_LENGTHS_H

#include "report/analysis.h"

/* The operations of one shape, ns. */
struct ws_length_bounds {
    double total;   /* the sum of their lengths in the trace */
    double shorter; /* by so much the true sum may be below `total` */
    double longer;  /* by so much the true sum may be above `total` */
};

struct ws_process_lengths {
    struct ws_length_bounds *shapes; /* index: shape; NULL: the trace has no computed times */
};

extern const struct ws_analysis ws_analysis_lengths;

#endif
