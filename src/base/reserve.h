/* Zeroed memory of our own mapping, reserved whole and touched as it fills: for tables that never move.
 * It is not malloc's, since programs replace malloc. */
#ifndef WALLSHIM_BASE_RESERVE_H
#define WALLSHIM_BASE_RESERVE_H

#include <stddef.h>
#include <sys/mman.h>

/* NULL when there is not so much address space. */
static inline void *ws_reserve(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

#endif
