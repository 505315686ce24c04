/* Large arrays in huge pages, where the system has them. Filling a gigabyte then takes 512 page faults instead of
 * 262144. */
#ifndef WALLSHIM_BASE_PAGES_H
#define WALLSHIM_BASE_PAGES_H

#include <stddef.h>

/* Returns uninitialized memory, or NULL when memory runs out. Pages cost memory only once they are used. Release the
 * memory with free(). */
void *ws_pages_alloc(size_t bytes);

/* Moves an array into a new array of `bytes` bytes: copies the first `used` bytes and frees the old array. Returns
 * NULL when memory runs out; the old array is then unchanged. */
void *ws_pages_grow(void *pages, size_t used, size_t bytes);

/* Maps memory to the whole pages between bytes `from` and `to` of an array, so that a thread takes no page faults
 * when it fills them later. Keeps the contents. Returns 0, or -errno if the system cannot do this. */
int ws_pages_touch(void *pages, size_t from, size_t to);

#endif
