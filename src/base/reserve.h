/* Zeroed memory. The memory is mapped directly, not taken from malloc, because some programs replace malloc.
 *
 * The memory is never locked in RAM, even if the program calls mlockall. If it were locked, the kernel would fill all
 * its pages at once and charge them to the program. All functions keep errno. */
#ifndef WALLSHIM_BASE_RESERVE_H
#define WALLSHIM_BASE_RESERVE_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>

#include "base/minmax.h"

/* Reserves address space, which is not accessible until ws_reserve_open. Returns NULL when address space runs out.
 * After mlockall the kernel locks every new mapping. MADV_DONTNEED fails on a locked mapping, so if it fails, the
 * mapping must be unlocked. Before the munlock, the kernel fills none of the mapping's pages, because they are not
 * accessible. */
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

/* Returns zeroed memory, or NULL when address space or writable memory runs out. */
static inline void *ws_reserve(size_t size)
{
    void *memory = ws_reserve_addresses(size);
    if (memory && !ws_reserve_open(memory, size)) {
        munmap(memory, size);
        return NULL;
    }
    return memory;
}

/* Makes the kernel use small pages for the memory. Some systems use huge pages for all memory, so that the first
 * write to the memory would make the kernel clear 2 MB. */
static inline void ws_reserve_small_pages(void *memory, size_t size)
{
    int saved_errno = errno;
    madvise(memory, size, MADV_NOHUGEPAGE);
    errno = saved_errno;
}

/* Memory that grows in place up to a limit. */
struct ws_growing {
    char *data; /* NULL: no address space reserved yet */
    size_t ready, limit;
};

enum { WS_GROWING_STEP = 16 << 10 };

/* Makes the first `size` bytes usable. Returns false when memory runs out or size exceeds the limit. */
static inline bool ws_growing_to(struct ws_growing *growing, size_t size)
{
    const size_t step = WS_GROWING_STEP;
    if (growing->data && size <= growing->ready)
        return true;
    size_t ready = (size + step - 1) / step * step;
    ready = ready < 2 * growing->ready ? 2 * growing->ready : ready;
    ready = ws_min(ready, growing->limit);
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
