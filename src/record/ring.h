/* One thread's records on their way to the drain: a single-producer, single-consumer ring of 64-byte
 * slots.
 *
 * A record takes one or more whole slots in a row and begins with struct ws_ring_header. The producer
 * never waits: when there is no room it counts. The consumer's position is read only when the room
 * last known runs out, so in the common case the producer touches its own cache lines alone. A record
 * is there once `head` has been stored past it (release); a reader of a dead producer's memory can
 * trust everything below head and nothing above.
 */
#ifndef WALLSHIM_RECORD_RING_H
#define WALLSHIM_RECORD_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WS_RING_SLOT = 64, WS_RING_PAD = 0 /* kind: fills the end of the ring, skip it */ };

struct ws_ring_header {
    uint8_t kind;
    uint8_t slots;
    uint16_t detail;
    uint32_t shape;
};

struct ws_ring {
    /* The producer's line. */
    _Alignas(64) _Atomic uint64_t head; /* slots ever written */
    uint64_t room_until;                /* head may go so far, by the tail when last read */
    uint64_t mask;                      /* slots − 1 */
    char *slots;
    uint64_t lost; /* records that found no room; read by the consumer with relaxed loads */
    /* The consumer's line. */
    _Alignas(64) _Atomic uint64_t tail; /* slots ever read */
};

/* memory holds `slots` (a power of two) times WS_RING_SLOT bytes. */
static inline void ws_ring_init(struct ws_ring *ring, void *memory, uint64_t slots)
{
    *ring = (struct ws_ring){ .room_until = slots, .mask = slots - 1, .slots = memory };
}

static inline char *ws_ring_slot(const struct ws_ring *ring, uint64_t position)
{
    return ring->slots + (position & ring->mask) * WS_RING_SLOT;
}

static inline bool ws_ring_has_room(struct ws_ring *ring, uint64_t head, uint64_t slots)
{
    if (__builtin_expect(head + slots <= ring->room_until, 1))
        return true;
    ring->room_until = atomic_load_explicit(&ring->tail, memory_order_acquire) + ring->mask + 1;
    return head + slots <= ring->room_until;
}

/* Room for a record of one slot, which never needs padding; NULL and one more lost when there is none. */
static inline __attribute__((always_inline)) void *ws_ring_reserve_one(struct ws_ring *ring)
{
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    if (__builtin_expect(!ws_ring_has_room(ring, head, 1), 0)) {
        __atomic_store_n(&ring->lost, ring->lost + 1, __ATOMIC_RELAXED);
        return NULL;
    }
    return ws_ring_slot(ring, head);
}

/* Room for a record of so many slots, in one piece; NULL and one more lost when there is none. Fill
 * it, header included, then commit as many slots. */
static inline void *ws_ring_reserve(struct ws_ring *ring, unsigned slots)
{
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    uint64_t to_end = ring->mask + 1 - (head & ring->mask);
    uint64_t padding = to_end < slots ? to_end : 0;
    if (__builtin_expect(!ws_ring_has_room(ring, head, padding + slots), 0)) {
        __atomic_store_n(&ring->lost, ring->lost + 1, __ATOMIC_RELAXED);
        return NULL;
    }
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
