/* Tells which memory around the stack pointer can be read, so that reading a stack never causes a fault. Each page is
 * checked by a system call. */
#ifndef WALLSHIM_SHIM_STACKS_STACK_MEMORY_H
#define WALLSHIM_SHIM_STACKS_STACK_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/objects/caches.h"
#include "shim/stacks/unwind.h"

/* Can stack_memory find out on this system which pages are readable? It can only if pages have 4096 bytes. */
bool stack_memory_works(void);

/* Returns the readable memory of the stack from the stack pointer `sp` up. own: what is known about the thread's own
 * stack; this call updates it. Coroutines and signal handlers may run on other stacks. Of such another stack, only a
 * few pages are checked, and the results are not kept, because that stack may be unmapped later. */
struct unwind_memory stack_memory(struct own_stack *own, uintptr_t sp);

#endif
