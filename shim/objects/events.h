/* The CUDA events that time operations, pooled per context.
 *
 * An event is named by its index plus one in its context's pool. The application's threads take events
 * from a lock-free stack and record them; the drain thread reads their times and puts them back. An
 * event is used twice where it ends one operation and begins the next, so it counts its users. */
#ifndef WALLSHIM_SHIM_OBJECTS_EVENTS_H
#define WALLSHIM_SHIM_OBJECTS_EVENTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "abi/cuda.h"

enum event_state { EVENT_UNREAD, EVENT_READ, EVENT_FAILED };

struct pool_event {
    ws_CUevent handle;
    int64_t time;   /* context's clock, ns; once read */
    uint32_t error; /* of time, from the arithmetic alone, ns */
    uint8_t state;  /* enum event_state; the drain's */
    _Atomic uint8_t users;
    _Atomic uint32_t next; /* in the stack of free events */
};

struct event_pool {
    struct pool_event *events;
    uint32_t limit;            /* events this context may hold */
    uint32_t made;             /* events it does hold; grown by one thread at a time */
    _Atomic uint64_t free_top; /* change count << 32 | event */
    _Atomic uint32_t free_count;
    _Atomic uint32_t few; /* free ones, below which the drain is to make or bring back more */
};

/* Reserves room for `limit` events and makes none. Returns 0 or -ENOMEM. */
int event_pool_init(struct event_pool *pool, uint32_t limit);

/* Makes up to count more events in the current context. Returns what the driver says when it refuses one. */
ws_CUresult event_pool_grow(struct event_pool *pool, uint32_t count);

/* Doubles the pool where fewer than half of its events are free. Up to `early` it makes events in advance. The
 * context must be current where event_pool_is_to_grow says so. */
bool event_pool_is_to_grow(const struct event_pool *pool, uint32_t early);
void event_pool_keep(struct event_pool *pool, uint32_t early);

/* A free event with so many users; 0: the pool is empty. It is in *kept as soon as it is taken: a signal handler may
 * jump at any time. */
uint32_t event_take(struct event_pool *pool, uint8_t users, uint32_t *kept);

/* One user less; the last one gives the event back. 0 is ignored. */
void event_release(struct event_pool *pool, uint32_t event);

static inline struct pool_event *event_at(const struct event_pool *pool, uint32_t event)
{
    return &pool->events[event - 1];
}

#endif
