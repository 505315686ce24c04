#include "collector/figures_waits.h"

#include <stdlib.h>
#include <string.h>

#include "base/minmax.h"

enum { FIRST_WAITS = 64, MOST_WAITS = 4096 };

void *figures_resize(struct figures_memory *memory, void *old, size_t old_size, size_t size)
{
    if (size > old_size && size - old_size > memory->limit - ws_min(memory->used, memory->limit))
        return NULL;
    void *bytes = realloc(old, size);
    if (bytes)
        memory->used = memory->used - old_size + size;
    return bytes;
}

/* Returns the thread's entry. If the thread has no entry, returns an unused entry, or NULL if other threads have all
 * entries. */
static const struct figures_wait_thread *find_thread(const struct figures_waits *waits, uint32_t id)
{
    for (uint32_t i = 0; i < FIGURES_WAIT_THREADS; i++) {
        const struct figures_wait_thread *thread = &waits->threads[(id + i) % FIGURES_WAIT_THREADS];
        if (thread->id == id || !thread->id)
            return thread;
    }
    return NULL;
}

/* Doubles the ring, up to MOST_WAITS. Rings start small, because most threads seldom wait. */
static bool grow(struct figures_wait_ring *ring, struct figures_memory *memory)
{
    uint32_t capacity = ring->capacity ? 2 * ring->capacity : FIRST_WAITS;
    size_t size = sizeof(*ring->waits);
    void *waits =
        capacity <= MOST_WAITS ? figures_resize(memory, ring->waits, ring->capacity * size, capacity * size) : NULL;
    if (!waits)
        return false;
    ring->waits = waits;
    ring->capacity = capacity;
    return true;
}

void figures_waits_add(struct figures_waits *waits, struct figures_memory *memory, uint32_t id,
                       enum figures_wait_list list, const struct figures_wait *wait)
{
    struct figures_wait_thread *thread = id ? &waits->threads[0] : NULL;
    if (thread) {
        const struct figures_wait_thread *place = find_thread(waits, id);
        thread = place ? thread + (place - thread) : NULL;
    }
    if (!thread || wait->end <= wait->begin)
        return;
    thread->id = id;
    struct figures_wait_ring *ring = &thread->rings[list];
    /* The binary search in within_ring needs waits in order of time. So skip a wait that begins before the last wait
     * ends: it is nested in the last wait, or the client's times are wrong. */
    if (ring->count && wait->begin < ring->waits[(ring->count - 1) % ring->capacity].end)
        return;
    if (ring->count == ring->capacity && !grow(ring, memory) && !ring->capacity)
        return;
    ring->waits[ring->count++ % ring->capacity] = *wait;
}

static bool within_ring(const struct figures_wait_ring *ring, int64_t begin, int64_t end,
                        int64_t sums[FIGURES_WAIT_COUNT])
{
    uint64_t from = ring->count > ring->capacity ? ring->count - ring->capacity : 0, first = from, to = ring->count;
    while (first < to) { /* binary search for the first wait that ends after `begin` */
        uint64_t middle = first + (to - first) / 2;
        if (ring->waits[middle % ring->capacity].end <= begin)
            first = middle + 1;
        else
            to = middle;
    }
    if (from && first == from)
        return false; /* older waits were overwritten, and may have reached beyond `begin` */
    for (; first < ring->count; first++) {
        const struct figures_wait *wait = &ring->waits[first % ring->capacity];
        if (wait->begin >= end)
            break;
        sums[wait->kind] += ws_min(wait->end, end) - ws_max(wait->begin, begin);
    }
    return true;
}

bool figures_waits_within(const struct figures_waits *waits, uint32_t id, int64_t begin, int64_t end,
                          int64_t sums[FIGURES_WAIT_COUNT])
{
    const struct figures_wait_thread *thread = id ? find_thread(waits, id) : NULL;
    memset(sums, 0, FIGURES_WAIT_COUNT * sizeof(*sums));
    return thread && within_ring(&thread->rings[FIGURES_WAIT_CALLS], begin, end, sums) &&
           within_ring(&thread->rings[FIGURES_WAIT_OPERATIONS], begin, end, sums);
}

void figures_waits_finish(struct figures_waits *waits, struct figures_memory *memory)
{
    for (size_t i = 0; i < FIGURES_WAIT_THREADS; i++)
        for (size_t list = 0; list < FIGURES_WAIT_LISTS; list++) {
            struct figures_wait_ring *ring = &waits->threads[i].rings[list];
            memory->used -= ring->capacity * sizeof(*ring->waits);
            free(ring->waits);
        }
    memset(waits, 0, sizeof(*waits));
}
