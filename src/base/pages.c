#include "base/pages.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static const size_t huge_page = (size_t)2 << 20;

void *ws_pages_alloc(size_t bytes)
{
    if (bytes < 2 * huge_page)
        return malloc(bytes ? bytes : 1);
    if (bytes > SIZE_MAX - huge_page)
        return NULL;
    void *pages = aligned_alloc(huge_page, (bytes + huge_page - 1) & ~(huge_page - 1));
    if (pages)
        madvise(pages, bytes, MADV_HUGEPAGE); /* an optimization only, so a failure is ignored */
    return pages;
}

void *ws_pages_grow(void *pages, size_t used, size_t bytes)
{
    if (bytes < 2 * huge_page)
        return realloc(pages, bytes ? bytes : 1);
    void *grown = ws_pages_alloc(bytes);
    if (!grown)
        return NULL;
    if (used)
        memcpy(grown, pages, used);
    free(pages);
    return grown;
}

int ws_pages_touch(void *pages, size_t from, size_t to)
{
#ifdef MADV_POPULATE_WRITE
    const uintptr_t page = 4096;
    uintptr_t begin = ((uintptr_t)pages + from + page - 1) & ~(page - 1), end = ((uintptr_t)pages + to) & ~(page - 1);
    return begin >= end || !madvise((void *)begin, end - begin, MADV_POPULATE_WRITE) ? 0 : -errno;
#else
    return -ENOSYS;
#endif
}
