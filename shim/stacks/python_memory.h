/* Reads the interpreter's memory, and checks pointers before they are followed.
 *
 * guarded: the kernel copies the memory, so an address that is not mapped gives false instead of a fault. */
#ifndef WALLSHIM_SHIM_STACKS_PYTHON_MEMORY_H
#define WALLSHIM_SHIM_STACKS_PYTHON_MEMORY_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* Can an object be at this address? The address must be a multiple of 8, above the first page, and in the half of the
 * address space that programs have. The rotation moves the three lowest bits to the top, so one comparison checks all
 * three conditions. */
static inline bool is_plausible(uintptr_t address)
{
    const uintptr_t first = 4096, half = (uintptr_t)1 << 47;
    uintptr_t behind = address - first;
    return (behind >> 3 | behind << 61) < (half - first) >> 3;
}

static inline bool read_memory(const void *from, void *to, size_t size, bool guarded)
{
    if (!guarded) {
        memcpy(to, from, size);
        return true;
    }
    struct iovec local = { to, size }, remote = { (void *)(uintptr_t)from, size };
    return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)size;
}

/* Reads a pointer to an object. Returns false if the pointer cannot be read, or is neither NULL nor plausible. */
static inline bool read_pointer(const char *from, const char **to, bool guarded)
{
    return read_memory(from, to, sizeof(*to), guarded) && (!*to || is_plausible((uintptr_t)*to));
}

#endif
