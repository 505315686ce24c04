/* The cost of a device's kernels, measured by hardware counters: `wallshim record --counters`.
 *
 * One launch gives one group of metrics. The groups come from several launches of one configuration: the same kernel,
 * grid, block and shared memory. A metric is the mean over the launches that gave it. All launches of a configuration
 * on a device are assumed to do the same work. Bytes are all bytes read from and written to device memory. FLOPs are
 * the sum over all precisions, on ordinary and tensor cores. FLOPs are known only if every group that counts FLOPs
 * was read. If the tensor cores were idle, their groups are not needed.
 */
#ifndef WALLSHIM_ANALYSIS_COST_COUNTER_COST_H
#define WALLSHIM_ANALYSIS_COST_COUNTER_COST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hardware/gpu.h"
#include "model/model.h"

/* The mean cost of a launch. */
struct ws_counter_cost {
    bool has_bytes, has_flops;
    double bytes, flops;
    double written;              /* bytes written; `bytes` includes them */
    enum ws_precision precision; /* the precision of most FLOPs */
    char note[192];              /* if FLOPs are not known: the groups that were not read */
};

struct ws_counter_costs;

/* Computes the costs for the track with index `subject`. Sets *counts to NULL if there are no counters. Returns 0 or
 * -ENOMEM. */
int ws_counter_costs_create(struct ws_counter_costs **counts, const struct ws_process *process,
                            const struct ws_track *track, size_t subject);

/* The cost of launches of this shape (index into ws_process.shapes); NULL: not known. */
const struct ws_counter_cost *ws_counter_costs_of(const struct ws_counter_costs *counts, uint32_t shape);

/* Accepts NULL. */
void ws_counter_costs_destroy(struct ws_counter_costs *counts);

#endif
