/* An upper limit for the communication that could run during compute.
 *
 * Gradients become available while the backward pass runs. Their communication can only overlap with what is left of
 * the backward pass. The backward pass of a step is the compute from the first kernel whose name says "backward",
 * "bwd" or "grad" to the last communication. If a step communicates in n pieces, the compute before the first piece
 * is ready cannot overlap with any piece. With equal layers that is 1/n of the backward pass, and the rest of it is
 * the limit. The limit is all of the compute if some step has no kernel with such a name. It is all of the compute
 * too if steps have fewer than two pieces on average, because a single piece could be cut into many.
 */
#ifndef WALLSHIM_ANALYSIS_COMM_OVERLAP_LIMIT_H
#define WALLSHIM_ANALYSIS_COMM_OVERLAP_LIMIT_H

#include <stdint.h>

#include "report/analysis.h"

/* The limit in ns per steady step on average, or for the recording if there are no steps. Communication that
 * already overlaps is subtracted. INT64_MIN: memory ran out. */
int64_t ws_overlap_limit(const struct ws_report *report, size_t track);

#endif
