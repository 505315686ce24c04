/* Memory for the patcher: maps memory near code, and replaces pages of code. patch.h says why pages are replaced. */
#ifndef WALLSHIM_SHIM_ATTACH_PATCH_PAGES_H
#define WALLSHIM_SHIM_ATTACH_PATCH_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Finds the mapping of code around `address`: private, readable, executable and not writable. Adjacent mappings of
 * code count as one. Remembers the mapped file's path, so that pages_edit can map the file again. Returns false if
 * `address` is in no mapping of code. */
bool pages_find_code(const void *address, uintptr_t *begin, uintptr_t *end);

/* Maps `size` bytes of zeros, read-only, at most `reach` bytes away from `address`. Returns NULL on failure. errno is
 * then ENOMEM if there are no free addresses or no memory, else the error with which Linux refused. */
void *pages_near(uintptr_t address, size_t size, size_t reach);

/* pages_scratch returns zeroed memory for temporary use, or NULL. pages_free gives this memory back. */
void *pages_scratch(size_t size);
void pages_free(void *memory, size_t size);

struct page_edit {
    uint8_t *at;
    const uint8_t *bytes;
    size_t size;
};

/* Replaces the pages of all edits by executable copies that have the new bytes. If `to_files` is set, a page whose
 * new bytes equal those of its file is mapped from the file. Returns 0 or a negative errno. After an error, some
 * pages may have been replaced and others not. */
int pages_edit(const struct page_edit *edits, size_t count, bool to_files);

#endif
