/* When threads of a process waited for the device or for memory, for the causes of gaps. Each thread keeps its last
 * waits. */
#ifndef WALLSHIM_COLLECTOR_FIGURES_WAITS_H
#define WALLSHIM_COLLECTOR_FIGURES_WAITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A budget. */
struct figures_memory {
    size_t used, limit;
};

/* Frees `old`, and takes its place in the budget with `size` bytes that begin with those of `old`. Returns NULL, and
 * leaves `old` as it is, if the budget or memory does not allow that. */
void *figures_resize(struct figures_memory *memory, void *old, size_t old_size, size_t size);

enum figures_wait_kind { FIGURES_WAIT_SYNC, FIGURES_WAIT_ALLOCATION, FIGURES_WAIT_COUNT };

/* Two lists, since calls and operations come in frames of their own: each list is in order by itself. */
enum figures_wait_list { FIGURES_WAIT_CALLS, FIGURES_WAIT_OPERATIONS, FIGURES_WAIT_LISTS };

enum { FIGURES_WAIT_THREADS = 64 };

struct figures_wait {
    int64_t begin, end; /* ns of the process's CLOCK_MONOTONIC */
    uint32_t kind;
};

struct figures_wait_ring {
    struct figures_wait *waits; /* number i is at i % capacity */
    uint32_t capacity;
    uint64_t count; /* of all waits so far */
};

struct figures_wait_thread {
    uint32_t id; /* 0: not used */
    struct figures_wait_ring rings[FIGURES_WAIT_LISTS];
};

struct figures_waits {
    struct figures_wait_thread threads[FIGURES_WAIT_THREADS];
};

void figures_waits_add(struct figures_waits *waits, struct figures_memory *memory, uint32_t thread,
                       enum figures_wait_list list, const struct figures_wait *wait);

/* Sums the thread's waits of each kind between two times. Returns false if that is not known, as the thread has too
 * many waits, or there are too many threads. */
bool figures_waits_within(const struct figures_waits *waits, uint32_t thread, int64_t begin, int64_t end,
                          int64_t sums[FIGURES_WAIT_COUNT]);

/* Forgets all waits and frees their memory. */
void figures_waits_finish(struct figures_waits *waits, struct figures_memory *memory);

#endif
