/* The ring buffer that carries one thread's records to the drain, the shim's thread that writes the trace. It has a
 * single producer (the program's thread), a single consumer (the drain) and slots of 64 bytes.
 *
 * A record is one or more adjacent slots and begins with struct ws_ring_header. The producer never waits: when the
 * ring is full it counts a lost record. The producer usually touches only its own cache lines: it reads `tail`, the
 * consumer's position, only once per WS_RING_LOOK_EVERY slots or per quarter of the ring, whichever is less. The
 * producer wakes the consumer only when WS_RING_LOOK_EVERY slots, or a quarter of the ring, wait to be read. Wakes
 * are rare because each takes microseconds, and because a consumer on the same core keeps the producer waiting. A
 * record is complete once the producer has moved `head` past the record, with release order. If the producer dies,
 * the records below `head` stay valid; the slots above `head` are not valid. */
#ifndef WALLSHIM_RECORD_RING_H
#define WALLSHIM_RECORD_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    WS_RING_SLOT = 64,
    WS_RING_PAD = 0,           /* kind of the padding at the end of the ring: skip it */
    WS_RING_LOOK_EVERY = 4096, /* maximum number of slots between two reads of the consumer's position */
};

struct ws_ring_header {
    uint8_t kind;
    uint8_t slots;
    uint16_t detail;
    uint32_t shape;
};

struct ws_ring {
    /* The producer's cache line. */
    _Alignas(64) _Atomic uint64_t head; /* slots written since the start */
    uint64_t room_until;                /* head may grow to this value before the next read of tail */
    uint64_t mask;                      /* number of slots − 1 */
    char *slots;
    void (*wake)(void); /* called when many slots wait to be read; NULL: nobody to wake */
    uint64_t lost;      /* number of records that did not fit; the consumer reads this with relaxed loads */
    uint64_t nested;    /* number of calls without a record: made inside another call, or left by a longjmp */
    /* The consumer's cache line. */
    _Alignas(64) _Atomic uint64_t tail; /* slots read since the start */
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
        __builtin_unreachable(); /* `slot` is never NULL; this hint saves the producer a comparison */
    return slot;
}

/* Reads tail, wakes the consumer if it has fallen behind, and returns whether a record that ends at `end` fits. If
 * the record does not fit, counts it as lost. */
static __attribute__((noinline, cold, unused)) bool ws_ring_look(struct ws_ring *ring, uint64_t end)
{
    uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_acquire), slots = ring->mask + 1;
    uint64_t room_until = tail + slots, every = slots / 4 < WS_RING_LOOK_EVERY ? slots / 4 : WS_RING_LOOK_EVERY;
    ring->room_until = room_until < end + every ? room_until : end + every;
    if (ring->wake && end > tail + every)
        ring->wake();
    if (end > room_until)
        __atomic_fetch_add(&ring->lost, 1, __ATOMIC_RELAXED); /* atomic, because a signal handler may count too */
    return end <= room_until;
}

static inline bool ws_ring_has_room(const struct ws_ring *ring, uint64_t end)
{
    /* `end` is never 0. The condition end <= room_until would take one instruction more. */
    return __builtin_expect(end - 1 < ring->room_until, 1);
}

/* Returns the place for a record of one slot. One slot never needs padding. Returns NULL and counts a lost record if
 * the ring is full. */
static inline __attribute__((always_inline)) void *ws_ring_reserve_one(struct ws_ring *ring)
{
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    if (!ws_ring_has_room(ring, head + 1) && !ws_ring_look(ring, head + 1))
        return NULL;
    return ws_ring_slot(ring, head);
}

/* Returns the place for a record of `slots` adjacent slots. Returns NULL and counts a lost record if the ring is
 * full. The caller fills in the record and its header, then commits the same number of slots. */
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

/* Fetches the cache line behind this slot, for the next record. The consumer has read that line one round before, so
 * it is in another core's cache, or in none. Without the prefetch, the next record's stores would wait for the line,
 * and a locked instruction of the program would wait for the stores. GCC's __builtin_prefetch emits this instruction
 * only for processors that are named on its command line; older ones ignore it. */
static inline void ws_ring_prefetch_behind(const void *slot)
{
#if defined(__x86_64__)
    __asm__ volatile("prefetchw %0" : : "m"(*((const char *)slot + WS_RING_SLOT)));
#else
    __builtin_prefetch((const char *)slot + WS_RING_SLOT, 1);
#endif
}

/* The consumer reads the records below the head, then frees their slots with ws_ring_release. */
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
