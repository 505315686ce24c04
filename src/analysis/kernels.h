/* Time by name: one row for each kernel, kind of copy and kind of memset of a device. */
#ifndef WALLSHIM_ANALYSIS_KERNELS_H
#define WALLSHIM_ANALYSIS_KERNELS_H

#include "analysis/registry.h"
#include "base/vector.h"

struct ws_kernel_row {
    uint32_t name; /* index into ws_model.names */
    uint64_t count;
    int64_t total, min, max;
    int64_t error; /* sum of the errors of the times: total is right within ± this */
};

/* Operations of a name that ran without device times: what the host did is all there is to say. */
struct ws_untimed_row {
    uint32_t name;
    uint64_t count;
    int64_t call_time; /* of the host, in the calls that made them */
};

struct ws_track_kernels {
    struct ws_vector rows; /* struct ws_kernel_row, by total time, longest first */
    int64_t total;
    struct ws_vector untimed; /* struct ws_untimed_row, most first */
};

extern const struct ws_analysis ws_analysis_kernels;

/* Does a device run what only training has: an optimizer, or kernels whose names say that they go backward? Of what
 * graphs run that were timed as a whole this is not known. */
bool ws_report_trains(const struct ws_report *report, size_t track);

#endif
