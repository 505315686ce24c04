/* Device time by name of operation: one row per kernel, CUDA graph, kind of copy and kind of memset. */
#ifndef WALLSHIM_ANALYSIS_KERNELS_KERNELS_H
#define WALLSHIM_ANALYSIS_KERNELS_KERNELS_H

#include "base/vector.h"
#include "report/analysis.h"

struct ws_kernel_row {
    uint32_t name; /* index into ws_model.names */
    uint64_t count;
    int64_t total, min, max;
    int64_t error; /* ns; `total` is likely accurate to ± `error` (lengths.h) */
};

/* Operations of one name for which the trace has no device times. Only the times of their host calls are known. */
struct ws_untimed_row {
    uint32_t name;
    uint64_t count;
    int64_t call_time; /* ns spent by the host in the calls that launched these operations */
};

struct ws_track_kernels {
    struct ws_vector rows; /* struct ws_kernel_row, longest total time first */
    int64_t total;
    struct ws_vector untimed; /* struct ws_untimed_row, largest count first */
};

extern const struct ws_analysis ws_analysis_kernels;

/* Does the device run kernels that only training runs: an optimizer, or kernels with "backward", "bwd" or "grad" in
 * their names? A CUDA graph that was timed as a whole does not count: this analysis has only the graph's name. */
bool ws_report_trains(const struct ws_report *report, size_t track);

/* Does the device run a model without training it? Kernels of attention, softmax or normalization are the sign of a
 * model. */
bool ws_report_infers(const struct ws_report *report, size_t track);

/* defined in kernels_report.c */
void ws_kernels_text(const struct ws_report *report, size_t subject, const void *memory, struct ws_page *page);
int ws_kernels_json(const struct ws_report *report, size_t subject, const void *memory, json_t *object);

#endif
