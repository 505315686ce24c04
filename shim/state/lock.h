/* Locks for the shim's state that the program's threads share. They are never held while the driver, a library or the
 * program is called. They are held only for moments, with one exception: the thread that starts the recording holds
 * LOCK_START until the shim's own threads are ready, which may take half a second on a busy machine.
 *
 * All signals are blocked in a thread that holds a lock. The reason: a signal handler may call CUDA, fork, exit or
 * leave by longjmp. So no handler may interrupt a thread that holds a lock. No thread waits for a lock longer than
 * LOCK_DEADLINE_MS. In a forked child of a recording process, only LOCK_START can be taken. The data that the other
 * locks guard may be half changed, because the thread that was changing it does not exist in the child. */
#ifndef WALLSHIM_SHIM_STATE_LOCK_H
#define WALLSHIM_SHIM_STATE_LOCK_H

#include <stdbool.h>
#include <stdint.h>

enum shim_lock { LOCK_START, LOCK_REGISTRY, LOCK_MEMORY, LOCK_DESCRIPTORS, LOCKS };

enum { LOCK_DEADLINE_MS = 200 };

/* lock_take returns false if the lock was not free in time, or if locks_open was not called. In this case the caller
 * neither reads nor changes the data that the lock guards, and goes on as if there were no room for new data. The
 * trace reports the number of time-outs as losses (WS_LOSS_LOCKS). */
__attribute__((warn_unused_result)) bool lock_take(enum shim_lock which);
void lock_release(enum shim_lock which);

/* How often any lock was not free in time. */
uint64_t locks_missed(void);

/* Allows all locks to be taken. Before this call, only LOCK_START can be taken. */
void locks_open(void);

/* Asks the kernel to zero the locks in forked children. */
void locks_init(void);

/* Zeroes the locks. Called in a forked child, because kernels before Linux 4.14 do not zero them there. */
void locks_reset(void);

/* quiet_begin is called before the shim's own work in a thread of the program, and quiet_end after it. In between,
 * signals are blocked, and pthread_cancel has no effect. */
struct shim_quiet {
    uint64_t signals;
    int cancel_state;
};
void quiet_begin(struct shim_quiet *quiet);
void quiet_end(const struct shim_quiet *quiet);

#endif
