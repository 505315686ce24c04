/* The cost of kernels derived from their parameters. The parameters of only a few launches are recorded. If all
 * recorded launches of a shape have the same cost, we assume the same cost for the other launches of the shape.
 */
#ifndef WALLSHIM_ANALYSIS_COST_KERNEL_COST_H
#define WALLSHIM_ANALYSIS_COST_KERNEL_COST_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/cost/operators.h"
#include "model/model.h"

struct ws_kernel_costs;

/* Reads the parameters of one device. Sets *costs to NULL if none were recorded. Returns 0 or -ENOMEM. */
int ws_kernel_costs_create(struct ws_kernel_costs **costs, const struct ws_model *model,
                           const struct ws_process *process, size_t track);

/* Do recorded parameters give the cost of this shape (index into ws_process.shapes)? Accepts NULL. */
bool ws_kernel_costs_has(const struct ws_kernel_costs *costs, uint32_t shape);

/* Returns the cost of an operation; NULL: not known, or `costs` is NULL. Must be called once per launch. Sets
 * *carried if the cost comes from other launches of the shape. The function finds this by counting its calls: if n
 * launches of a shape have recorded parameters with the same cost, every call for the shape after the first n sets
 * *carried. */
const struct ws_operator_cost *ws_kernel_costs_cost(struct ws_kernel_costs *costs, uint32_t op, bool *carried);

/* Accepts NULL. */
void ws_kernel_costs_destroy(struct ws_kernel_costs *costs);

#endif
