#include "shim/drain/leave.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shim/counters/counters.h"
#include "shim/drain/drain.h"
#include "shim/hook/resolve.h"
#include "shim/state/live.h"
#include "shim/state/phase.h"

#define EXPORTED __attribute__((visibility("default"), noreturn))

/* --- exit --------------------------------------------------------------------------------------- */

/* Exit handlers run in the reverse of the order in which they were set. The driver sets its handler in cuInit or with
 * the first context. Our handler is set after cuInit and again after the first context, so it runs before the
 * driver's. */
static void at_exit(void)
{
    static _Atomic bool has_run;
    if (!(shim_phase() & SHIM_STARTED) || shim_phase() & SHIM_ENDED || atomic_exchange(&has_run, true))
        return;
    counters_end(NULL);
    drain_before_driver_exit();
    atomic_fetch_or(&shim_page.phase, SHIM_NO_MORE_TIMES);
    atomic_fetch_and(&shim_page.phase, ~(uint32_t)(SHIM_TIMING | SHIM_COUNTING));
}

static void set_exit_handler(_Atomic bool *is_set)
{
    if (!atomic_exchange(is_set, true) && atexit(at_exit))
        atomic_store(is_set, false);
}

void leave_initialised(void)
{
    static _Atomic bool is_set;
    set_exit_handler(&is_set);
}

void leave_has_context(void)
{
    static _Atomic bool is_set;
    set_exit_handler(&is_set);
}

/* --- ends without handlers ---------------------------------------------------------------------- */

typedef void end_function(int status);
static end_function *real_exit, *real_Exit;

void leave_prepare(void)
{
    real_exit = (end_function *)resolve_next("_exit");
    real_Exit = (end_function *)resolve_next("_Exit");
}

/* Writes the end of the trace, when the process ends without exit(). If several threads call this, each of them waits
 * until the drain (the shim's own thread) has ended the trace. A child made by vfork shares its parent's memory, so
 * leave() does nothing in such a child: getpid() differs from the recorded pid. */
static void leave(void)
{
    if (!shim_started() || shim_page.pid != getpid())
        return;
    shim_ends();
    live_left();
    drain_leave();
}

static void leave_quickly(void)
{
    leave();
}

void leave_init(void)
{
    at_quick_exit(leave_quickly);
}

/* Ends the trace, and then the process by the real _exit or _Exit. If the real function was not found, the system
 * call exit_group ends the process. */
static __attribute__((noreturn)) void leave_by(end_function *real, int status)
{
    leave();
    if (real)
        real(status);
    for (;;)
        syscall(SYS_exit_group, status);
}

EXPORTED void _exit(int status)
{
    leave_by(real_exit, status);
}

EXPORTED void _Exit(int status)
{
    leave_by(real_Exit, status);
}
