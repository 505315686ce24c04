/* The stacks of a recording: what threads were executing at some of their calls, and in some pauses between calls.
 *
 * A place stands for all stacks that reports show as the same text. Such stacks have the same line of the innermost
 * function of the program's own code, and the same innermost line of the program's script. */
#ifndef WALLSHIM_MODEL_STACKS_H
#define WALLSHIM_MODEL_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/vector.h"
#include "model/entries.h"
#include "symbols/symbols.h"

/* Facts about a frame. ws_stacks.places has one element per frame. `own`, `script`, `place` and `pause` are indices
 * of frames in ws_stacks.frames.rows; WS_NO_FRAME: none. */
struct ws_stack_place {
    uint32_t line; /* source line that the frame was executing */
    /* The innermost frame of the program's own code among this frame and its callers. Of all frames at the same line,
     * the index of the first one in ws_stacks.frames.rows is stored. */
    uint32_t own;
    uint32_t script; /* like `own`, but only frames of the program's script: the file of the outermost own frame */
    uint32_t place;  /* the first of all frames with the same `own` and `script`; represents all of them */
    /* A pause is a thread's time between two calls. Calls from this place ended some pauses. `pause` is the place at
     * which most of those pauses were spent. WS_NO_FRAME: none of those pauses has a stack. */
    uint32_t pause;
    uint32_t votes; /* counter of the majority vote for `pause`; 0: no majority */
};

#define WS_NO_FRAME UINT32_MAX

/* The first and the last row of a thread that are stacks of calls, not of pauses, as indices into the thread's rows.
 * first > last: the thread has no such row. */
struct ws_stack_calls {
    size_t first, last;
};

struct ws_stacks {
    struct ws_entries codes;  /* rows of family `code` (struct ws_code): functions */
    struct ws_entries frames; /* rows of family `frame` (struct ws_frame) */
    struct ws_vector rows;    /* elements: struct ws_stack; ordered by thread and time after ws_stacks_order */
    struct ws_vector threads; /* elements: struct ws_thread_rows (model/ranges.h); the rows of each thread */
    struct ws_vector calls;   /* elements: struct ws_stack_calls; for each element of `threads` */
    struct ws_stack_place *places;
    bool has_native_lines;      /* a frame in a module of the program's own code has a source line */
    uint32_t unnamed;           /* number of modules of the program's own code that lack names of functions */
    const char *unnamed_module; /* path of the first module that lacks names; unnamed_why: the reason */
    enum ws_symbols_lack unnamed_why;
    struct ws_map of_shapes; /* id of a shape → 1 + index in `rows` of a stack of an operation with this shape */
};

void ws_stacks_init(struct ws_stacks *stacks);
void ws_stacks_finish(struct ws_stacks *stacks);

/* Orders the rows, and finds the places. Call this function once, after all rows were added. Returns 0 or -ENOMEM. */
int ws_stacks_order(struct ws_stacks *stacks);

/* Returns the place that the thread was executing at a time; WS_NO_FRAME: unknown. reach: maximum distance in ns
 * between `time` and the time of the stack used. A stack sampled in a pause between calls is preferred to a call's
 * stack. The stack of the call after `time` only shows where the pause around `time` ended. If this stack is used,
 * the result is the place at which most pauses that ended at the same place were spent, if that place is known. */
uint32_t ws_stacks_at(const struct ws_stacks *stacks, uint32_t thread, int64_t time, int64_t reach);

/* For a thread without stacks, returns the place at which another thread waited at a time; WS_NO_FRAME: unknown, or
 * the thread has stacks of its own. The other thread waits if a stack was sampled in its pause around `time`, between
 * two of its calls that have stacks. The other thread also waits if that pause has no sample but is long. Then the
 * place returned is the one at which most pauses that ended at the same place were spent. So reports can name a line
 * for the launches of a thread without Python code, such as PyTorch's thread for the backward pass: the line that
 * waits for that thread. */
uint32_t ws_stacks_waiting(const struct ws_stacks *stacks, uint32_t thread, int64_t time);

/* Returns the place that launched an operation of the shape (id in the trace); WS_NO_FRAME: unknown. */
uint32_t ws_stacks_of_shape(const struct ws_stacks *stacks, uint32_t shape);

/* Writes a place: "Loader.next (data.py:41) from train (train.py:12)". */
void ws_stacks_text(const struct ws_stacks *stacks, uint32_t place, char *text, size_t capacity);

/* Returns the function of a frame, or NULL if the trace lacks the function. */
const struct ws_code *ws_stacks_code(const struct ws_stacks *stacks, uint32_t frame);

/* Returns the frame that called this frame, or WS_NO_FRAME. The result is always less than `frame`, so that a walk
 * from caller to caller ends even in a damaged file. */
uint32_t ws_stacks_caller(const struct ws_stacks *stacks, uint32_t frame);

/* Does the frame belong to the program's own code, rather than to an installed package or a library? */
bool ws_stacks_is_own(const struct ws_stacks *stacks, uint32_t frame);

/* Finds the file and the line that ws_stacks_text names last. Returns false if the trace lacks them. */
bool ws_stacks_line(const struct ws_stacks *stacks, uint32_t place, char *path, size_t capacity, uint32_t *line);

#endif
