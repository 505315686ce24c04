/* Tasks: work that may take long, or that would change the state of the program's thread (such as its dlerror). A
 * thread of the shim does the task, while the program's thread waits for it until a deadline. There is only one task
 * at a time. */
#ifndef WALLSHIM_SHIM_COUNTERS_TASKS_H
#define WALLSHIM_SHIM_COUNTERS_TASKS_H

#include <stdbool.h>
#include <stdint.h>

struct shim_context;

enum task_outcome {
    TASK_DONE,
    TASK_FAILED,
    /* the task did not end by the deadline, or a capture began; the task goes on, but the caller no longer waits */
    TASK_LATE,
    TASK_WAS_BUSY /* an earlier task has not ended, so the new task was not begun */
};

/* Runs `run` in a new thread, in relaxed capture mode and with the context current. Waits until the task ends, until
 * the deadline, or, with stop_for_captures, until a capture begins. */
enum task_outcome task_do(bool (*run)(struct shim_context *), struct shim_context *context, int64_t deadline_ns,
                          bool stop_for_captures);

/* Waits until no task is at work in this context (NULL: in any context), or until the deadline. */
void task_let_end(const struct shim_context *context, int64_t deadline_ns);

#endif
