#include "leave.h"

#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "drain.h"
#include "resolve.h"
#include "shim.h"

#define EXPORTED __attribute__((visibility("default"), noreturn))

typedef void end_function(int status);
static end_function *real_exit, *real_Exit;

void leave_prepare(void)
{
    real_exit = (end_function *)resolve_next("_exit");
    real_Exit = (end_function *)resolve_next("_Exit");
}

/* Where another thread is at it, this one waits for the same end. A child made by vfork ends with the parent's memory
 * still its own. */
static void leave(void)
{
    if (!shim_started() || shim_page.pid != getpid())
        return;
    shim_ends();
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

/* Before we were loaded, and where there is none, the kernel ends the process. */
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
