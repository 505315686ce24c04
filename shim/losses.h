/* What could not be recorded, or not whole, and why: rows of family loss. Everything here is the drain thread's. */
#ifndef WALLSHIM_SHIM_LOSSES_H
#define WALLSHIM_SHIM_LOSSES_H

#include <stdbool.h>
#include <stdint.h>

#include "record/record.h"

struct shim_thread;

/* So many more. */
void losses_count(enum ws_loss_reason reason, uint64_t count);

/* Rows for what the thread could not record since it was last asked. */
void losses_of_thread(struct shim_thread *thread);

/* Rows for all that was counted since the last ones; unwritten: operations and calls that the file did not take,
 * ever. */
void losses_add(int64_t now, uint64_t unwritten);

/* The rows are in the file, or are not: then they are counted again, so that no loss is lost. */
void losses_are_written(bool written);

#endif
