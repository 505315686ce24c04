#include "shim/counters/tasks.h"

#include <stdatomic.h>
#include <stddef.h>

#include "base/clock.h"
#include "shim/hook/driver_calls.h"
#include "shim/objects/streams.h"
#include "shim/objects/thread.h"
#include "shim/state/futex.h"
#include "shim/state/phase.h"

enum { LOOK_NS = 5000000 }; /* ns between a waiting thread's checks for captures */

enum task_state { NONE, RUNS, DONE, FAILED, LEFT };

static struct {
    bool (*run)(struct shim_context *context);
    struct shim_context *context;
    _Atomic uint32_t state; /* enum task_state; a futex */
} task;

static void *task_main(void *unused)
{
    (void)unused;
    thread_self.ours = true;
    ws_CUenum mode = WS_CU_STREAM_CAPTURE_MODE_RELAXED;
    if (driver.exchange_capture_mode)
        driver.exchange_capture_mode(&mode);
    bool done = driver.context_set(task.context->handle) == WS_CUDA_SUCCESS && task.run(task.context);
    driver.context_set(NULL);
    uint32_t runs = RUNS;
    if (!atomic_compare_exchange_strong(&task.state, &runs, done ? DONE : FAILED))
        atomic_store(&task.state, NONE); /* the state was LEFT: no thread waits for this task any more */
    futex_wake_all(&task.state);
    return NULL;
}

enum task_outcome task_do(bool (*run)(struct shim_context *), struct shim_context *context, int64_t deadline_ns,
                          bool stop_for_captures)
{
    uint32_t state = NONE;
    if (!atomic_compare_exchange_strong(&task.state, &state, RUNS))
        return TASK_WAS_BUSY;
    task.run = run;
    task.context = context;
    if (thread_start(task_main)) {
        atomic_store(&task.state, NONE);
        return TASK_FAILED;
    }
    int64_t deadline = ws_clock_ns() + deadline_ns, now;
    while ((state = atomic_load(&task.state)) == RUNS && (now = ws_clock_ns()) < deadline &&
           !(stop_for_captures && shim_captures()))
        futex_wait(&task.state, RUNS, deadline - now < LOOK_NS ? deadline - now : LOOK_NS);
    if (state == RUNS && atomic_compare_exchange_strong(&task.state, &state, LEFT))
        return TASK_LATE;
    atomic_store(&task.state, NONE);
    return state == DONE ? TASK_DONE : TASK_FAILED;
}

void task_let_end(const struct shim_context *context, int64_t deadline_ns)
{
    int64_t deadline = ws_clock_ns() + deadline_ns, now;
    uint32_t state;
    while ((state = atomic_load(&task.state)) != NONE && (!context || task.context == context) &&
           (now = ws_clock_ns()) < deadline)
        futex_wait(&task.state, state, deadline - now);
}
