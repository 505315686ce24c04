/* What the exporters of call stacks share: the frames of a stack, and the host, device and idle time for which each
 * stack accounts (analysis/gaps/code_times.h). */
#ifndef WALLSHIM_EXPORT_STACK_VALUES_H
#define WALLSHIM_EXPORT_STACK_VALUES_H

#include "analysis/gaps/code_times.h"

/* The maximum number of frames of a stack in the output. A deeper stack is written without its outermost frames. */
enum { WS_CHAIN_MOST = 256 };

/* Stores in `chain` the frames of a stack, from the outermost frame to the frame with index `index`. Indices are
 * those of ws_stacks.frames.rows. Returns the number of frames. */
size_t ws_frame_chain(const struct ws_stacks *stacks, uint32_t index, uint32_t chain[WS_CHAIN_MOST]);

/* The times that the stacks of a process account for, summed over the devices of the process. A stack is identified
 * by its innermost frame. */
struct ws_stack_values {
    const struct ws_process *process;
    struct ws_code_time *times; /* by index of the innermost frame; the last entry is for time without a stack */
    size_t count;               /* number of frames in ws_stacks.frames.rows; `times` has one entry more */
};

/* X(name of the value, its unit in pprof, member of struct ws_code_time) */
#define WS_STACK_VALUES(X)             \
    X("host", "nanoseconds", host)     \
    X("device", "nanoseconds", device) \
    X("idle", "nanoseconds", idle)

/* Computes the times of each process that has stacks, and calls `take` with them. The model must hold all operations.
 * Returns 0. If `take` returns another number than 0, stops and returns this number. After an error of its own,
 * returns -errno and writes one line to message; -ENODATA means that no process has stacks. */
int ws_for_stack_values(const struct ws_model *model, int (*take)(const struct ws_stack_values *values, void *user),
                        void *user, char *message, size_t capacity);

#endif
