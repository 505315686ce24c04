/* Losses: calls and operations that were not recorded, or only in part, and the reason. Losses become rows of the
 * family "loss". Only the drain (the thread that writes the trace) may use these functions. */
#ifndef WALLSHIM_SHIM_DRAIN_LOSSES_H
#define WALLSHIM_SHIM_DRAIN_LOSSES_H

#include <stdbool.h>
#include <stdint.h>

#include "record/record.h"

struct shim_thread;

/* Counts `count` more losses for `reason`. */
void losses_count(enum ws_loss_reason reason, uint64_t count);

/* Adds rows for the losses of a thread that has ended. */
void losses_of_gone_thread(struct shim_thread *thread);

/* Adds rows for all losses that have no row yet. unwritten: how many operations and calls could not be written to the
 * trace since it began. */
void losses_add(int64_t now, uint64_t unwritten);

/* Called at the end of a recording. Counts the ranges that the program has begun but never ended. */
void losses_at_end(void);

/* Called after a flush (the writing of all rows). written: the rows of losses are in the file. If these rows are not
 * in the file, their losses are added to the rows of the next flush. */
void losses_are_written(bool written);

#endif
