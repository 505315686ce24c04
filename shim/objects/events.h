/* The CUDA events that time operations. Each context has a pool of events.
 *
 * An event's number is its index in its context's pool, plus one. The application's threads take events from a
 * lock-free stack and record them. The drain thread reads the times of the events and puts the events back. One event
 * may mark the end of an operation and the begin of the next, so each event counts its users. */
#ifndef WALLSHIM_SHIM_OBJECTS_EVENTS_H
#define WALLSHIM_SHIM_OBJECTS_EVENTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "abi/cuda.h"

enum event_state { EVENT_UNREAD, EVENT_READ, EVENT_FAILED };

struct pool_event {
    ws_CUevent handle;
    int64_t time; /* the event's time, ns on the context's clock; valid once the drain thread has read it */
    /* bound of the error of `time` that comes from the resolution of events and from rounding, ns */
    uint32_t error;
    uint8_t state;         /* enum event_state; used only by the drain thread */
    _Atomic uint8_t users; /* how many operations and streams still use the event */
    _Atomic uint32_t next; /* number of the next event in the stack of free events; 0: none */
};

struct event_pool {
    struct pool_event *events;
    uint32_t limit; /* the largest number of events that the pool may have */
    uint32_t made;  /* number of events in the pool now; only one thread at a time makes more */
    /* the stack of free events: count of pushes and pops << 32 | number of the top event */
    _Atomic uint64_t free_top;
    _Atomic uint32_t free_count;
    _Atomic uint32_t few; /* if fewer events are free, a thread wakes the drain thread, which makes or frees some */
};

/* Reserves memory for `limit` events, but makes no event. Returns 0 or -ENOMEM. */
int event_pool_init(struct event_pool *pool, uint32_t limit);

/* Forgets all events of the pool, without destroying them. No thread may use the pool during this call. */
void event_pool_empty(struct event_pool *pool);

/* Makes up to `count` more events in the current context. Returns success, or the error with which the driver refused
 * an event. */
ws_CUresult event_pool_grow(struct event_pool *pool, uint32_t count);

/* event_pool_is_to_grow: is the pool to get more events? If so, event_pool_keep makes them; the pool's context must
 * then be current. A pool gets `early` events in advance, up to `at_once` at each call. Whenever fewer than half of
 * its events are free, its number of events doubles, but grows by at most MOST_AT_ONCE (events.c) at each call. */
bool event_pool_is_to_grow(const struct event_pool *pool, uint32_t early);
void event_pool_keep(struct event_pool *pool, uint32_t early, uint32_t at_once);

/* Takes a free event and sets its number of users. Returns 0 if the pool is empty. Stores the event in *kept as soon
 * as it is taken: a signal handler may leave the call by longjmp at any time, and *kept then tells which event to
 * release. */
uint32_t event_take(struct event_pool *pool, uint8_t users, uint32_t *kept);

/* Takes one user from the event. When no user is left, the event goes back into the pool. event 0 is ignored. */
void event_release(struct event_pool *pool, uint32_t event);

static inline struct pool_event *event_at(const struct event_pool *pool, uint32_t event)
{
    return &pool->events[event - 1];
}

#endif
