/* The cost of a device's kernels, measured by hardware counters: `wallshim record --counters`.
 *
 * The shim reads one group of metrics per launch. So several launches of one configuration (the same kernel, grid,
 * block and shared memory) together give all groups. The value of a metric is the mean over the launches for which
 * the metric was read. All launches of a configuration on a device are assumed to do the same work. Bytes are all
 * bytes read from and written to device memory. FLOPs are the sum over all precisions, on CUDA and tensor cores.
 * FLOPs are known only if every group that counts FLOPs was read. If the metric for tensor cores shows that they were
 * idle, the groups that count FLOPs on tensor cores are not needed.
 */
#ifndef WALLSHIM_ANALYSIS_COST_COUNTER_COST_H
#define WALLSHIM_ANALYSIS_COST_COUNTER_COST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hardware/gpu.h"
#include "model/model.h"

/* The mean cost of the launches of one configuration (kernel, grid, block and shared memory). */
struct ws_counter_cost {
    bool has_bytes, has_flops;
    double bytes, flops;
    double written;              /* bytes written; `bytes` includes them */
    enum ws_precision precision; /* precision in which most FLOPs were done: fp16, fp32 … */
    char note[192]; /* if FLOPs are not known: text that lists the groups of metrics that were not read */
};

struct ws_counter_costs;

/* Computes the costs of the kernels on the track (one device as used by one process) with index `subject`. Sets
 * *counts to NULL if there are no counters. Returns 0 or -ENOMEM. */
int ws_counter_costs_create(struct ws_counter_costs **counts, const struct ws_process *process,
                            const struct ws_track *track, size_t subject);

/* The cost of launches of this shape (index into ws_process.shapes); NULL: not known. */
const struct ws_counter_cost *ws_counter_costs_of(const struct ws_counter_costs *counts, uint32_t shape);

/* Frees the costs. `counts` may be NULL. */
void ws_counter_costs_destroy(struct ws_counter_costs *counts);

#endif
