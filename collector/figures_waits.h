/* Stores the times at which the threads of a process waited for the device or for memory. These waits explain gaps
 * (times in which the device was idle). Only the last waits of each thread are kept. */
#ifndef WALLSHIM_COLLECTOR_FIGURES_WAITS_H
#define WALLSHIM_COLLECTOR_FIGURES_WAITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A memory budget, in bytes. */
struct figures_memory {
    size_t used, limit;
};

/* realloc() within the budget. Returns NULL and leaves `old` unchanged if the budget or memory is exhausted. */
void *figures_resize(struct figures_memory *memory, void *old, size_t old_size, size_t size);

enum figures_wait_kind { FIGURES_WAIT_SYNC, FIGURES_WAIT_ALLOCATION, FIGURES_WAIT_COUNT };

/* Records of calls and of blocking operations come in separate frames (blocks of records). So the waits in calls and
 * the waits in operations have a list each, which is in order of time. */
enum figures_wait_list { FIGURES_WAIT_CALLS, FIGURES_WAIT_OPERATIONS, FIGURES_WAIT_LISTS };

enum { FIGURES_WAIT_THREADS = 64 };

struct figures_wait {
    int64_t begin, end; /* ns of the process's CLOCK_MONOTONIC */
    uint32_t kind;
};

struct figures_wait_ring {
    struct figures_wait *waits; /* wait number i is at i % capacity */
    uint32_t capacity;
    uint64_t count; /* number of all waits so far, including overwritten ones */
};

struct figures_wait_thread {
    uint32_t id; /* the thread's id in the trace; 0: the entry is not used */
    struct figures_wait_ring rings[FIGURES_WAIT_LISTS];
};

struct figures_waits {
    struct figures_wait_thread threads[FIGURES_WAIT_THREADS];
};

void figures_waits_add(struct figures_waits *waits, struct figures_memory *memory, uint32_t thread,
                       enum figures_wait_list list, const struct figures_wait *wait);

/* Sums up, by kind, how long the thread waited between `begin` and `end`. Returns false if this is not known, because
 * newer waits of the thread have overwritten the waits of that time, or because other threads have all entries. */
bool figures_waits_within(const struct figures_waits *waits, uint32_t thread, int64_t begin, int64_t end,
                          int64_t sums[FIGURES_WAIT_COUNT]);

/* Forgets all waits and frees their memory. */
void figures_waits_finish(struct figures_waits *waits, struct figures_memory *memory);

#endif
