/* The ranges of a process: named intervals that the program or its framework marks on a thread. Ranges of one thread
 * are usually nested or disjoint. If two overlap without being nested, the range that begins later counts as the
 * inner range. */
#ifndef WALLSHIM_MODEL_RANGES_H
#define WALLSHIM_MODEL_RANGES_H

#include <stddef.h>
#include <stdint.h>

#include "base/vector.h"
#include "record/record.h"

#define WS_NO_RANGE UINT32_MAX

/* The rows of one thread in a list that is ordered by thread: indices first to first + count - 1. */
struct ws_thread_rows {
    uint32_t thread; /* identifier of the thread in the trace */
    uint32_t first;
    uint32_t count;
};

struct ws_ranges {
    /* The ranges (struct ws_range), in file order until ws_ranges_order sorts them. An index of a sorted range in
     * `rows` is called a place. */
    struct ws_vector rows;
    struct ws_vector threads; /* elements: struct ws_thread_rows, ordered by identifier */
    uint32_t *parents;        /* for each range: place of the enclosing range on the same thread, or WS_NO_RANGE */
};

/* Orders rows by thread and begin, with outer ranges before inner ranges. Returns 0, -ENOMEM, or -EFBIG if there
 * are too many ranges for 32-bit indices. */
int ws_ranges_order(struct ws_ranges *ranges);

void ws_ranges_finish(struct ws_ranges *ranges);

/* Returns the place (index in the ordered rows) of the thread's innermost range at a time, or WS_NO_RANGE. `thread`
 * is the thread's identifier in the trace. */
uint32_t ws_ranges_at(const struct ws_ranges *ranges, uint32_t thread, int64_t time);

/* Returns the rows of a thread, or NULL. threads: struct ws_thread_rows, ordered by identifier. */
const struct ws_thread_rows *ws_rows_of_thread(const struct ws_vector *threads, uint32_t thread);

static inline const struct ws_range *ws_range(const struct ws_ranges *ranges, uint32_t place)
{
    return (const struct ws_range *)ranges->rows.data + place;
}

#endif
