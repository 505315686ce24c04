/* Launch delays by stream: the time from the launch call to the start on the device. Gives the exact median, 95th
 * percentile and maximum without keeping all delays. A first pass counts the delays by bucket. A second pass keeps
 * only the delays in the buckets of the median and of the 95th percentile.
 */
#ifndef WALLSHIM_ANALYSIS_ACTIVITY_DELAYS_H
#define WALLSHIM_ANALYSIS_ACTIVITY_DELAYS_H

#include "model/model.h"

struct ws_stream_delays {
    uint32_t stream; /* the stream's id in the trace; 0: the stream is not known */
    uint64_t count;
    int64_t median, p95, max; /* median, 95th percentile and maximum of the delays, ns */
};

/* Adds a struct ws_stream_delays to `rows` for each stream of the track (one device as used by one process) that has
 * launches. Streams with most launches come first. Returns 0 or -ENOMEM. */
int ws_delays_measure(const struct ws_process *process, const struct ws_track *track, struct ws_vector *rows);

#endif
