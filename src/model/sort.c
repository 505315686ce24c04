#include "model/sort.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/pages.h"

enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS };

struct entry {
    uint64_t key; /* since the first time of all */
    uint32_t index;
};

static bool in_order(const uint32_t *indices, size_t count, const int64_t *begin, int64_t *first, int64_t *last)
{
    bool ordered = true;
    *first = *last = begin[indices[0]];
    for (size_t i = 1; i < count; i++) {
        int64_t time = begin[indices[i]];
        if (time < begin[indices[i - 1]])
            ordered = false;
        if (time < *first)
            *first = time;
        if (time > *last)
            *last = time;
    }
    return ordered;
}

/* One stable pass on the digit at shift. */
static void pass(struct entry *to, const struct entry *from, size_t count, unsigned shift, size_t *places)
{
    memset(places, 0, DIGITS * sizeof(*places));
    for (size_t i = 0; i < count; i++)
        places[from[i].key >> shift & (DIGITS - 1)]++;
    for (size_t digit = 0, sum = 0; digit < DIGITS; digit++) {
        size_t here = places[digit];
        places[digit] = sum;
        sum += here;
    }
    for (size_t i = 0; i < count; i++)
        to[places[from[i].key >> shift & (DIGITS - 1)]++] = from[i];
}

int ws_sort_by_time(uint32_t *indices, size_t count, const int64_t *begin)
{
    int64_t first, last;
    if (count < 2 || in_order(indices, count, begin, &first, &last))
        return 0;
    struct entry *from = ws_pages_alloc(count * sizeof(*from));
    struct entry *to = ws_pages_alloc(count * sizeof(*to));
    size_t *places = malloc(DIGITS * sizeof(*places));
    if (!from || !to || !places) {
        free(from);
        free(to);
        free(places);
        return -ENOMEM;
    }
    for (size_t i = 0; i < count; i++)
        from[i] = (struct entry){ (uint64_t)begin[indices[i]] - (uint64_t)first, indices[i] };
    uint64_t range = (uint64_t)last - (uint64_t)first;
    for (unsigned shift = 0; shift < 64 && range >> shift; shift += DIGIT_BITS) {
        pass(to, from, count, shift, places);
        struct entry *swap = from;
        from = to;
        to = swap;
    }
    for (size_t i = 0; i < count; i++)
        indices[i] = from[i].index;
    free(from);
    free(to);
    free(places);
    return 0;
}

/* The front of a run. */
struct head {
    int64_t time;
    size_t at, end;
};

static bool goes_first(const struct head *a, const struct head *b, const uint32_t *indices)
{
    return a->time < b->time || (a->time == b->time && indices[a->at] < indices[b->at]);
}

/* Moves the head at a place down to where it belongs. */
static void settle(struct head *heap, size_t count, size_t at, const uint32_t *indices)
{
    struct head moved = heap[at];
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= count)
            break;
        if (child + 1 < count && goes_first(&heap[child + 1], &heap[child], indices))
            child++;
        if (!goes_first(&heap[child], &moved, indices))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moved;
}

int ws_merge_by_time(uint32_t *to, const uint32_t *indices, const size_t *starts, size_t runs, const int64_t *begin)
{
    struct head *heap = malloc((runs + 1) * sizeof(*heap));
    size_t count = 0;
    if (!heap)
        return -ENOMEM;
    for (size_t i = 0; i < runs; i++)
        if (starts[i] < starts[i + 1])
            heap[count++] = (struct head){ begin[indices[starts[i]]], starts[i], starts[i + 1] };
    for (size_t at = count; at-- > 0;)
        settle(heap, count, at, indices);
    while (count > 1) {
        *to++ = indices[heap[0].at++];
        if (heap[0].at < heap[0].end)
            heap[0].time = begin[indices[heap[0].at]];
        else
            heap[0] = heap[--count];
        settle(heap, count, 0, indices);
    }
    if (count)
        memcpy(to, indices + heap[0].at, (heap[0].end - heap[0].at) * sizeof(*to));
    free(heap);
    return 0;
}
