/* The legacy default stream and the blocking streams of a context wait for each other implicitly. The legacy stream
 * is one "side" of the context, its blocking streams are the other side. Before an operation goes into a stream, the
 * launching thread checks whether the other side has had work since the last such check for this stream. If so, the
 * operation may have to wait for this work.
 *
 * Launches on many cores may make this check at the same time, so it should seldom write to the shared counters. Of
 * all work of one side between two checks for streams of the other side, only the first operation is counted. So most
 * launches only read the counters. */
#ifndef WALLSHIM_SHIM_OBJECTS_LEGACY_ORDER_H
#define WALLSHIM_SHIM_OBJECTS_LEGACY_ORDER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { LEGACY_COUNTED = 1, LEGACY_ONE = 2 };

struct legacy_order {
    /* For the blocking streams [0] and the legacy stream [1]: how often work was counted, multiplied by LEGACY_ONE.
     * The bit LEGACY_COUNTED is set if work was counted since the other side's last check. 0: the side never had
     * work. */
    _Atomic uint32_t work[2];
};

static inline void legacy_order_count(_Atomic uint32_t *work)
{
    uint32_t before = atomic_load_explicit(work, memory_order_relaxed);
    while (!(before & LEGACY_COUNTED) &&
           !atomic_compare_exchange_weak(work, &before, (before + LEGACY_ONE) | LEGACY_COUNTED))
        ;
}

/* Called before an operation goes into a stream of one side (is_legacy: the legacy stream). Returns whether the other
 * side may have had work since the stream's last operation. seen: the other side's `work` when this function was last
 * called for the stream; 0 at first. */
static inline bool legacy_order_moved(struct legacy_order *order, bool is_legacy, _Atomic uint32_t *seen)
{
    _Atomic uint32_t *other = &order->work[!is_legacy];
    legacy_order_count(&order->work[is_legacy]);
    uint32_t work = atomic_load_explicit(other, memory_order_relaxed);
    if (work & LEGACY_COUNTED)
        work = atomic_fetch_and(other, ~(uint32_t)LEGACY_COUNTED) & ~(uint32_t)LEGACY_COUNTED;
    if (atomic_load_explicit(seen, memory_order_relaxed) == work)
        return false;
    atomic_store_explicit(seen, work, memory_order_relaxed);
    return true;
}

/* Have both sides ever had work? */
static inline bool legacy_order_matters(const struct legacy_order *order)
{
    return atomic_load_explicit(&order->work[0], memory_order_relaxed) &&
           atomic_load_explicit(&order->work[1], memory_order_relaxed);
}

#endif
