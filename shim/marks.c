#include "marks.h"

#include <errno.h>

#include "base/reserve.h"
#include "driver_calls.h"

enum { LAST_MARKS = 192 };

int mark_pool_init(struct mark_pool *pool, uint32_t limit)
{
    void *memory = ws_reserve((size_t)limit * sizeof(struct mark));
    *pool = (struct mark_pool){ .limit = limit };
    if (!memory)
        return -ENOMEM;
    pool->marks = memory;
    return 0;
}

/* The count in the upper half changes at every push and pop, so that a mark taken and put back by
 * others in between is not mistaken for one that never moved. */
static void push_free(struct mark_pool *pool, uint32_t mark)
{
    uint64_t top = atomic_load_explicit(&pool->free_top, memory_order_relaxed);
    uint64_t changed;
    do {
        atomic_store_explicit(&mark_at(pool, mark)->next, (uint32_t)top, memory_order_relaxed);
        changed = ((top >> 32) + 1) << 32 | mark;
    } while (!atomic_compare_exchange_weak_explicit(&pool->free_top, &top, changed, memory_order_release,
                                                    memory_order_relaxed));
    atomic_fetch_add_explicit(&pool->free_count, 1, memory_order_relaxed);
}

static ws_CUresult make_marks(struct mark_pool *pool, uint32_t count)
{
    while (count-- && pool->made < pool->limit) {
        struct mark *mark = &pool->marks[pool->made];
        ws_CUresult result = driver.event_create ? driver.event_create(&mark->event, WS_CU_EVENT_DEFAULT)
                                                 : WS_CUDA_ERROR_NOT_SUPPORTED;
        if (result != WS_CUDA_SUCCESS)
            return result;
        push_free(pool, ++pool->made);
    }
    return WS_CUDA_SUCCESS;
}

/* Half of the pool while it can grow, for in the time that the drain takes to come the rest is used up. At its limit
 * there is nothing to make, and marks come back at the drain's own rounds: only the last ones are worth a call. */
static void set_few(struct mark_pool *pool)
{
    uint32_t few = pool->made < pool->limit      ? pool->made / 2
                   : pool->made / 8 < LAST_MARKS ? pool->made / 8
                                                 : LAST_MARKS;
    atomic_store_explicit(&pool->few, few, memory_order_relaxed);
}

ws_CUresult mark_pool_grow(struct mark_pool *pool, uint32_t count)
{
    ws_CUresult result = make_marks(pool, count);
    set_few(pool);
    return result;
}

bool mark_pool_is_to_grow(const struct mark_pool *pool, uint32_t early)
{
    return pool->made < pool->limit &&
           (pool->made < early || atomic_load_explicit(&pool->free_count, memory_order_relaxed) < pool->made / 2);
}

void mark_pool_keep(struct mark_pool *pool, uint32_t early)
{
    uint32_t count = pool->made < early ? early - pool->made : pool->made;
    if (mark_pool_is_to_grow(pool, early) && mark_pool_grow(pool, count) != WS_CUDA_SUCCESS) {
        pool->limit = pool->made; /* not asked for again and again */
        set_few(pool);
    }
}

uint32_t mark_take(struct mark_pool *pool, uint8_t users, uint32_t *kept)
{
    uint64_t top = atomic_load_explicit(&pool->free_top, memory_order_acquire);
    uint64_t changed;
    do {
        if (!(uint32_t)top)
            return 0;
        uint32_t next = atomic_load_explicit(&mark_at(pool, (uint32_t)top)->next, memory_order_relaxed);
        changed = ((top >> 32) + 1) << 32 | next;
    } while (!atomic_compare_exchange_weak_explicit(&pool->free_top, &top, changed, memory_order_acquire,
                                                    memory_order_acquire));
    *kept = (uint32_t)top;
    atomic_signal_fence(memory_order_seq_cst);
    atomic_fetch_sub_explicit(&pool->free_count, 1, memory_order_relaxed);
    struct mark *mark = mark_at(pool, (uint32_t)top);
    mark->state = MARK_UNREAD;
    atomic_store_explicit(&mark->users, users, memory_order_relaxed);
    return (uint32_t)top;
}

void mark_release(struct mark_pool *pool, uint32_t mark)
{
    if (mark && atomic_fetch_sub_explicit(&mark_at(pool, mark)->users, 1, memory_order_acq_rel) == 1)
        push_free(pool, mark);
}
