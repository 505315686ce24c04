/* How much communication could run beside compute.
 *
 * Gradients exist only as the backward pass makes them: what reduces them can hide under what is left of that pass,
 * and under nothing else. Where kernels of a step tell by their names that they compute gradients, there is room for
 * the compute from the first of them to the last communication of the step, less the part of it that is over when the
 * first of n pieces can begin: (n - 1)/n of it, if the passes' layers are alike. Where no name tells, and where there
 * is one piece, which might be cut into many, there is room for all the compute.
 */
#ifndef WALLSHIM_ANALYSIS_COMM_ROOM_H
#define WALLSHIM_ANALYSIS_COMM_ROOM_H

#include <stdint.h>

#include "analysis/registry.h"

/* In a steady step on average, or in the recording where there are none; less what communication runs beside it
 * already. INT64_MIN: memory is out. */
int64_t ws_comm_room(const struct ws_report *report, size_t track);

#endif
