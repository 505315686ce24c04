/* Locks for what the program's threads share. They are held for moments, never while the driver, a library or the
 * program is called.
 *
 * Whoever holds a lock takes no signal: a handler may call CUDA, fork, exit or jump, and must never find its own
 * thread inside. Nobody waits for a lock longer than LOCK_DEADLINE_MS. In a forked child only the lock of the start
 * can be taken: a thread that the child does not have may have changed half of what the others guard. */
#ifndef WALLSHIM_SHIM_STATE_LOCK_H
#define WALLSHIM_SHIM_STATE_LOCK_H

#include <stdbool.h>
#include <stdint.h>

enum shim_lock { LOCK_START, LOCK_REGISTRY, LOCK_MEMORY, LOCK_DESCRIPTORS, LOCKS };

enum { LOCK_DEADLINE_MS = 200 };

/* False: the lock was not free in time, which is counted as WS_LOSS_LOCKS, or locks are not open. Then the caller
 * goes on as if there were no room for what it has. */
__attribute__((warn_unused_result)) bool lock_take(enum shim_lock which);
void lock_release(enum shim_lock which);

/* How often a lock was not free in time. */
uint64_t locks_missed(void);

/* From now on all locks can be taken, not only that of the start. */
void locks_open(void);

/* Has the locks wiped in forked children. Before any other thread is there. */
void locks_init(void);

/* In a forked child, where the kernel cannot do it. */
void locks_reset(void);

/* Own work in a thread of the program: no signal is taken, and no call in it is a cancellation point. */
struct shim_quiet {
    uint64_t signals;
    int cancel_state;
};
void quiet_begin(struct shim_quiet *quiet);
void quiet_end(const struct shim_quiet *quiet);

#endif
