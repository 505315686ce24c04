/* The hash function for files and maps: 64-bit XXH3. Its code is compiled in, because the shim may not depend on a
 * library other than libc. */
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

/* Returns a hash to use as the key of a map. The hash is never 0, because 0 is not a valid key. */
static inline uint64_t ws_hash_key(const void *bytes, size_t size)
{
    uint64_t hash = ws_hash(bytes, size);
    return hash ? hash : 1;
}

/* Returns the next key to try when two texts have the same hash. */
static inline uint64_t ws_hash_next(uint64_t key)
{
    return key + 1 ? key + 1 : 1;
}

#endif
