/* An upper limit for the communication that could run during compute.
 *
 * Gradients become available while the backward pass runs. Their communication can only hide under what is left
 * of the backward pass. If kernels of a step have names of gradient computation, the limit is the compute
 * between the first of them and the last communication of the step. The part before the first of n pieces is
 * ready does not count; with equal layers, (n - 1)/n of the compute remains. If no name tells, or there is one
 * piece, which could be cut into many, the limit is all of the compute.
 */
#ifndef WALLSHIM_ANALYSIS_COMM_OVERLAP_LIMIT_H
#define WALLSHIM_ANALYSIS_COMM_OVERLAP_LIMIT_H

#include <stdint.h>

#include "report/analysis.h"

/* The limit in ns per steady step on average, or for the recording if there are no steps. Communication that
 * already overlaps is subtracted. INT64_MIN: memory ran out. */
int64_t ws_overlap_limit(const struct ws_report *report, size_t track);

#endif
