/* Futexes that are private to this process. With a futex, a thread waits until a 32-bit word in memory changes. */
#ifndef WALLSHIM_SHIM_STATE_FUTEX_H
#define WALLSHIM_SHIM_STATE_FUTEX_H

#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Waits while *word is `value`, for `ns` ns at most. The system call may also return earlier, while *word is still
 * `value`. */
static inline void futex_wait(_Atomic uint32_t *word, uint32_t value, int64_t ns)
{
    struct timespec timeout = { ns / 1000000000, ns % 1000000000 };
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, &timeout, NULL, 0);
}

static inline void futex_wait_forever(_Atomic uint32_t *word, uint32_t value)
{
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static inline void futex_wake(_Atomic uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static inline void futex_wake_all(_Atomic uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

#endif
