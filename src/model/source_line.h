/* Finds the line of the program's source that a thread was executing. */
#ifndef WALLSHIM_MODEL_SOURCE_LINE_H
#define WALLSHIM_MODEL_SOURCE_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/model.h"

/* A place in the program. Recordings of the PyTorch profiler have ranges, our own have stacks. */
struct ws_source {
    uint32_t range; /* index in ws_process.ranges; WS_NO_RANGE: none */
    uint32_t frame; /* place in ws_process.stacks; WS_NO_FRAME: none. Only one of both is set */
};

static inline bool ws_source_is_known(struct ws_source source)
{
    return source.range != WS_NO_RANGE || source.frame != WS_NO_FRAME;
}

/* Finds what a thread (identifier in the trace) was executing at a host time: the innermost Python function outside
 * installed packages, else the innermost annotation, else the outermost operator. reach: how far from the time a
 * stack may have been taken, in ns. `known` is a cache with one byte for each of ws_process.labels, initially 0; the
 * byte of a label tells whether the label names a function of the program. NULL: no cache. */
struct ws_source ws_source_at(const struct ws_process *process, uint32_t thread, int64_t time, int64_t reach,
                              uint8_t *known);

/* Writes the place: "step (train.py:41)". The line of a range is the first line of the function, because recorders
 * store only that line; the line of a stack is the one that was executed. If the place is not known, writes an empty
 * text and returns false. */
bool ws_source_text(const struct ws_process *process, struct ws_source source, char *text, size_t capacity);

/* Writes the place that made an operation (index in ws_process.ops), or another operation of its shape. */
bool ws_source_of_op(const struct ws_process *process, size_t op, char *text, size_t capacity);

/* Is the place in code that torch.compile generated? The text of such a place names the function that called the
 * generated code: "compiled code in forward (model.py:12)". */
bool ws_source_is_compiled(const struct ws_process *process, struct ws_source source);

#endif
