/* What was not recorded, or only in part, and why: rows of the family "loss". Everything here is for the drain thread
 * alone. */
#ifndef WALLSHIM_SHIM_DRAIN_LOSSES_H
#define WALLSHIM_SHIM_DRAIN_LOSSES_H

#include <stdbool.h>
#include <stdint.h>

#include "record/record.h"

struct shim_thread;

/* Counts `count` more losses for this reason. */
void losses_count(enum ws_loss_reason reason, uint64_t count);

/* Adds rows for what the thread could not record since the last time. */
void losses_of_thread(struct shim_thread *thread);

/* Adds rows for all losses counted since the last time. unwritten: how many operations and calls could not be written
 * to the file since the start. */
void losses_add(int64_t now, uint64_t unwritten);

/* Says whether the rows added so far were written to the file. If not, their losses are counted again. */
void losses_are_written(bool written);

#endif
