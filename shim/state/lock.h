/* Locks for what the program's threads share. They are held for moments, never while the driver, a library or the
 * program is called.
 *
 * All signals are blocked in a thread that holds a lock. A signal handler may call CUDA, fork, exit or leave by
 * longjmp, and must never interrupt its own thread while that holds a lock. No thread waits for a lock longer than
 * LOCK_DEADLINE_MS. In a forked child only LOCK_START can be taken: what the other locks guard may be half changed,
 * by a thread that the child does not have. */
#ifndef WALLSHIM_SHIM_STATE_LOCK_H
#define WALLSHIM_SHIM_STATE_LOCK_H

#include <stdbool.h>
#include <stdint.h>

enum shim_lock { LOCK_START, LOCK_REGISTRY, LOCK_MEMORY, LOCK_DESCRIPTORS, LOCKS };

enum { LOCK_DEADLINE_MS = 200 };

/* False: the lock was not free in time (counted as WS_LOSS_LOCKS), or locks_open was not called. Then the caller goes
 * on as if a table were full. */
__attribute__((warn_unused_result)) bool lock_take(enum shim_lock which);
void lock_release(enum shim_lock which);

/* How often a lock was not free in time. */
uint64_t locks_missed(void);

/* From now on all locks can be taken, not only LOCK_START. */
void locks_open(void);

/* Asks the kernel to zero the locks in forked children. Called before there is any other thread. */
void locks_init(void);

/* Zeroes the locks in a forked child, for kernels that cannot. */
void locks_reset(void);

/* Around work of our own in a thread of the program: signals are blocked, and pthread_cancel waits until the end. */
struct shim_quiet {
    uint64_t signals;
    int cancel_state;
};
void quiet_begin(struct shim_quiet *quiet);
void quiet_end(const struct shim_quiet *quiet);

#endif
