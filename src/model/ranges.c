#include "model/ranges.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The maximum nesting depth. No real program nests deeper. The limit bounds the time of each look-up in a damaged
 * trace. */
enum { DEEPEST = 1024 };

static int model_ranges_by_place(const void *a, const void *b)
{
    const struct ws_range *x = a, *y = b;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    if (x->host_begin != y->host_begin)
        return x->host_begin < y->host_begin ? -1 : 1;
    if (x->host_end != y->host_end)
        return x->host_end > y->host_end ? -1 : 1;
    return (x->kind > y->kind) - (x->kind < y->kind);
}

static void model_ranges_sort(struct ws_vector *rows)
{
    const struct ws_range *row = rows->data;
    for (size_t i = 1; i < rows->count; i++)
        if (model_ranges_by_place(&row[i - 1], &row[i]) > 0) {
            qsort(rows->data, rows->count, sizeof(*row), model_ranges_by_place);
            return;
        }
}

static int note_thread(struct ws_ranges *ranges, uint32_t place)
{
    const struct ws_range *row = ws_range(ranges, place);
    struct ws_thread_rows *threads = ranges->threads.data;
    if (ranges->threads.count && threads[ranges->threads.count - 1].thread == row->thread) {
        threads[ranges->threads.count - 1].count++;
        return 0;
    }
    struct ws_thread_rows *thread = ws_vector_push(&ranges->threads);
    if (!thread)
        return -ENOMEM;
    *thread = (struct ws_thread_rows){ row->thread, place, 1 };
    return 0;
}

int ws_ranges_order(struct ws_ranges *ranges)
{
    uint32_t stack[DEEPEST], depth = 0;
    if (ranges->rows.count >= WS_NO_RANGE)
        return -EFBIG;
    model_ranges_sort(&ranges->rows);
    ranges->threads = WS_VECTOR(struct ws_thread_rows);
    ranges->parents = malloc((ranges->rows.count + 1) * sizeof(*ranges->parents));
    if (!ranges->parents)
        return -ENOMEM;
    for (uint32_t i = 0; i < ranges->rows.count; i++) {
        const struct ws_range *row = ws_range(ranges, i);
        if (i && row->thread != row[-1].thread)
            depth = 0;
        if (note_thread(ranges, i))
            return -ENOMEM;
        while (depth && ws_range(ranges, stack[depth - 1])->host_end <= row->host_begin)
            depth--;
        ranges->parents[i] = depth ? stack[depth - 1] : WS_NO_RANGE;
        if (depth < DEEPEST)
            stack[depth++] = i;
    }
    return 0;
}

void ws_ranges_finish(struct ws_ranges *ranges)
{
    ws_vector_finish(&ranges->rows);
    ws_vector_finish(&ranges->threads);
    free(ranges->parents);
    ranges->parents = NULL;
}

const struct ws_thread_rows *ws_rows_of_thread(const struct ws_vector *list, uint32_t thread)
{
    const struct ws_thread_rows *threads = list->data;
    size_t low = 0, high = list->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (threads[middle].thread < thread)
            low = middle + 1;
        else
            high = middle;
    }
    return low < list->count && threads[low].thread == thread ? &threads[low] : NULL;
}

uint32_t ws_ranges_at(const struct ws_ranges *ranges, uint32_t thread, int64_t time)
{
    const struct ws_thread_rows *of_thread = ws_rows_of_thread(&ranges->threads, thread);
    if (!of_thread)
        return WS_NO_RANGE;
    uint32_t low = of_thread->first, high = low + of_thread->count;
    while (low < high) { /* find the first range that begins after `time` */
        uint32_t middle = low + (high - low) / 2;
        if (ws_range(ranges, middle)->host_begin <= time)
            low = middle + 1;
        else
            high = middle;
    }
    uint32_t place = low > of_thread->first ? low - 1 : WS_NO_RANGE;
    while (place != WS_NO_RANGE && ws_range(ranges, place)->host_end <= time)
        place = ranges->parents[place];
    return place;
}
