#include "memory.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

struct range {
    uint64_t start, end;
    enum ws_space space;
};

/* Ranges of host memory known to the driver, sorted by start. Device allocations are not kept one by
 * one: there may be a great many, and for them the envelope is enough. */
enum { RANGES = 65536 };
static struct range *ranges;
static size_t range_count;
static bool ranges_dropped;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic uint64_t device_low = UINT64_MAX, device_high;

static void widen(uint64_t low, uint64_t high)
{
    uint64_t seen = atomic_load_explicit(&device_low, memory_order_relaxed);
    while (low < seen && !atomic_compare_exchange_weak(&device_low, &seen, low))
        ;
    seen = atomic_load_explicit(&device_high, memory_order_relaxed);
    while (high > seen && !atomic_compare_exchange_weak(&device_high, &seen, high))
        ;
}

/* Index of the first range that begins after the address. */
static size_t after(uint64_t address)
{
    size_t low = 0, high = range_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ranges[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void memory_added(uint64_t address, uint64_t bytes, enum ws_space space)
{
    if (space == WS_SPACE_DEVICE || space == WS_SPACE_MANAGED)
        widen(address, address + bytes);
    if (space == WS_SPACE_DEVICE || !address)
        return;
    pthread_mutex_lock(&lock);
    if (!ranges) {
        void *memory = mmap(NULL, RANGES * sizeof(*ranges), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        ranges = memory == MAP_FAILED ? NULL : memory;
    }
    if (ranges && range_count < RANGES) {
        size_t at = after(address);
        memmove(&ranges[at + 1], &ranges[at], (range_count - at) * sizeof(*ranges));
        ranges[at] = (struct range){ address, address + bytes, space };
        range_count++;
    } else {
        ranges_dropped = true;
    }
    pthread_mutex_unlock(&lock);
}

void memory_removed(uint64_t address)
{
    pthread_mutex_lock(&lock);
    size_t at = after(address);
    if (at && ranges[at - 1].start == address) {
        memmove(&ranges[at - 1], &ranges[at], (range_count - at) * sizeof(*ranges));
        range_count--;
    }
    pthread_mutex_unlock(&lock);
}

enum ws_space memory_space(uint64_t address, bool *complete)
{
    enum ws_space space = WS_SPACE_UNKNOWN;
    pthread_mutex_lock(&lock);
    size_t at = after(address);
    if (at && address < ranges[at - 1].end)
        space = ranges[at - 1].space;
    *complete = !ranges_dropped;
    pthread_mutex_unlock(&lock);
    return space;
}

bool memory_is_device_address(uint64_t word)
{
    uint64_t low = atomic_load_explicit(&device_low, memory_order_relaxed);
    uint64_t high = atomic_load_explicit(&device_high, memory_order_relaxed);
    return word >= low && word < high;
}
