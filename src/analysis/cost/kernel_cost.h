/* The cost of kernels derived from their parameters. The parameters of only a few launches are recorded. A shape is a
 * set of launches with the same kernel, grid and other static properties. If the recorded parameters of all launches
 * of a shape give the same cost, we assume this cost for the other launches of the shape too. */
#ifndef WALLSHIM_ANALYSIS_COST_KERNEL_COST_H
#define WALLSHIM_ANALYSIS_COST_KERNEL_COST_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/cost/operators.h"
#include "model/model.h"

struct ws_kernel_costs;

/* Reads the recorded parameters of the kernels on one track (one device as used by one process). Sets *costs to NULL
 * if no parameters were recorded. Returns 0 or -ENOMEM. */
int ws_kernel_costs_create(struct ws_kernel_costs **costs, const struct ws_model *model,
                           const struct ws_process *process, size_t track);

/* Do recorded parameters give the cost of this shape (index into ws_process.shapes)? `costs` may be NULL. */
bool ws_kernel_costs_has(const struct ws_kernel_costs *costs, uint32_t shape);

/* Returns the cost of an operation; NULL: not known, or `costs` is NULL. Must be called once per launch. *carried
 * tells whether the cost is carried over from other launches of the shape. If the recorded parameters of n launches
 * of a shape give the same cost, the first n calls for the shape set *carried to false, and all later calls set it to
 * true. So the number of launches with a carried cost is right, although *carried may be wrong for a single
 * launch. */
const struct ws_operator_cost *ws_kernel_costs_cost(struct ws_kernel_costs *costs, uint32_t op, bool *carried);

/* Frees the costs. `costs` may be NULL. */
void ws_kernel_costs_destroy(struct ws_kernel_costs *costs);

#endif
