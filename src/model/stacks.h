/* The stacks of a recording: what threads were executing at some of their calls, and in some of their pauses.
 *
 * A place in the program stands for all stacks that a reader would call the same: same line of the program's own
 * innermost function, same line of its script. */
#ifndef WALLSHIM_MODEL_STACKS_H
#define WALLSHIM_MODEL_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/vector.h"
#include "model/entries.h"

/* A frame, by its index in ws_stacks.frames.rows. Other indices are of the same kind; WS_NO_FRAME: none. */
struct ws_stack_place {
    uint32_t line;   /* line of the source that the frame executes */
    uint32_t own;    /* the innermost frame of the program's own code, from this frame outwards; of several frames at
                        the same line, the first one */
    uint32_t script; /* as `own`, for the file in which the program began */
    uint32_t place;  /* the first frame with the same `own` and `script` */
    /* Of a place: where most pauses were spent that a call from here ended. WS_NO_FRAME: no pause has a stack. */
    uint32_t pause;
    uint32_t votes; /* by how many pauses more than others */
};

#define WS_NO_FRAME UINT32_MAX

struct ws_stacks {
    struct ws_entries codes;  /* struct ws_code */
    struct ws_entries frames; /* struct ws_frame */
    struct ws_vector rows;    /* struct ws_stack; ordered by thread and time after ws_stacks_order */
    struct ws_vector threads; /* struct ws_thread_rows (model/ranges.h) */
    struct ws_stack_place *places;
    struct ws_map of_shapes; /* id of a shape → index + 1 in rows: a stack of one of its operations */
};

void ws_stacks_init(struct ws_stacks *stacks);
void ws_stacks_finish(struct ws_stacks *stacks);

/* Orders the rows, and finds the places. Call it once, after all rows were added. Returns 0 or -ENOMEM. */
int ws_stacks_order(struct ws_stacks *stacks);

/* Returns the place of the thread at a time; WS_NO_FRAME: not known. reach: how far from the time a stack may have
 * been taken, in ns. A stack that was taken in a pause is preferred to those of the calls around the pause. If
 * only the call after the pause has a stack, the answer is where most pauses before such calls were spent. */
uint32_t ws_stacks_at(const struct ws_stacks *stacks, uint32_t thread, int64_t time, int64_t reach);

/* Returns the place of an operation of the shape (id in the trace); WS_NO_FRAME: not known. */
uint32_t ws_stacks_of_shape(const struct ws_stacks *stacks, uint32_t shape);

/* Writes a place: "Loader.next (data.py:41) from train (train.py:12)". */
void ws_stacks_text(const struct ws_stacks *stacks, uint32_t place, char *text, size_t capacity);

#endif
