/* From a launch call to the begin on the device: the middle, the 95th percentile and the longest, by stream. Exact,
 * and without keeping all of them: they are counted by magnitude first, and then only those of the magnitudes sought
 * are kept.
 */
#ifndef WALLSHIM_ANALYSIS_DELAYS_H
#define WALLSHIM_ANALYSIS_DELAYS_H

#include "model/model.h"

struct ws_stream_delays {
    uint32_t stream; /* identifier in the trace; 0: not known */
    uint64_t count;
    int64_t median, p95, max; /* ns */
};

/* Adds a struct ws_stream_delays for each stream of the track that has launches, most launches first. Returns 0 or
 * -ENOMEM. */
int ws_delays_measure(const struct ws_process *process, const struct ws_track *track, struct ws_vector *rows);

#endif
