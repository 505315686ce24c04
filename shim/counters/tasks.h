/* Work that may take long, or would leave traces in the program's thread (dlerror). A thread of ours does it while
 * the program's thread waits, with a deadline. One at a time. */
#ifndef WALLSHIM_SHIM_COUNTERS_TASKS_H
#define WALLSHIM_SHIM_COUNTERS_TASKS_H

#include <stdbool.h>
#include <stdint.h>

struct shim_context;

enum task_outcome {
    TASK_DONE,
    TASK_FAILED,
    TASK_LATE,    /* it goes on by itself */
    TASK_WAS_BUSY /* with an earlier one, so that this one did not begin */
};

/* Runs `run` in a thread that other threads' captures do not restrict, with the context current. Waits until it ends,
 * until the deadline, or, with stop_for_captures, until a capture begins. */
enum task_outcome task_do(bool (*run)(struct shim_context *), struct shim_context *context, int64_t deadline_ns,
                          bool stop_for_captures);

/* Waits until nothing is at work in the context (NULL: in any), or the deadline. */
void task_let_end(const struct shim_context *context, int64_t deadline_ns);

#endif
