#include "shim/objects/memory.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "base/reserve.h"
#include "shim/state/lock.h"

/* A range of addresses. Its fields are written with LOCK_MEMORY held, and read without that lock (see look_up). */
struct range {
    _Atomic uint64_t start, end;
    _Atomic uint32_t space; /* enum ws_space */
};

/* Ranges of pinned and managed memory, sorted by start. Device allocations are not kept one by one, because there may
 * be a great many: the shim only needs their lowest and highest address. */
enum { RANGES = 65536, ATTEMPTS = 16 };
static struct range *_Atomic ranges;
static _Atomic size_t range_count;
static _Atomic bool ranges_dropped; /* the program allocated a range that could not be added */
static _Atomic bool ranges_stale;   /* the program freed a range that could not be removed */
static _Atomic uint32_t version; /* incremented before and after each change of the ranges: odd while they change */
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

static uint64_t start_of(size_t at)
{
    return atomic_load_explicit(&ranges[at].start, memory_order_acquire);
}

/* Index of the first range that begins after the address. */
static size_t after(uint64_t address)
{
    size_t low = 0, high = atomic_load_explicit(&range_count, memory_order_acquire);
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (start_of(middle) <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void put_range(size_t at, uint64_t start, uint64_t end, uint32_t space)
{
    atomic_store_explicit(&ranges[at].start, start, memory_order_release);
    atomic_store_explicit(&ranges[at].end, end, memory_order_release);
    atomic_store_explicit(&ranges[at].space, space, memory_order_release);
}

static void move_range(size_t from, size_t to)
{
    put_range(to, start_of(from), atomic_load_explicit(&ranges[from].end, memory_order_relaxed),
              atomic_load_explicit(&ranges[from].space, memory_order_relaxed));
}

static bool change_begins(void)
{
    if (!lock_take(LOCK_MEMORY))
        return false;
    /* memory_order_relaxed is enough: put_range stores with memory_order_release, so a reader that sees a changed
     * range also sees the odd version. */
    atomic_fetch_add_explicit(&version, 1, memory_order_relaxed);
    return true;
}

static void change_ends(void)
{
    atomic_fetch_add_explicit(&version, 1, memory_order_release);
    lock_release(LOCK_MEMORY);
}

/* Finds the start of the last range that begins at or before the address, and the kind of memory at the address.
 * Every copy calls this function, so it takes no lock. If another thread changes the ranges during the search, the
 * search starts again. Returns false if the ranges changed during all ATTEMPTS searches. */
static bool look_up(uint64_t address, uint64_t *start, enum ws_space *space)
{
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        uint32_t before = atomic_load_explicit(&version, memory_order_acquire);
        *space = WS_SPACE_UNKNOWN;
        *start = 0;
        size_t at = after(address);
        if (at) {
            *start = start_of(at - 1);
            if (address < atomic_load_explicit(&ranges[at - 1].end, memory_order_acquire))
                *space = (enum ws_space)atomic_load_explicit(&ranges[at - 1].space, memory_order_acquire);
        }
        if (!(before & 1) && atomic_load_explicit(&version, memory_order_relaxed) == before)
            return true;
    }
    return false;
}

void memory_added(uint64_t address, uint64_t bytes, enum ws_space space)
{
    if (space == WS_SPACE_DEVICE || space == WS_SPACE_MANAGED)
        widen(address, address + bytes);
    if (space == WS_SPACE_DEVICE || !address)
        return;
    if (!change_begins()) {
        atomic_store(&ranges_dropped, true);
        return;
    }
    if (!ranges)
        ranges = ws_reserve(RANGES * sizeof(*ranges));
    size_t count = range_count;
    if (ranges && count < RANGES) {
        size_t at = after(address);
        for (size_t i = count; i > at; i--)
            move_range(i - 1, i);
        put_range(at, address, address + bytes, space);
        range_count = count + 1;
    } else {
        atomic_store(&ranges_dropped, true);
    }
    change_ends();
}

void memory_removed(uint64_t address)
{
    uint64_t start;
    enum ws_space space;
    /* Most freed memory is device memory. Device memory is not in the table, so no lock is needed. */
    if (look_up(address, &start, &space) && start != address)
        return;
    if (!change_begins()) {
        atomic_store(&ranges_stale, true);
        return;
    }
    size_t at = after(address), count = range_count;
    if (at && start_of(at - 1) == address) {
        for (size_t i = at; i < count; i++)
            move_range(i, i - 1);
        range_count = count - 1;
    }
    change_ends();
}

enum ws_space memory_space(uint64_t address, bool *complete)
{
    uint64_t start;
    enum ws_space space;
    bool sure = look_up(address, &start, &space) && !atomic_load(&ranges_stale);
    *complete = sure && !atomic_load(&ranges_dropped);
    return sure ? space : WS_SPACE_UNKNOWN;
}

bool memory_is_device_address(uint64_t word)
{
    uint64_t low = atomic_load_explicit(&device_low, memory_order_relaxed);
    uint64_t high = atomic_load_explicit(&device_high, memory_order_relaxed);
    return word >= low && word < high;
}
