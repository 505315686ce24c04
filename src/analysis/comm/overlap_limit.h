/* An upper limit for the communication that could run during compute.
 *
 * Gradients become available while the backward pass runs. The communication of gradients can only overlap with the
 * rest of the backward pass. The backward pass of a step is the compute from the first kernel whose name says
 * "backward", "bwd" or "grad" to the last communication. If a step sends its gradients in n operations (pieces), no
 * communication can overlap with the compute before the first piece is ready. If all pieces are equally large, this
 * compute is 1/n of the backward pass. The limit is the remaining (n - 1)/n of the backward pass. If any steady
 * step has no kernel with such a name, the limit is all compute. The limit is also all compute if steps have fewer
 * than two pieces on average, because a single piece could be split into many.
 */
#ifndef WALLSHIM_ANALYSIS_COMM_OVERLAP_LIMIT_H
#define WALLSHIM_ANALYSIS_COMM_OVERLAP_LIMIT_H

#include <stdint.h>

#include "report/analysis.h"

/* Returns the limit in ns: the mean per steady step, or the total of the recording if there are no steady steps.
 * Subtracts the communication that already runs during compute. Returns INT64_MIN if memory runs out. */
int64_t ws_overlap_limit(const struct ws_report *report, size_t track);

#endif
