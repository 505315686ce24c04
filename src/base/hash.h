/* The hash of everything that goes to disk or over a wire: XXH3, 64 bits, compiled in (the shim may
 * not depend on a library). */
#ifndef WALLSHIM_BASE_HASH_H
#define WALLSHIM_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define XXH_INLINE_ALL
#define XXH_NO_STREAM
#include <xxhash.h>

static inline uint64_t ws_hash(const void *bytes, size_t size)
{
    return XXH3_64bits(bytes, size);
}

#endif
