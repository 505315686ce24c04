#include "trace/recover.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    SEARCH_BYTES = 1 << 16,
    RANGES_MAX = 4096,
};

int64_t ws_frame_source_read(const struct ws_frame_source *source, uint64_t offset, void *bytes, size_t size)
{
    size_t done = 0;
    /* Bytes appended after the file was opened are ignored. */
    uint64_t left = offset < source->size ? source->size - offset : 0;
    if (size > left)
        size = (size_t)left;
    while (done < size) {
        ssize_t got = pread(source->fd, (char *)bytes + done, size - done, (off_t)(offset + done));
        if (!got)
            break;
        if (got > 0)
            done += (size_t)got;
        else if (errno != EINTR)
            return -errno;
    }
    return (int64_t)done;
}

static bool frame_at(struct ws_frame_source *source, const uint8_t *bytes, struct ws_frame_header *header)
{
    if (!ws_frame_header_read(bytes, header))
        return false;
    if (source->any_file_id) {
        source->file_id = header->file_id;
        source->any_file_id = false;
    }
    return header->file_id == source->file_id;
}

/* If `offset` is in a hole of a sparse file, returns the end of the hole; otherwise returns `offset`. Searching a
 * large hole byte by byte would take too long. */
static uint64_t behind_hole(const struct ws_frame_source *source, uint64_t offset)
{
    off_t data = lseek(source->fd, (off_t)offset, SEEK_DATA);
    if (data < 0 && errno == ENXIO) /* the rest of the file is a hole */
        return source->size;
    return data > (off_t)offset ? (uint64_t)data : offset;
}

/* Searches for a frame header at every byte from `offset` on. */
static int frame_search(struct ws_frame_source *source, uint64_t offset, struct ws_frame_place *place)
{
    static const char magic[] = WS_FRAME_MAGIC;
    uint8_t *bytes = malloc(SEARCH_BYTES);
    if (!bytes)
        return -ENOMEM;
    int found = 0;
    while (!found) {
        offset = behind_hole(source, offset);
        int64_t got = ws_frame_source_read(source, offset, bytes, SEARCH_BYTES);
        if (got < WS_FRAME_HEADER_SIZE) {
            found = got < 0 ? (int)got : 0;
            break;
        }
        const uint8_t *last = bytes + got - WS_FRAME_HEADER_SIZE;
        for (const uint8_t *at = bytes; at <= last && !found; at++) {
            at = memmem(at, (size_t)(last - at) + sizeof(magic) - 1, magic, sizeof(magic) - 1);
            if (!at)
                break;
            if (!frame_at(source, at, &place->header))
                continue;
            place->offset = offset + (uint64_t)(at - bytes);
            found = 1;
        }
        offset += (uint64_t)(last + 1 - bytes);
    }
    free(bytes);
    return found;
}

int ws_frame_find(struct ws_frame_source *source, uint64_t offset, struct ws_frame_place *place)
{
    uint8_t bytes[WS_FRAME_HEADER_SIZE];
    int64_t got = ws_frame_source_read(source, offset, bytes, sizeof(bytes));
    if (got < (int64_t)sizeof(bytes))
        return got < 0 ? (int)got : 0;
    place->offset = offset;
    int found = frame_at(source, bytes, &place->header) ? 1 : frame_search(source, offset + 1, place);
    place->skipped = place->offset - offset;
    return found;
}

/* Returns the index of the first range that ends at or after `row`. */
static size_t range_near(const struct ws_row_set *set, uint64_t row)
{
    size_t low = 0, high = set->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (set->ranges[middle].end < row)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool ws_row_set_missing(const struct ws_row_set *set, uint64_t *first, uint64_t end, uint64_t *count)
{
    size_t at = range_near(set, *first);
    for (; at < set->count && set->ranges[at].first <= *first; at++)
        if (set->ranges[at].end > *first)
            *first = set->ranges[at].end;
    if (*first >= end)
        return false;
    uint64_t stop = at < set->count && set->ranges[at].first < end ? set->ranges[at].first : end;
    *count = stop - *first;
    return true;
}

int ws_row_set_add(struct ws_row_set *set, uint64_t first, uint64_t end)
{
    if (first >= end)
        return 0;
    size_t at = range_near(set, first), merged = at;
    for (; merged < set->count && set->ranges[merged].first <= end; merged++) {
        first = set->ranges[merged].first < first ? set->ranges[merged].first : first;
        end = set->ranges[merged].end > end ? set->ranges[merged].end : end;
    }
    if (merged == at && set->count == set->capacity) {
        size_t capacity = set->capacity ? set->capacity * 2 : 8;
        if (capacity > RANGES_MAX)
            return -E2BIG;
        struct ws_row_range *ranges = realloc(set->ranges, capacity * sizeof(*ranges));
        if (!ranges)
            return -ENOMEM;
        set->ranges = ranges;
        set->capacity = capacity;
    }
    memmove(&set->ranges[at + 1], &set->ranges[merged], (set->count - merged) * sizeof(*set->ranges));
    set->count = set->count + 1 - (merged - at);
    set->ranges[at] = (struct ws_row_range){ first, end };
    return 0;
}

uint64_t ws_row_set_size(const struct ws_row_set *set)
{
    uint64_t size = 0;
    for (size_t i = 0; i < set->count; i++)
        size += set->ranges[i].end - set->ranges[i].first;
    return size;
}

void ws_row_set_finish(struct ws_row_set *set)
{
    free(set->ranges);
    *set = (struct ws_row_set){ 0 };
}
