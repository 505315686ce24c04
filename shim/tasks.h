/* What may take long, or would leave traces in the program's thread (dlerror), done by a thread of ours while the
 * program's waits, with a deadline. One at a time. */
#ifndef WALLSHIM_SHIM_TASKS_H
#define WALLSHIM_SHIM_TASKS_H

#include <stdbool.h>
#include <stdint.h>

struct shim_context;

enum task_outcome {
    TASK_DONE,
    TASK_FAILED,
    TASK_LATE,    /* it goes on by itself */
    TASK_WAS_BUSY /* with an earlier one, so that this one did not begin */
};

/* Does `run` in a thread that captures of others do not forbid anything, with the context current, and waits for it
 * until the deadline, or until somebody begins a capture where that is a reason to stop. */
enum task_outcome task_do(bool (*run)(struct shim_context *), struct shim_context *context, int64_t deadline_ns,
                          bool stop_for_captures);

/* Waits until nothing is at work in the context (NULL: in any), or the deadline. */
void task_let_end(const struct shim_context *context, int64_t deadline_ns);

#endif
