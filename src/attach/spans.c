#include "attach/spans.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* Patches that are less than a page apart share a span. The code between them is in their pages, so it is mapped. */
enum { PAGE = 4096 };

static int by_address(const void *a, const void *b)
{
    uint64_t first = ((const struct ws_late_patch *)a)->begin, second = ((const struct ws_late_patch *)b)->begin;
    return (first > second) - (first < second);
}

/* Returns the number of bytes of all spans, or 0 if patches overlap. */
static size_t divide(struct ws_spans *spans, uint32_t patch_count)
{
    size_t size = 0;
    for (uint32_t i = 0; i < patch_count; i++) {
        uint64_t begin = spans->patches[i].begin;
        struct ws_span *last = spans->count ? &spans->list[spans->count - 1] : NULL;
        uint64_t gap = last ? begin - (last->begin + last->size) : 0;
        if (last && begin < last->begin + last->size)
            return 0;
        if (last && gap < PAGE) {
            size += gap + WS_LATE_JUMP;
            last->size += gap + WS_LATE_JUMP;
            last->end = i + 1;
        } else {
            spans->list[spans->count++] =
                (struct ws_span){ .begin = begin, .size = WS_LATE_JUMP, .at = size, .first = i, .end = i + 1 };
            size += WS_LATE_JUMP;
        }
    }
    return size;
}

int ws_spans_make(const struct ws_late_patch *patches, uint32_t count, struct ws_spans *spans)
{
    *spans = (struct ws_spans){ .patches = malloc((count + 1) * sizeof(*patches)),
                                .list = malloc((count + 1) * sizeof(*spans->list)) };
    if (!spans->patches || !spans->list)
        return -ENOMEM;
    if (count)
        memcpy(spans->patches, patches, count * sizeof(*patches));
    qsort(spans->patches, count, sizeof(*patches), by_address);
    spans->patch_count = count;
    size_t size = divide(spans, count);
    if (!size)
        return count ? -EFAULT : 0;
    spans->bytes = malloc(size);
    return spans->bytes ? 0 : -ENOMEM;
}

void ws_spans_finish(struct ws_spans *spans)
{
    free(spans->patches);
    free(spans->list);
    free(spans->bytes);
    *spans = (struct ws_spans){ 0 };
}

static uint8_t *place_of(const struct ws_spans *spans, const struct ws_span *span, uint32_t patch)
{
    return spans->bytes + span->at + (spans->patches[patch].begin - span->begin);
}

/* Reads all spans with few system calls, because threads stand still meanwhile. */
static int read_code(struct ws_spans *spans, int pid, int memory)
{
    enum { AT_ONCE = 256 };
    struct iovec here[AT_ONCE], there[AT_ONCE];
    for (size_t from = 0, count; from < spans->count; from += count) {
        ssize_t size = 0;
        for (count = 0; count < AT_ONCE && from + count < spans->count; count++) {
            const struct ws_span *span = &spans->list[from + count];
            here[count] = (struct iovec){ spans->bytes + span->at, span->size };
            there[count] = (struct iovec){ (void *)(uintptr_t)span->begin, span->size };
            size += (ssize_t)span->size;
        }
        if (process_vm_readv(pid, here, count, there, count, 0) == size)
            continue;
        for (size_t i = 0; i < count; i++) /* process_vm_readv fails where the process itself may not read */
            if (pread(memory, here[i].iov_base, here[i].iov_len, (off_t)(uintptr_t)there[i].iov_base) !=
                (ssize_t)here[i].iov_len)
                return -EIO;
    }
    return 0;
}

int ws_spans_read(struct ws_spans *spans, int pid, int memory)
{
    if (read_code(spans, pid, memory))
        return -EIO;
    for (const struct ws_span *span = spans->list; span < spans->list + spans->count; span++)
        for (uint32_t i = span->first; i < span->end; i++)
            if (memcmp(place_of(spans, span, i), spans->patches[i].original, WS_LATE_JUMP) != 0)
                return -EBUSY;
    return 0;
}

/* Writes the first byte that the page at `page` and the patch share, with the value that it has already. */
static int touch_page(int memory, const struct ws_late_patch *patch, uint64_t page)
{
    uint64_t at = patch->begin > page ? patch->begin : page;
    return pwrite(memory, &patch->original[at - patch->begin], 1, (off_t)at) == 1 ? 0 : -EIO;
}

int ws_spans_touch(struct ws_spans *spans, int pid, int memory)
{
    uint64_t touched = UINT64_MAX;
    int error = ws_spans_read(spans, pid, memory);
    for (uint32_t i = 0; i < spans->patch_count && !error; i++) {
        const struct ws_late_patch *patch = &spans->patches[i];
        uint64_t first = patch->begin / PAGE, last = (patch->begin + WS_LATE_JUMP - 1) / PAGE;
        for (uint64_t page = first; page <= last && !error; page++)
            if (page != touched)
                error = touch_page(memory, patch, (touched = page) * PAGE);
    }
    return error;
}

int ws_spans_write(struct ws_spans *spans, int memory, bool jumps)
{
    for (const struct ws_span *span = spans->list; span < spans->list + spans->count; span++) {
        for (uint32_t i = span->first; i < span->end; i++) {
            const struct ws_late_patch *patch = &spans->patches[i];
            memcpy(place_of(spans, span, i), jumps ? patch->jump : patch->original, WS_LATE_JUMP);
        }
        if (pwrite(memory, spans->bytes + span->at, span->size, (off_t)span->begin) != (ssize_t)span->size)
            return -EIO;
    }
    return 0;
}
