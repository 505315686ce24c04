/* What kernels did by their own parameters. These are kept of few launches, so they speak for the others of their
 * shape, where all that were kept come to the same.
 */
#ifndef WALLSHIM_ANALYSIS_ARGUED_H
#define WALLSHIM_ANALYSIS_ARGUED_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/operators.h"
#include "model/model.h"

struct ws_argued;

/* Reads those of one device. Leaves NULL where none were kept. Returns 0 or -ENOMEM. */
int ws_argued_create(struct ws_argued **argued, const struct ws_model *model, const struct ws_process *process,
                     size_t track);

/* Do any parameters speak for the launches of a shape (index into ws_process.shapes)? Accepts NULL. */
bool ws_argued_has(const struct ws_argued *argued, uint32_t shape);

/* What an operation cost; NULL where neither its parameters nor those of its like say so, or argued is NULL. To be
 * asked once for each launch: carried is set where more launches were asked for than had parameters kept, all alike.
 */
const struct ws_operator_cost *ws_argued_cost(struct ws_argued *argued, uint32_t op, bool *carried);

/* Accepts NULL. */
void ws_argued_destroy(struct ws_argued *argued);

#endif
