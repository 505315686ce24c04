/* Computes the bytes and the savings of patterns from the occurrences of each pattern, and sorts the patterns. A
 * pattern is a chain of kernels that occurs again and again (chains.h). */
#ifndef WALLSHIM_ANALYSIS_ROOFLINE_CHAIN_FIGURES_H
#define WALLSHIM_ANALYSIS_ROOFLINE_CHAIN_FIGURES_H

#include "analysis/roofline/chains.h"

/* Fills in the figures of the patterns, drops patterns without occurrences, and sorts the rest. If no source (enum
 * ws_bytes_source) gives the bytes that a pattern's kernels pass on to each other, sets an upper limit for these
 * bytes. This limit follows from the device's bandwidth (bytes_per_ns; 0: not known) and from the size of the largest
 * possible array (array_most, in bytes; 0: not known). */
void ws_chains_conclude(struct ws_track_chains *result, double bytes_per_ns, uint64_t array_most);

#endif
