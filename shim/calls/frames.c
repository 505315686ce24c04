#include "shim/calls/frames.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A handler's own stack may lie above the one that it interrupts. */
static bool on_other_signal_stack(uintptr_t at)
{
    stack_t stack;
    return !sigaltstack(NULL, &stack) && stack.ss_flags & SS_ONSTACK && at - (uintptr_t)stack.ss_sp >= stack.ss_size;
}

/* The stack may have been a coroutine's, and be gone. The kernel copies the set of signals before it refuses the
 * unknown operation. Every sandbox and container permits this call. */
static bool is_readable(uintptr_t at)
{
    enum { NO_SUCH_WAY = -1 };
    syscall(SYS_rt_sigprocmask, (long)NO_SUCH_WAY, at, 0L, (long)sizeof(uint64_t));
    return errno == EINVAL;
}

/* Of a frame that is gone, what lies there is anybody's. */
__attribute__((no_sanitize("address", "thread"))) static bool word_is_there(uintptr_t at, uintptr_t word)
{
    return is_readable(at) && *(volatile const uintptr_t *)at == word;
}

bool frame_makes(struct shim_thread *thread, uintptr_t at, uintptr_t caller, const void *from)
{
    struct thread_nested *known = &thread->nested[((uintptr_t)from ^ caller >> 4) % NESTED_KNOWN];
    if (known->at == at && known->caller == caller && known->from == from)
        return true;
    int saved_errno = errno;
    bool makes = (caller <= at || on_other_signal_stack(at)) && word_is_there(at, (uintptr_t)thread);
    if (makes)
        *known = (struct thread_nested){ at, caller, from };
    else
        memset(thread->nested, 0, sizeof(thread->nested));
    errno = saved_errno;
    return makes;
}
