#include "shim/objects/events.h"

#include <errno.h>

#include "base/minmax.h"
#include "base/reserve.h"
#include "shim/hook/driver_calls.h"

enum {
    LAST_EVENTS = 192,
    /* most events made at once: the drain thread must also have time to free events that are read */
    MOST_AT_ONCE = 512,
};

int event_pool_init(struct event_pool *pool, uint32_t limit)
{
    void *memory = ws_reserve((size_t)limit * sizeof(struct pool_event));
    *pool = (struct event_pool){ .limit = limit };
    if (!memory)
        return -ENOMEM;
    pool->events = memory;
    return 0;
}

void event_pool_empty(struct event_pool *pool)
{
    pool->made = 0;
    atomic_store(&pool->free_top, 0);
    atomic_store(&pool->free_count, 0);
    atomic_store(&pool->few, 0);
}

/* The upper half of free_top counts all pushes and pops. If other threads pop the top event and push it again during
 * this call, the changed count makes the compare-and-swap fail. Without the count, the compare-and-swap would wrongly
 * succeed (the ABA problem). */
static void push_free(struct event_pool *pool, uint32_t event)
{
    uint64_t top = atomic_load_explicit(&pool->free_top, memory_order_relaxed);
    uint64_t changed;
    do {
        atomic_store_explicit(&event_at(pool, event)->next, (uint32_t)top, memory_order_relaxed);
        changed = ((top >> 32) + 1) << 32 | event;
    } while (!atomic_compare_exchange_weak_explicit(&pool->free_top, &top, changed, memory_order_release,
                                                    memory_order_relaxed));
    atomic_fetch_add_explicit(&pool->free_count, 1, memory_order_relaxed);
}

static ws_CUresult make_events(struct event_pool *pool, uint32_t count)
{
    while (count-- && pool->made < pool->limit) {
        struct pool_event *event = &pool->events[pool->made];
        ws_CUresult result = driver.event_create ? driver.event_create(&event->handle, WS_CU_EVENT_DEFAULT)
                                                 : WS_CUDA_ERROR_NOT_SUPPORTED;
        if (result != WS_CUDA_SUCCESS)
            return result;
        push_free(pool, ++pool->made);
    }
    return WS_CUDA_SUCCESS;
}

/* Sets pool->few: if fewer events than this are free, threads wake the drain thread. While the pool can grow, `few`
 * is half of the pool's events: the threads can use up that half while the drain thread makes more. For a pool at its
 * limit, `few` is smaller, because the drain thread's regular rounds free events. */
static void set_few(struct event_pool *pool)
{
    uint32_t few = pool->made < pool->limit       ? pool->made / 2
                   : pool->made / 8 < LAST_EVENTS ? pool->made / 8
                                                  : LAST_EVENTS;
    atomic_store_explicit(&pool->few, few, memory_order_relaxed);
}

ws_CUresult event_pool_grow(struct event_pool *pool, uint32_t count)
{
    ws_CUresult result = make_events(pool, count);
    set_few(pool);
    return result;
}

bool event_pool_is_to_grow(const struct event_pool *pool, uint32_t early)
{
    return pool->made < pool->limit &&
           (pool->made < early || atomic_load_explicit(&pool->free_count, memory_order_relaxed) < pool->made / 2);
}

void event_pool_keep(struct event_pool *pool, uint32_t early, uint32_t at_once)
{
    uint32_t count = pool->made < early ? ws_min(early - pool->made, at_once) : pool->made;
    if (atomic_load_explicit(&pool->free_count, memory_order_relaxed) < pool->made / 2)
        count = ws_min(pool->made, MOST_AT_ONCE); /* launches need free events now */
    if (event_pool_is_to_grow(pool, early) && event_pool_grow(pool, count) != WS_CUDA_SUCCESS) {
        pool->limit = pool->made; /* the driver refused to make an event: the shim asks it for no more events */
        set_few(pool);
    }
}

uint32_t event_take(struct event_pool *pool, uint8_t users, uint32_t *kept)
{
    uint64_t top = atomic_load_explicit(&pool->free_top, memory_order_acquire);
    uint64_t changed;
    do {
        if (!(uint32_t)top)
            return 0;
        uint32_t next = atomic_load_explicit(&event_at(pool, (uint32_t)top)->next, memory_order_relaxed);
        changed = ((top >> 32) + 1) << 32 | next;
    } while (!atomic_compare_exchange_weak_explicit(&pool->free_top, &top, changed, memory_order_acquire,
                                                    memory_order_acquire));
    *kept = (uint32_t)top;
    atomic_signal_fence(memory_order_seq_cst);
    atomic_fetch_sub_explicit(&pool->free_count, 1, memory_order_relaxed);
    struct pool_event *event = event_at(pool, (uint32_t)top);
    event->state = EVENT_UNREAD;
    atomic_store_explicit(&event->users, users, memory_order_relaxed);
    return (uint32_t)top;
}

void event_release(struct event_pool *pool, uint32_t event)
{
    if (event && atomic_fetch_sub_explicit(&event_at(pool, event)->users, 1, memory_order_acq_rel) == 1)
        push_free(pool, event);
}
