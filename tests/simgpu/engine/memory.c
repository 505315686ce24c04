#include "engine/engine.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Device memory is host memory, mapped at addresses like the real driver's. Each device has a terabyte of addresses.
 * Addresses from there are proposed to mmap, but any address that mmap returns is used. Small allocations share
 * blocks of 2 MiB. */
#define DEVICE_BASE 0x300000000000u
#define DEVICE_SPAN 0x10000000000u
#define BLOCK ((uint64_t)2 << 20)
#define SMALL ((uint64_t)1 << 20)
#define ALIGNMENT 512u
#define PAGE 4096u

static pthread_mutex_t memory_lock = PTHREAD_MUTEX_INITIALIZER;
static struct sim_range *ranges; /* sorted by address */
static size_t range_count, range_capacity;
static uint64_t range_ids;

struct hole {
    struct hole *next;
    struct sim_device *device;
    uint64_t start, bytes;
};
static struct hole *holes;
static uint64_t hints[64];

static uint64_t round_up(uint64_t value, uint64_t to)
{
    return (value + to - 1) / to * to;
}

/* Index of the first range that ends above the address. */
static size_t range_after(uint64_t address)
{
    size_t low = 0, high = range_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (ranges[middle].start + ranges[middle].bytes <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool add_locked(const struct sim_range *range)
{
    if (range_count == range_capacity) {
        size_t capacity = range_capacity ? range_capacity * 2 : 256;
        struct sim_range *larger = realloc(ranges, capacity * sizeof(*ranges));
        if (!larger)
            return false;
        ranges = larger;
        range_capacity = capacity;
    }
    size_t at = range_after(range->start);
    memmove(&ranges[at + 1], &ranges[at], (range_count - at) * sizeof(*ranges));
    ranges[at] = *range;
    ranges[at].id = ++range_ids;
    range_count++;
    return true;
}

ws_CUresult sim_memory_add(const struct sim_range *range)
{
    pthread_mutex_lock(&memory_lock);
    size_t at = range_after(range->start);
    bool taken = at < range_count && ranges[at].start < range->start + range->bytes;
    bool gone = range->context && range->context->destroyed;
    bool added = !taken && !gone && add_locked(range);
    pthread_mutex_unlock(&memory_lock);
    if (gone)
        return WS_CUDA_ERROR_CONTEXT_IS_DESTROYED;
    if (taken)
        return WS_CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    return added ? WS_CUDA_SUCCESS : WS_CUDA_ERROR_OUT_OF_MEMORY;
}

bool sim_memory_find(uint64_t address, struct sim_range *range)
{
    pthread_mutex_lock(&memory_lock);
    size_t at = range_after(address);
    bool found = at < range_count && ranges[at].start <= address;
    if (found)
        *range = ranges[at];
    pthread_mutex_unlock(&memory_lock);
    return found;
}

static void take_out(size_t at)
{
    range_count--;
    memmove(&ranges[at], &ranges[at + 1], (range_count - at) * sizeof(*ranges));
}

bool sim_memory_remove(uint64_t start, struct sim_range *removed)
{
    pthread_mutex_lock(&memory_lock);
    size_t at = range_after(start);
    bool found = at < range_count && ranges[at].start == start;
    if (found) {
        *removed = ranges[at];
        take_out(at);
    }
    pthread_mutex_unlock(&memory_lock);
    return found;
}

/* Maps pages, if possible in the device's own terabyte of addresses. With memory_lock held. Returns NULL when mmap
 * fails. */
void *sim_memory_map(struct sim_device *device, uint64_t bytes, uint64_t alignment)
{
    uint64_t *hint = &hints[device->ordinal];
    if (!*hint)
        *hint = DEVICE_BASE + DEVICE_SPAN * (uint64_t)device->ordinal;
    uint64_t at = round_up(*hint, alignment);
    char *memory =
        mmap((void *)at, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    if ((uint64_t)memory == at)
        *hint = at + round_up(bytes, BLOCK);
    return memory;
}

static uint64_t hole_take(struct sim_device *device, uint64_t bytes)
{
    struct hole **link = &holes;
    while (*link && ((*link)->device != device || (*link)->bytes < bytes))
        link = &(*link)->next;
    struct hole *hole = *link;
    if (!hole) {
        hole = malloc(sizeof(*hole));
        void *block = hole ? sim_memory_map(device, BLOCK, BLOCK) : NULL;
        if (!block) {
            free(hole);
            return 0;
        }
        *hole = (struct hole){ holes, device, (uint64_t)block, BLOCK };
        holes = hole;
        link = &holes;
    }
    uint64_t start = hole->start;
    hole->start += bytes;
    hole->bytes -= bytes;
    if (!hole->bytes) {
        *link = hole->next;
        free(hole);
    }
    return start;
}

static void hole_give(struct sim_device *device, uint64_t start, uint64_t bytes)
{
    for (struct hole *hole = holes; hole; hole = hole->next) {
        if (hole->device != device)
            continue;
        if (hole->start + hole->bytes == start) {
            hole->bytes += bytes;
            return;
        }
        if (start + bytes == hole->start) {
            hole->start = start;
            hole->bytes += bytes;
            return;
        }
    }
    struct hole *hole = malloc(sizeof(*hole));
    if (!hole)
        return;
    *hole = (struct hole){ holes, device, start, bytes };
    holes = hole;
}

static uint64_t pages(uint64_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? 0 : (uint64_t)memory;
}

static uint64_t footprint(enum sim_memory_kind kind, uint64_t bytes)
{
    if (kind == SIM_MEMORY_PINNED)
        return round_up(bytes, PAGE);
    return bytes < SMALL ? round_up(bytes, ALIGNMENT) : round_up(bytes, BLOCK);
}

static void count_in_pool(struct sim_pool *pool, uint64_t bytes)
{
    uint64_t used = pool->attributes[SIM_POOL_USED] += bytes;
    for (int high = SIM_POOL_RESERVED; high <= SIM_POOL_USED_HIGH; high++)
        if (high != SIM_POOL_USED && pool->attributes[high] < used)
            pool->attributes[high] = used;
}

ws_CUresult sim_memory_allocate(struct sim_context *context, struct sim_device *device, enum sim_memory_kind kind,
                                uint64_t bytes, struct sim_range *range)
{
    if (!bytes)
        return WS_CUDA_ERROR_INVALID_VALUE;
    uint64_t size = footprint(kind, bytes), start;
    bool counted = kind != SIM_MEMORY_PINNED;
    pthread_mutex_lock(&memory_lock);
    /* if the context is destroyed, its memory is being freed, and a range that is added now would never be freed */
    if (context && context->destroyed) {
        pthread_mutex_unlock(&memory_lock);
        return WS_CUDA_ERROR_CONTEXT_IS_DESTROYED;
    }
    if (size < bytes || (counted && size > device->memory_total - device->memory_used)) {
        pthread_mutex_unlock(&memory_lock);
        return WS_CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (!counted)
        start = pages(size);
    else if (bytes < SMALL)
        start = hole_take(device, size);
    else
        start = (uint64_t)sim_memory_map(device, size, BLOCK);
    range->start = start;
    range->bytes = bytes;
    range->kind = kind;
    range->context = context;
    range->device = device;
    bool done = start && add_locked(range);
    if (done && counted)
        device->memory_used += size;
    if (done && range->pool)
        count_in_pool(range->pool, bytes);
    pthread_mutex_unlock(&memory_lock);
    return done ? WS_CUDA_SUCCESS : WS_CUDA_ERROR_OUT_OF_MEMORY;
}

static void give_back(const struct sim_range *range)
{
    uint64_t size = footprint(range->kind, range->bytes);
    if (range->bytes >= SMALL)
        sim_memory_unshare(range->start);
    pthread_mutex_lock(&memory_lock);
    if (range->kind != SIM_MEMORY_PINNED)
        range->device->memory_used -= size;
    if (range->pool)
        range->pool->attributes[SIM_POOL_USED] -= range->bytes;
    if (range->kind != SIM_MEMORY_PINNED && range->bytes < SMALL)
        hole_give(range->device, range->start, size);
    else
        munmap((void *)range->start, size);
    pthread_mutex_unlock(&memory_lock);
}

/* Frees a range that sim_memory_find found. Fails if another thread has freed the range since then. A new allocation
 * may already have the same address, so the range's id is compared as well. */
ws_CUresult sim_memory_free_found(const struct sim_range *found, enum sim_memory_kind kind)
{
    bool device_side = found->kind == SIM_MEMORY_DEVICE || found->kind == SIM_MEMORY_MANAGED;
    if (found->mapped || device_side != (kind == SIM_MEMORY_DEVICE) || found->kind == SIM_MEMORY_REGISTERED)
        return WS_CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&memory_lock);
    size_t at = range_after(found->start);
    bool there = at < range_count && ranges[at].start == found->start && ranges[at].id == found->id;
    if (there)
        take_out(at);
    pthread_mutex_unlock(&memory_lock);
    if (!there)
        return WS_CUDA_ERROR_INVALID_VALUE;
    give_back(found);
    return WS_CUDA_SUCCESS;
}

ws_CUresult sim_memory_free(uint64_t start, enum sim_memory_kind kind)
{
    struct sim_range range;
    if (!sim_memory_find(start, &range) || range.start != start)
        return WS_CUDA_ERROR_INVALID_VALUE;
    return sim_memory_free_found(&range, kind);
}

uint64_t sim_memory_used(const struct sim_device *device)
{
    pthread_mutex_lock(&memory_lock);
    uint64_t used = device->memory_used;
    pthread_mutex_unlock(&memory_lock);
    return used;
}

/* Counts bytes of a device's memory as used (negative: as free again). Returns false if the device has not enough
 * memory left. */
bool sim_memory_charge(struct sim_device *device, int64_t bytes)
{
    pthread_mutex_lock(&memory_lock);
    bool enough = bytes < 0 || (uint64_t)bytes <= device->memory_total - device->memory_used;
    if (enough)
        device->memory_used += (uint64_t)bytes;
    pthread_mutex_unlock(&memory_lock);
    return enough;
}

void sim_memory_release_context(struct sim_context *context)
{
    for (;;) {
        struct sim_range range;
        pthread_mutex_lock(&memory_lock);
        size_t at = 0;
        while (at < range_count && (ranges[at].context != context || ranges[at].mapped))
            at++;
        bool found = at < range_count;
        if (found)
            range = ranges[at];
        pthread_mutex_unlock(&memory_lock);
        if (!found)
            return;
        if (sim_memory_remove(range.start, &range) && range.kind != SIM_MEMORY_REGISTERED)
            give_back(&range);
    }
}
