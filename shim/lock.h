/* Locks for what the program's threads share: held for moments, never while the driver, a library or the program is
 * called.
 *
 * Whoever holds one takes no signal: a handler may call CUDA, fork, exit or jump, and must never find its own thread
 * inside. Nobody waits for one longer than LOCK_DEADLINE_MS. In a forked child the lock of the start is free and the
 * others cannot be had: what they guard may have been half changed by a thread that is not there. */
#ifndef WALLSHIM_SHIM_LOCK_H
#define WALLSHIM_SHIM_LOCK_H

#include <stdbool.h>
#include <stdint.h>

enum shim_lock { LOCK_START, LOCK_REGISTRY, LOCK_MEMORY, LOCK_DESCRIPTORS, LOCKS };

enum { LOCK_DEADLINE_MS = 200 };

/* False: not had in time, and counted as WS_LOSS_LOCKS, or not open. Then the caller does as if there were no room
 * for what it has. */
__attribute__((warn_unused_result)) bool lock_take(enum shim_lock which);
void lock_release(enum shim_lock which);

/* How often a lock was not had in time. */
uint64_t locks_missed(void);

/* From now on all can be had, not that of the start alone. */
void locks_open(void);

/* Makes them so in forked children. Before any other thread is there. */
void locks_init(void);

/* In a forked child, where the kernel cannot do it. */
void locks_reset(void);

/* A stretch of our own work in a thread of the program's: no signal is taken, and no call is where the thread is
 * cancelled. */
struct shim_quiet {
    uint64_t signals;
    int cancel_state;
};
void quiet_begin(struct shim_quiet *quiet);
void quiet_end(const struct shim_quiet *quiet);

#endif
