#include "shim/state/wake.h"

#include "base/clock.h"
#include "shim/state/futex.h"

enum { WAKE_NOT, WAKE_SOON, WAKE_NOW };
static _Atomic uint32_t wake; /* a futex; the enum above: how soon the drain is to wake */

void wake_drain_soon(void)
{
    uint32_t asleep = WAKE_NOT;
    if (!atomic_load(&wake) && atomic_compare_exchange_strong(&wake, &asleep, WAKE_SOON))
        futex_wake(&wake);
}

void wake_drain_now(void)
{
    if (atomic_exchange(&wake, WAKE_NOW) != WAKE_NOW)
        futex_wake(&wake);
}

int64_t wake_wait(int64_t next)
{
    int64_t now = ws_clock_ns();
    while (atomic_load(&wake) == WAKE_NOT && now < next) {
        futex_wait(&wake, WAKE_NOT, next - now);
        now = ws_clock_ns();
    }
    return atomic_load(&wake) != WAKE_NOT ? now : 0;
}

/* While few CUDA events are free, every operation that takes an event calls wake_drain_soon. So that the drain does
 * not run all the time, it sleeps until `soonest` after it was woken. Only wake_drain_now ends this sleep. */
void wake_wait_gap(int64_t soonest)
{
    int64_t now = ws_clock_ns();
    while (atomic_load(&wake) == WAKE_SOON && now < soonest) {
        futex_wait(&wake, WAKE_SOON, soonest - now);
        now = ws_clock_ns();
    }
    atomic_store(&wake, WAKE_NOT);
}
