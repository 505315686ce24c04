/* What hardware counters said of the kernels of a device: `wallshim record --counters`.
 *
 * A launch gives one group of metrics; the groups come from several launches of the same kernel, grid and block, and
 * each metric is the mean of those that gave it. All launches of a kernel, grid and block on the device are taken to
 * do the same. Bytes are those read from and written to device memory. FLOPs are the sum over all precisions of what
 * ordinary and tensor cores did: known only where every group has been read, or the tensor cores did nothing and
 * their groups are not wanted. */
#ifndef WALLSHIM_ANALYSIS_COUNTED_H
#define WALLSHIM_ANALYSIS_COUNTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hardware/gpu.h"
#include "model/model.h"

/* A launch, on average. */
struct ws_counted {
    bool has_bytes, has_flops;
    double bytes, flops;
    double written;              /* of the bytes */
    enum ws_precision precision; /* that most of the FLOPs are in */
    char note[192];              /* where FLOPs are not known: what was not read of them */
};

struct ws_counts;

/* Of the track with this index; *counts is NULL where nothing was counted. Returns 0 or -ENOMEM. */
int ws_counts_create(struct ws_counts **counts, const struct ws_process *process, const struct ws_track *track,
                     size_t subject);

/* Of the launches of a shape (index into ws_process.shapes); NULL: nothing is known. */
const struct ws_counted *ws_counts_of(const struct ws_counts *counts, uint32_t shape);

/* Accepts NULL. */
void ws_counts_destroy(struct ws_counts *counts);

#endif
