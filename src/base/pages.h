/* Large arrays: memory in huge pages where the system has them, so that filling a gigabyte takes
 * thousands of page faults less. */
#ifndef WALLSHIM_BASE_PAGES_H
#define WALLSHIM_BASE_PAGES_H

#include <stddef.h>

/* Room for bytes, not initialised; used parts only cost memory. NULL when memory is out. For free(). */
void *ws_pages_alloc(size_t bytes);

/* A copy of the first `used` bytes with room for more; the old array is freed. NULL when memory is
 * out: the old one is then as it was. */
void *ws_pages_grow(void *pages, size_t used, size_t bytes);

/* Has the system find memory for a part of such an array now, leaving what is in it, so that another
 * thread need not wait for it. Returns 0, or -errno where that cannot be done. */
int ws_pages_touch(void *pages, size_t from, size_t to);

#endif
