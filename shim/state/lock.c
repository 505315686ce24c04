#include "shim/state/lock.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "shim/state/futex.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

enum lock_word { LOCK_FREE, LOCK_HELD, LOCK_AWAITED };

enum {
#if defined(__aarch64__)
    PAGE_SIZE_AT_MOST = 65536,
#else
    PAGE_SIZE_AT_MOST = 4096,
#endif
    SHORT_WAIT_NS = 1000000,
};

/* The locks have a page of their own, which reads as zero in a forked child. So every lock is free in the child: a
 * thread that held the lock at the fork does not exist there. */
static struct {
    _Alignas(PAGE_SIZE_AT_MOST) struct {
        _Atomic uint32_t word; /* enum lock_word; a futex */
        /* 1: the last wait for the lock timed out, so the next waits last at most SHORT_WAIT_NS. */
        _Atomic uint32_t was_late;
        uint64_t signals; /* signal mask of the thread that holds the lock, from before it took the lock */
    } lock[LOCKS];
    _Atomic bool open;
    _Atomic uint64_t missed;
} locks;

/* Blocks all 64 signals by a direct system call. The C library's sigprocmask would leave out the signals with which
 * it cancels threads. */
static uint64_t block_signals(void)
{
    uint64_t all = UINT64_MAX, saved = 0;
    syscall(SYS_rt_sigprocmask, (long)SIG_SETMASK, &all, &saved, sizeof(saved));
    return saved;
}

static void restore_signals(uint64_t saved)
{
    syscall(SYS_rt_sigprocmask, (long)SIG_SETMASK, &saved, NULL, sizeof(saved));
}

static bool wait_for(enum shim_lock which)
{
    _Atomic uint32_t *word = &locks.lock[which].word;
    int64_t patience = atomic_load(&locks.lock[which].was_late) ? SHORT_WAIT_NS : (int64_t)LOCK_DEADLINE_MS * 1000000;
    int64_t deadline = ws_clock_ns() + patience;
    while (atomic_exchange_explicit(word, LOCK_AWAITED, memory_order_acquire) != LOCK_FREE) {
        int64_t left = deadline - ws_clock_ns();
        if (left <= 0)
            return false;
        futex_wait(word, LOCK_AWAITED, left);
    }
    return true;
}

bool lock_take(enum shim_lock which)
{
    if (which != LOCK_START && !atomic_load_explicit(&locks.open, memory_order_relaxed))
        return false;
    int saved_errno = errno;
    uint64_t signals = block_signals();
    uint32_t word = LOCK_FREE;
    bool taken = atomic_compare_exchange_strong_explicit(&locks.lock[which].word, &word, LOCK_HELD,
                                                         memory_order_acquire, memory_order_relaxed) ||
                 wait_for(which);
    if (taken) {
        locks.lock[which].signals = signals;
        atomic_store_explicit(&locks.lock[which].was_late, 0, memory_order_relaxed);
    } else {
        atomic_store(&locks.lock[which].was_late, 1);
        atomic_fetch_add(&locks.missed, 1);
        restore_signals(signals);
    }
    errno = saved_errno;
    return taken;
}

void lock_release(enum shim_lock which)
{
    int saved_errno = errno;
    uint64_t signals = locks.lock[which].signals;
    if (atomic_exchange_explicit(&locks.lock[which].word, LOCK_FREE, memory_order_release) == LOCK_AWAITED)
        futex_wake(&locks.lock[which].word);
    restore_signals(signals);
    errno = saved_errno;
}

void locks_open(void)
{
    atomic_store(&locks.open, true);
}

uint64_t locks_missed(void)
{
    return atomic_load(&locks.missed);
}

void locks_init(void)
{
    madvise(&locks, sizeof(locks), MADV_WIPEONFORK);
}

void locks_reset(void)
{
    memset(&locks, 0, sizeof(locks));
}

void quiet_begin(struct shim_quiet *quiet)
{
    int saved_errno = errno;
    quiet->signals = block_signals();
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &quiet->cancel_state);
    errno = saved_errno;
}

void quiet_end(const struct shim_quiet *quiet)
{
    int saved_errno = errno;
    pthread_setcancelstate(quiet->cancel_state, NULL);
    restore_signals(quiet->signals);
    errno = saved_errno;
}
