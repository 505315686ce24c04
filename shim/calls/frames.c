#include "shim/calls/frames.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Is the caller on an alternate signal stack that does not contain `at`? An alternate signal stack may be above the
 * interrupted stack, so the order of addresses does not show which of two calls is the inner call. */
static bool on_other_signal_stack(uintptr_t at)
{
    stack_t stack;
    return !sigaltstack(NULL, &stack) && stack.ss_flags & SS_ONSTACK && at - (uintptr_t)stack.ss_sp >= stack.ss_size;
}

/* Is there memory at this address? The address may be in a coroutine's stack that is unmapped by now. rt_sigprocmask
 * first reads a set of signals at the address, then refuses the unknown `how`. rt_sigprocmask fails with EINVAL if
 * the address is readable, else with EFAULT. Every sandbox and container permits this call. */
static bool is_readable(uintptr_t at)
{
    enum { NO_SUCH_WAY = -1 };
    syscall(SYS_rt_sigprocmask, (long)NO_SUCH_WAY, at, 0L, (long)sizeof(uint64_t));
    return errno == EINVAL;
}

/* Is the marker word still at this address? Sanitizers are off, because they would report the read: if the call was
 * left by longjmp, the memory of its stack frame may belong to any other function by now. */
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
