#include "base/interval.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/minmax.h"

void ws_interval_set_finish(struct ws_interval_set *set)
{
    free(set->items);
    *set = (struct ws_interval_set){ 0 };
}

/* Returns the index of the first interval that ends at or after time. */
static size_t first_reaching(const struct ws_interval_set *set, int64_t time)
{
    size_t low = 0, high = set->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (set->items[middle].end < time)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int make_room(struct ws_interval_set *set, size_t at)
{
    if (set->count == set->capacity) {
        size_t capacity = set->capacity ? set->capacity * 2 : 16;
        struct ws_interval *items = realloc(set->items, capacity * sizeof(*items));
        if (!items)
            return -ENOMEM;
        set->items = items;
        set->capacity = capacity;
    }
    memmove(&set->items[at + 1], &set->items[at], (set->count - at) * sizeof(*set->items));
    set->count++;
    return 0;
}

int ws_interval_set_add(struct ws_interval_set *set, int64_t begin, int64_t end)
{
    if (begin >= end)
        return 0;
    size_t at = set->count && set->items[set->count - 1].end < begin ? set->count : first_reaching(set, begin);
    if (at == set->count || end < set->items[at].begin) {
        if (make_room(set, at))
            return -ENOMEM;
        set->items[at] = (struct ws_interval){ begin, end };
        return 0;
    }
    struct ws_interval *item = &set->items[at];
    if (begin < item->begin)
        item->begin = begin;
    if (end <= item->end)
        return 0;
    size_t last = at;
    while (last + 1 < set->count && set->items[last + 1].begin <= end)
        last++;
    item->end = end > set->items[last].end ? end : set->items[last].end;
    memmove(&set->items[at + 1], &set->items[last + 1], (set->count - last - 1) * sizeof(*set->items));
    set->count -= last - at;
    return 0;
}

int64_t ws_interval_set_within(const struct ws_interval_set *set, int64_t begin, int64_t end)
{
    int64_t length = 0;
    for (size_t i = first_reaching(set, begin); i < set->count && set->items[i].begin < end; i++) {
        int64_t from = set->items[i].begin > begin ? set->items[i].begin : begin;
        int64_t to = set->items[i].end < end ? set->items[i].end : end;
        if (from < to)
            length += to - from;
    }
    return length;
}
