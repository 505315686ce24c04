#include "leave.h"

#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "drain.h"
#include "resolve.h"
#include "shim.h"

#define EXPORTED __attribute__((visibility("default"), noreturn))

/* A child made by vfork ends with the parent's memory still its own. */
static void leave(void)
{
    if (shim_started() && shim_page.pid == getpid() && !shim_ends())
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

static __attribute__((noreturn)) void leave_by(const char *symbol, int status)
{
    leave();
    void (*real)(int) = (void (*)(int))resolve_next(symbol);
    if (real)
        real(status);
    for (;;)
        syscall(SYS_exit_group, status);
}

EXPORTED void _exit(int status)
{
    leave_by("_exit", status);
}

EXPORTED void _Exit(int status)
{
    leave_by("_Exit", status);
}
