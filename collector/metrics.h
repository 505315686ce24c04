/* Writes the collector's metrics: figures on the collector itself, and the live figures of processes (figures.h). */
#ifndef WALLSHIM_COLLECTOR_METRICS_H
#define WALLSHIM_COLLECTOR_METRICS_H

#include "collector/figures.h"
#include "collector/metrics_text.h"

enum { METRICS_DUMPS = 3 }; /* number of kinds of dumps (dump.h) */

/* Figures on the collector itself. */
struct metrics_collector {
    uint64_t clients, cut_off, refused_clients, refused_bytes;
    uint64_t hangs, hanging; /* number of hangs reported so far; number of jobs that hang now */
    struct {
        const char *cause;
        uint64_t written;
    } dumps[METRICS_DUMPS];
    uint64_t resident_bytes;
    int64_t processor_ns, start_ns; /* CPU time of the collector; time since 1970 at which it started */
};

/* Writes all metrics. The caller sets text->format. If memory runs out, sets text->failed. */
void metrics_write(struct metrics_text *text, const struct figures *figures,
                   const struct metrics_collector *collector);

#endif
