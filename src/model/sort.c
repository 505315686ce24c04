#include "model/sort.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/pages.h"
#include "model/parallel.h"

enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS };

struct entry {
    uint64_t key; /* time since the earliest time of all entries, in ns */
    uint32_t index;
};

static bool sort_in_order(const uint32_t *indices, size_t count, const struct ws_times *times, int64_t *first,
                          int64_t *last)
{
    bool ordered = true;
    int64_t before = *first = *last = ws_times_get(times, indices[0]);
    for (size_t i = 1; i < count; i++) {
        int64_t time = ws_times_get(times, indices[i]);
        if (time < before)
            ordered = false;
        before = time;
        if (time < *first)
            *first = time;
        if (time > *last)
            *last = time;
    }
    return ordered;
}

/* One stable pass of the radix sort, over the digit at `shift`. */
static void radix_pass(struct entry *to, const struct entry *from, size_t count, unsigned shift, size_t *places)
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

int ws_sort_by_time(uint32_t *indices, size_t count, const struct ws_times *times)
{
    int64_t first, last;
    if (count < 2 || sort_in_order(indices, count, times, &first, &last))
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
        from[i] = (struct entry){ (uint64_t)ws_times_get(times, indices[i]) - (uint64_t)first, indices[i] };
    uint64_t range = (uint64_t)last - (uint64_t)first;
    for (unsigned shift = 0; shift < 64 && range >> shift; shift += DIGIT_BITS) {
        radix_pass(to, from, count, shift, places);
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

/* The next element of a run (a sorted sequence) to be merged. */
struct head {
    int64_t time;
    size_t at, end;
};

static bool goes_first(const struct head *a, const struct head *b, const uint32_t *indices)
{
    return a->time < b->time || (a->time == b->time && indices[a->at] < indices[b->at]);
}

/* Restores the heap order below the element at `at`. */
static void sort_sift_down(struct head *heap, size_t count, size_t at, const uint32_t *indices)
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

/* A merge of sorted runs in parts. All runs are cut at the same times, so that each part can be merged by itself. */
struct merge {
    uint32_t *to;
    const uint32_t *indices;
    const struct ws_times *times;
    size_t runs;
    /* For each part and run: the index in `indices` of the run's first element in this part; after the last part: the
     * ends of all runs. */
    size_t *cuts;
    struct head *heaps;
};

/* Copies the next element of a run, and all following elements with a time before `next`. Usually many elements in a
 * row come from the same run. */
static uint32_t *sort_copy_before(uint32_t *to, struct head *head, int64_t next, const struct merge *merge)
{
    do {
        *to++ = merge->indices[head->at++];
        if (head->at == head->end)
            break;
        head->time = ws_times_get(merge->times, merge->indices[head->at]);
    } while (head->time < next);
    return to;
}

static void merge_part(void *user, unsigned part)
{
    const struct merge *merge = user;
    const size_t *from = merge->cuts + part * merge->runs, *until = from + merge->runs;
    struct head *heap = merge->heaps + part * merge->runs;
    uint32_t *to = merge->to;
    size_t count = 0;
    for (size_t i = 0; i < merge->runs; i++) {
        to += from[i] - merge->cuts[i];
        if (from[i] < until[i])
            heap[count++] = (struct head){ ws_times_get(merge->times, merge->indices[from[i]]), from[i], until[i] };
    }
    for (size_t at = count; at-- > 0;)
        sort_sift_down(heap, count, at, merge->indices);
    while (count > 1) {
        int64_t next = count > 2 && heap[2].time < heap[1].time ? heap[2].time : heap[1].time;
        to = sort_copy_before(to, &heap[0], next, merge);
        if (heap[0].at == heap[0].end)
            heap[0] = heap[--count];
        sort_sift_down(heap, count, 0, merge->indices);
    }
    if (count)
        memcpy(to, merge->indices + heap[0].at, (heap[0].end - heap[0].at) * sizeof(*to));
}

/* Returns the index of the run's first element whose time is `time` or later. */
static size_t sort_place_of(const struct merge *merge, size_t low, size_t high, int64_t time)
{
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ws_times_get(merge->times, merge->indices[middle]) < time)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Cuts all runs at the times that divide the longest run into equal parts. */
static void sort_cut(const struct merge *merge, const size_t *starts, unsigned parts)
{
    size_t longest = 0;
    for (size_t i = 0; i < merge->runs; i++)
        if (starts[i + 1] - starts[i] > starts[longest + 1] - starts[longest])
            longest = i;
    memcpy(merge->cuts, starts, merge->runs * sizeof(*starts));
    memcpy(merge->cuts + parts * merge->runs, starts + 1, merge->runs * sizeof(*starts));
    for (unsigned part = 1; part < parts; part++) {
        size_t at = starts[longest] + (starts[longest + 1] - starts[longest]) / parts * part;
        int64_t time = ws_times_get(merge->times, merge->indices[at]);
        for (size_t i = 0; i < merge->runs; i++)
            merge->cuts[part * merge->runs + i] = sort_place_of(merge, starts[i], starts[i + 1], time);
    }
}

int ws_merge_by_time(uint32_t *to, const uint32_t *indices, const size_t *starts, size_t runs,
                     const struct ws_times *times)
{
    if (!runs)
        return 0;
    unsigned parts = ws_parallel_parts(starts[runs] - starts[0]);
    struct merge merge = { .to = to, .indices = indices, .times = times, .runs = runs };
    merge.cuts = malloc((parts + 1) * runs * sizeof(*merge.cuts));
    merge.heaps = malloc(parts * runs * sizeof(*merge.heaps));
    int status = merge.cuts && merge.heaps ? 0 : -ENOMEM;
    if (!status) {
        sort_cut(&merge, starts, parts);
        ws_parallel(parts, merge_part, &merge);
    }
    free(merge.cuts);
    free(merge.heaps);
    return status;
}
