/* Losses: calls and operations that were not recorded, or only in part, and the reason. Losses become rows of the
 * family "loss". Only the drain thread may use these functions. */
#ifndef WALLSHIM_SHIM_DRAIN_LOSSES_H
#define WALLSHIM_SHIM_DRAIN_LOSSES_H

#include <stdbool.h>
#include <stdint.h>

#include "record/record.h"

struct shim_thread;

/* Counts `count` more losses for this reason. */
void losses_count(enum ws_loss_reason reason, uint64_t count);

/* Adds rows for the thread's losses since the last call. */
void losses_of_thread(struct shim_thread *thread);

/* Adds rows for all losses since the last call. unwritten: how many operations and calls could not be written to the
 * file since the start. */
void losses_add(int64_t now, uint64_t unwritten);

/* Called after a flush. written: the rows added so far are in the file. If they are not, their losses are counted
 * again. */
void losses_are_written(bool written);

#endif
