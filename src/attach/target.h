/* A process into which the shim is to be loaded, and what `wallshim attach` finds in the process before it stops a
 * thread: the functions of the C library, the code that a stopped thread must not be in, and what an earlier attach
 * left in the process. */
#ifndef WALLSHIM_ATTACH_TARGET_H
#define WALLSHIM_ATTACH_TARGET_H

#include <stddef.h>
#include <stdint.h>

#include "attach/inject.h"
#include "attach/memory.h"
#include "attach/safe.h"
#include "wire/late.h"

struct ws_target {
    struct ws_injection *injection;
    int pid;
    int memory; /* descriptor of /proc/PID/mem, from ws_memory_open */
    struct ws_mappings mappings;
    struct ws_remote_library libc;
    struct ws_unsafe_code unsafe;
    uint64_t page;              /* address of the page of code in the process; 0: there is none yet */
    struct ws_late_block block; /* our copy of the block (wire/late.h) that is in the process */
};

/* Fills the fields from `mappings` on, and waits until an earlier attach is over. Returns 0 or -errno, with the
 * reason in injection->why. */
int ws_target_look(struct ws_target *target);

/* Writes a text to injection->why. */
void __attribute__((format(printf, 2, 3))) ws_target_say(struct ws_target *target, const char *format, ...);

/* Returns the address of the block in the process: directly after the page of code. */
static inline uint64_t ws_target_block(const struct ws_target *target)
{
    return target->page + WS_LATE_PAGE;
}

#endif
