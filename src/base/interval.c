#include "base/interval.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void ws_interval_set_finish(struct ws_interval_set *set)
{
    free(set->items);
    *set = (struct ws_interval_set){ 0 };
}

/* Index of the first item whose end is at or after time. */
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

int64_t ws_interval_set_length(const struct ws_interval_set *set)
{
    int64_t length = 0;
    for (size_t i = 0; i < set->count; i++)
        length += set->items[i].end - set->items[i].begin;
    return length;
}

int64_t ws_interval_set_common(const struct ws_interval_set *a, const struct ws_interval_set *b)
{
    int64_t length = 0;
    for (size_t i = 0, j = 0; i < a->count && j < b->count;) {
        const struct ws_interval *x = &a->items[i], *y = &b->items[j];
        int64_t begin = x->begin > y->begin ? x->begin : y->begin;
        int64_t end = x->end < y->end ? x->end : y->end;
        if (begin < end)
            length += end - begin;
        if (x->end < y->end)
            i++;
        else
            j++;
    }
    return length;
}

int64_t ws_interval_set_outside(const struct ws_interval_set *a, const struct ws_interval_set *b)
{
    return ws_interval_set_length(a) - ws_interval_set_common(a, b);
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
