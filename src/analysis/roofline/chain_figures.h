/* Computes a pattern's figures from its occurrences: bytes, savings, order. */
#ifndef WALLSHIM_ANALYSIS_ROOFLINE_CHAIN_FIGURES_H
#define WALLSHIM_ANALYSIS_ROOFLINE_CHAIN_FIGURES_H

#include "analysis/roofline/chains.h"

/* Fills in the patterns' figures, drops patterns without occurrences, and sorts the rest. Where nothing else
 * tells the bytes moved, they are bounded by the device's bandwidth (0: not known) and by the largest possible
 * array (bytes, 0: not known). */
void ws_chains_conclude(struct ws_track_chains *result, double bytes_per_ns, uint64_t array_most);

#endif
