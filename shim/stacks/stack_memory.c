#include "shim/stacks/stack_memory.h"

#include <errno.h>
#include <stddef.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    PAGE = 4096,
    /* Most pages of the thread's own stack that one call of is_own checks; the next call goes on with further pages.
     */
    PAGES_AT_ONCE = 256,
    /* Most pages that are checked while another stack (of a coroutine or signal handler) is read. */
    PAGES_OF_OTHERS = 32,
    /* a stack pointer farther than this from the end of the thread's own stack is on another stack */
    LARGEST_STACK = 64 << 20,
};

static uintptr_t page_of(uintptr_t address)
{
    return address & ~(uintptr_t)(PAGE - 1);
}

/* Can the address be read? Passes it as a signal mask to a system call, with the invalid operation ~0. The kernel
 * first reads the mask, and fails with EFAULT if the mask cannot be read. Otherwise the kernel refuses the invalid
 * operation with EINVAL. Unlike process_vm_readv, this call is allowed everywhere. */
static bool is_readable(uintptr_t address)
{
    return syscall(SYS_rt_sigprocmask, ~0, address, NULL, sizeof(uint64_t)) == -1 && errno == EINVAL;
}

bool stack_memory_works(void)
{
    uint64_t word = 0;
    return sysconf(_SC_PAGESIZE) == PAGE && is_readable((uintptr_t)&word) && !is_readable(PAGE);
}

/* Returns an address at the end of the thread's own stack. At the end of each stack but the first thread's, glibc
 * puts the thread's control block. At the end of the first thread's stack, the kernel puts random bytes (AT_RANDOM).
 */
static uintptr_t end_of_own(void)
{
    bool is_first = syscall(SYS_gettid) == getpid();
    uintptr_t end = is_first ? getauxval(AT_RANDOM) : (uintptr_t)__builtin_thread_pointer();
    return end & ~(uintptr_t)7;
}

/* Is the stack pointer on the thread's own stack? If it is, all pages from the stack pointer to the stack's end are
 * readable. Between any other stack and that end, there is memory that is not readable. */
static bool is_own(struct own_stack *own, uintptr_t sp)
{
    if (!own->high) {
        own->high = end_of_own();
        own->low = page_of(own->high);
    }
    if (sp >= own->high || own->high - sp > LARGEST_STACK)
        return false;
    for (unsigned i = 0; i < PAGES_AT_ONCE && own->low > sp && !own->is_whole; i++) {
        if (is_readable(own->low - PAGE))
            own->low -= PAGE;
        else
            own->is_whole = true;
    }
    return sp >= own->low;
}

static bool more(struct unwind_memory *memory, uintptr_t address)
{
    while (memory->high <= address && memory->pages_left && is_readable(memory->high)) {
        memory->high += PAGE;
        memory->pages_left--;
    }
    return memory->high > address;
}

struct unwind_memory stack_memory(struct own_stack *own, uintptr_t sp)
{
    if (is_own(own, sp))
        return (struct unwind_memory){ .low = sp, .high = own->high };
    return (struct unwind_memory){ .low = sp, .high = page_of(sp), .more = more, .pages_left = PAGES_OF_OTHERS };
}
