/* Reports how far the process is, when the collector asks: which operations, collectives and calls have not ended
 * (wire/progress.h). Only the drain thread calls these functions. */
#ifndef WALLSHIM_SHIM_DRAIN_PROGRESS_H
#define WALLSHIM_SHIM_DRAIN_PROGRESS_H

#include <stddef.h>
#include <stdint.h>

#include "record/record.h"
#include "wire/progress.h"

/* Call these functions for each operation and each collective that is read from a ring. */
void progress_note_op(const struct ws_op *op);
void progress_note_collective(const struct ws_collective *row);

/* Writes the report into `bytes`, and returns its size. Call this after the drain has read all events. */
size_t progress_write(uint8_t bytes[WS_PROGRESS_MAX], int64_t now);

#endif
