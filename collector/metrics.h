/* The collector's metrics: its own, and the live figures of processes. */
#ifndef WALLSHIM_COLLECTOR_METRICS_H
#define WALLSHIM_COLLECTOR_METRICS_H

#include "collector/figures.h"
#include "collector/metrics_text.h"

/* What the collector knows of itself. */
struct metrics_collector {
    uint64_t clients, cut_off, refused_clients, refused_bytes;
    uint64_t resident_bytes;
    int64_t processor_ns, start_ns; /* start: since 1970 */
};

/* Writes all metrics. text->format is set; text->failed: memory ran out. */
void metrics_write(struct metrics_text *text, const struct figures *figures,
                   const struct metrics_collector *collector);

#endif
