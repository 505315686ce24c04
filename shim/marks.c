#include "marks.h"

#include <errno.h>

#include "base/reserve.h"
#include "driver_calls.h"

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

ws_CUresult mark_pool_grow(struct mark_pool *pool, uint32_t count)
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

uint32_t mark_take(struct mark_pool *pool, uint8_t users)
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
