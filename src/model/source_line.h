/* Finds the line of the program's source that a thread was executing. */
#ifndef WALLSHIM_MODEL_SOURCE_LINE_H
#define WALLSHIM_MODEL_SOURCE_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/model.h"

/* A place in the program: a range in recordings of the PyTorch profiler, a stack's place in recordings of wallshim.
 */
struct ws_source {
    uint32_t range; /* index in ws_process.ranges; WS_NO_RANGE: none */
    /* Index of a frame in ws_process.stacks; WS_NO_FRAME: none. At most one of the two fields is set. */
    uint32_t frame;
};

static inline bool ws_source_is_known(struct ws_source source)
{
    return source.range != WS_NO_RANGE || source.frame != WS_NO_FRAME;
}

/* Finds what a thread (identifier in the trace) was executing at a host time. The result is the first of these that
 * exists: the innermost Python function outside installed packages; a stack of the thread; the innermost annotation;
 * the place at which another thread waited (ws_stacks_waiting); the outermost operator. reach: maximum distance in ns
 * between `time` and the time of the stack. known: a cache with one byte per row of ws_process.labels, initially 0.
 * Each byte stores whether the row's label is the name of a function of the program. NULL: no cache. */
struct ws_source ws_source_at(const struct ws_process *process, uint32_t thread, int64_t time, int64_t reach,
                              uint8_t *known);

/* Writes the place: "step (train.py:41)". For a range, the line is taken from the range's name, and is mostly the
 * function's first line. For a stack, the line is the one that was being executed. If the place is unknown, writes an
 * empty text and returns false. */
bool ws_source_text(const struct ws_process *process, struct ws_source source, char *text, size_t capacity);

/* Finds the file and the line that ws_source_text names last. Returns false if the place is not a line of a file. */
bool ws_source_place(const struct ws_process *process, struct ws_source source, char *path, size_t capacity,
                     uint32_t *line);

/* ws_source_find_op finds the place that launched an operation (index in ws_process.ops). For an operation without a
 * stack, ws_source_find_op uses the stack of another operation with the same shape, if there is one. ws_source_of_op
 * writes the place as ws_source_text does. */
struct ws_source ws_source_find_op(const struct ws_process *process, size_t op);
bool ws_source_of_op(const struct ws_process *process, size_t op, char *text, size_t capacity);

/* Is the place in code that torch.compile generated? If it is, ws_source_text writes the function that called the
 * generated code: "compiled code in forward (model.py:12)". */
bool ws_source_is_compiled(const struct ws_process *process, struct ws_source source);

#endif
