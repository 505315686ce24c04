/* Finds the line of the program that a thread was executing. */
#ifndef WALLSHIM_MODEL_SOURCE_LINE_H
#define WALLSHIM_MODEL_SOURCE_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/model.h"

/* Writes the position of a thread (identifier in the trace) at a host time, such as "step (train.py:41)". It is the
 * innermost Python function outside installed packages, else the innermost annotation, else the outermost operator.
 * The line is where the function begins, because recorders store that one. If the trace does not know, returns
 * false and an empty text. */
bool ws_source_line(const struct ws_process *process, uint32_t thread, int64_t time, char *text, size_t capacity);

/* The same in two steps, for callers that group many times: first the range (or WS_NO_RANGE), then its text. known
 * caches what is known about names: one byte for each of ws_process.labels, initially 0. */
uint32_t ws_source_range(const struct ws_process *process, uint32_t thread, int64_t time, uint8_t *known);
bool ws_source_text(const struct ws_process *process, uint32_t range, char *text, size_t capacity);

#endif
