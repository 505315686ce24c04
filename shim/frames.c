#include "frames.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* A handler's own stack may lie above the one that it interrupts. */
static bool on_other_signal_stack(uintptr_t at)
{
    stack_t stack;
    return !sigaltstack(NULL, &stack) && stack.ss_flags & SS_ONSTACK && at - (uintptr_t)stack.ss_sp >= stack.ss_size;
}

/* Read by the kernel: the stack may have been a coroutine's, and be gone. */
static bool word_is_there(uintptr_t at, uintptr_t word)
{
    uintptr_t found = 0;
    struct iovec own = { &found, sizeof(found) }, there = { (void *)at, sizeof(found) };
    long read = syscall(SYS_process_vm_readv, (long)getpid(), &own, 1L, &there, 1L, 0L);
    return read == (long)sizeof(found) ? found == word : errno != EFAULT;
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
