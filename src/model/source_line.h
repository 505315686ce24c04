/* Which line of the program a thread was at, in the words of whatever the trace holds. */
#ifndef WALLSHIM_MODEL_SOURCE_LINE_H
#define WALLSHIM_MODEL_SOURCE_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/model.h"

/* Writes where the thread (identifier in the trace) was at a time of the host: "step (train.py:41)" from the
 * innermost Python function that is the program's own, that is of no installed package; else the innermost
 * annotation; else the outermost operator. Recorders give the line a function begins at. Returns false, and an
 * empty text, when the trace does not know. */
bool ws_source_line(const struct ws_process *process, uint32_t thread, int64_t time, char *text, size_t capacity);

/* The same in two steps, for those who group many times by place: the range that says where, or WS_NO_RANGE; and
 * its text. What is found out about names is kept in known, a byte for each of ws_process.labels, 0 at first. */
uint32_t ws_source_range(const struct ws_process *process, uint32_t thread, int64_t time, uint8_t *known);
bool ws_source_text(const struct ws_process *process, uint32_t range, char *text, size_t capacity);

#endif
