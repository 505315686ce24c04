/* What was not recorded, or not whole, and why: rows of family loss. Everything here is the drain thread's. */
#ifndef WALLSHIM_SHIM_DRAIN_LOSSES_H
#define WALLSHIM_SHIM_DRAIN_LOSSES_H

#include <stdbool.h>
#include <stdint.h>

#include "record/record.h"

struct shim_thread;

/* So many more. */
void losses_count(enum ws_loss_reason reason, uint64_t count);

/* Adds rows for what the thread could not record since the last time. */
void losses_of_thread(struct shim_thread *thread);

/* Adds rows for all losses counted since the last time. unwritten: operations and calls that the file did not take,
 * ever. */
void losses_add(int64_t now, uint64_t unwritten);

/* The rows are in the file; if not, they are counted again, so that no loss is lost. */
void losses_are_written(bool written);

#endif
