/* Finds the line of the program's source that a thread was executing. */
#ifndef WALLSHIM_MODEL_SOURCE_LINE_H
#define WALLSHIM_MODEL_SOURCE_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/model.h"

/* Names the code that a thread (identifier in the trace) was executing at a host time: "step (train.py:41)". The code
 * is the innermost Python function outside installed packages, else the innermost annotation, else the outermost
 * operator. The line is the first line of the function, because recorders store only that line. If the trace has no
 * such range, writes an empty text and returns false. */
bool ws_source_line(const struct ws_process *process, uint32_t thread, int64_t time, char *text, size_t capacity);

/* The two steps of ws_source_line, for callers that look up many moments and group them by range. ws_source_range
 * returns the range, or WS_NO_RANGE. ws_source_text writes the text of a range. `known` is a cache with one byte for
 * each of ws_process.labels, initially 0. The byte of a label tells whether the label names a function of the
 * program. */
uint32_t ws_source_range(const struct ws_process *process, uint32_t thread, int64_t time, uint8_t *known);
bool ws_source_text(const struct ws_process *process, uint32_t range, char *text, size_t capacity);

/* Is the range in code that torch.compile generated? The text of such a range names the function that called the
 * generated code: "compiled code in forward (model.py:12)". */
bool ws_source_is_compiled(const struct ws_process *process, uint32_t range);

#endif
