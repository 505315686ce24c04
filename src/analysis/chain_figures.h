/* From what was seen of a pattern's occurrences to its figures: bytes, time to win, order. */
#ifndef WALLSHIM_ANALYSIS_CHAIN_FIGURES_H
#define WALLSHIM_ANALYSIS_CHAIN_FIGURES_H

#include "analysis/chains.h"

/* Fills in the patterns' figures, drops those that never came, and sorts them. The bandwidth of the device, 0 where
 * it is not known, bounds what is moved where nothing else tells; so does then the most bytes that an array can have,
 * 0 where that is not known. */
void ws_chains_conclude(struct ws_track_chains *result, double bytes_per_ns, uint64_t array_most);

#endif
