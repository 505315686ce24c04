/* Zeroed memory of our own mapping. It is not malloc's, since programs replace malloc.
 *
 * It is not locked either: a program that locks its memory (mlockall) means its own, and would have all of ours
 * filled and counted the moment it is mapped. errno stays as it was. */
#ifndef WALLSHIM_BASE_RESERVE_H
#define WALLSHIM_BASE_RESERVE_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>

/* Addresses alone, or NULL when there are not so many. What may not be accessed is not filled, so it is unlocked
 * before it may; where it is locked, advice of that kind is refused. */
static inline void *ws_reserve_addresses(size_t size)
{
    int saved_errno = errno;
    void *memory = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory != MAP_FAILED && madvise(memory, size, MADV_DONTNEED))
        munlock(memory, size);
    errno = saved_errno;
    return memory == MAP_FAILED ? NULL : memory;
}

static inline bool ws_reserve_open(void *memory, size_t size)
{
    int saved_errno = errno;
    bool open = !mprotect(memory, size, PROT_READ | PROT_WRITE);
    errno = saved_errno;
    return open;
}

/* NULL when there is not so much address space, or not so much that may be written. */
static inline void *ws_reserve(size_t size)
{
    void *memory = ws_reserve_addresses(size);
    if (memory && !ws_reserve_open(memory, size)) {
        munmap(memory, size);
        return NULL;
    }
    return memory;
}

/* Memory that grows in its place, up to a limit. */
struct ws_growing {
    char *data; /* NULL: no addresses yet */
    size_t ready, limit;
};

enum { WS_GROWING_STEP = 16 << 10 };

/* So many bytes of it may be used, or false: memory is out, or that is beyond the limit. */
static inline bool ws_growing_to(struct ws_growing *growing, size_t size)
{
    const size_t step = WS_GROWING_STEP;
    if (growing->data && size <= growing->ready)
        return true;
    size_t ready = (size + step - 1) / step * step;
    ready = ready < 2 * growing->ready ? 2 * growing->ready : ready;
    ready = ready < growing->limit ? ready : growing->limit;
    if (!growing->data)
        growing->data = (char *)ws_reserve_addresses(growing->limit);
    if (!growing->data || size > ready || !ws_reserve_open(growing->data, ready))
        return false;
    growing->ready = ready;
    return true;
}

static inline void ws_growing_finish(struct ws_growing *growing)
{
    if (growing->data)
        munmap(growing->data, growing->limit);
    growing->data = NULL;
    growing->ready = 0;
}

#endif
