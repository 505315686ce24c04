/* One thread's records on their way to the drain: a single-producer, single-consumer ring of 64-byte
 * slots.
 *
 * A record takes one or more whole slots in a row and begins with struct ws_ring_header. The producer
 * never waits: when there is no room it counts. It looks at the consumer's position, and wakes it, only
 * once in a while, so in the common case it touches its own cache lines alone. A record is there once
 * `head` has been stored past it (release); a reader of a dead producer's memory can trust everything
 * below head and nothing above.
 */
#ifndef WALLSHIM_RECORD_RING_H
#define WALLSHIM_RECORD_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    WS_RING_SLOT = 64,
    WS_RING_PAD = 0,           /* kind: fills the end of the ring, skip it */
    WS_RING_LOOK_EVERY = 4096, /* slots at most between looks at the consumer */
};

struct ws_ring_header {
    uint8_t kind;
    uint8_t slots;
    uint16_t detail;
    uint32_t shape;
};

struct ws_ring {
    /* The producer's line. */
    _Alignas(64) _Atomic uint64_t head; /* slots ever written */
    uint64_t room_until;                /* head may go so far before the next look */
    uint64_t mask;                      /* slots − 1 */
    char *slots;
    void (*wake)(void); /* called at each look: there may be much to read; NULL: nobody to wake */
    uint64_t lost;      /* records that found no room; read by the consumer with relaxed loads */
    /* The consumer's line. */
    _Alignas(64) _Atomic uint64_t tail; /* slots ever read */
};

/* memory holds `slots` (a power of two) times WS_RING_SLOT bytes. */
static inline void ws_ring_init(struct ws_ring *ring, void *memory, uint64_t slots, void (*wake)(void))
{
    *ring = (struct ws_ring){ .mask = slots - 1, .slots = memory, .wake = wake };
}

static inline char *ws_ring_slot(const struct ws_ring *ring, uint64_t position)
{
    char *slot = ring->slots + (position & ring->mask) * WS_RING_SLOT;
    if (!slot)
        __builtin_unreachable(); /* spares the producer a comparison */
    return slot;
}

/* Is there room for a record that ends there? Wakes the consumer; counts one more lost if not. */
static __attribute__((noinline, cold, unused)) bool ws_ring_look(struct ws_ring *ring, uint64_t end)
{
    uint64_t room_until = atomic_load_explicit(&ring->tail, memory_order_acquire) + ring->mask + 1;
    uint64_t next_look = end + WS_RING_LOOK_EVERY;
    ring->room_until = room_until < next_look ? room_until : next_look;
    if (ring->wake)
        ring->wake();
    if (end > room_until)
        __atomic_fetch_add(&ring->lost, 1, __ATOMIC_RELAXED); /* a handler may count too */
    return end <= room_until;
}

static inline bool ws_ring_has_room(const struct ws_ring *ring, uint64_t end)
{
    return __builtin_expect(end <= ring->room_until, 1);
}

/* Room for a record of one slot, which never needs padding; NULL and one more lost when there is none. */
static inline __attribute__((always_inline)) void *ws_ring_reserve_one(struct ws_ring *ring)
{
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    if (!ws_ring_has_room(ring, head + 1) && !ws_ring_look(ring, head + 1))
        return NULL;
    return ws_ring_slot(ring, head);
}

/* Room for a record of so many slots, in one piece; NULL and one more lost when there is none. Fill
 * it, header included, then commit as many slots. */
static inline void *ws_ring_reserve(struct ws_ring *ring, unsigned slots)
{
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    uint64_t to_end = ring->mask + 1 - (head & ring->mask);
    uint64_t padding = to_end < slots ? to_end : 0;
    uint64_t end = head + padding + slots;
    if (!ws_ring_has_room(ring, end) && !ws_ring_look(ring, end))
        return NULL;
    if (__builtin_expect(padding != 0, 0)) {
        *(struct ws_ring_header *)ws_ring_slot(ring, head) =
            (struct ws_ring_header){ .kind = WS_RING_PAD, .slots = (uint8_t)padding };
        head += padding;
        atomic_store_explicit(&ring->head, head, memory_order_release);
    }
    return ws_ring_slot(ring, head);
}

static inline void ws_ring_commit(struct ws_ring *ring, unsigned slots)
{
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    atomic_store_explicit(&ring->head, head + slots, memory_order_release);
}

/* The consumer's side: everything below *head may be read; release what has been read. */
static inline uint64_t ws_ring_head(const struct ws_ring *ring)
{
    return atomic_load_explicit(&ring->head, memory_order_acquire);
}

static inline uint64_t ws_ring_tail(const struct ws_ring *ring)
{
    return atomic_load_explicit(&ring->tail, memory_order_relaxed);
}

static inline void ws_ring_release(struct ws_ring *ring, uint64_t tail)
{
    atomic_store_explicit(&ring->tail, tail, memory_order_release);
}

#endif
