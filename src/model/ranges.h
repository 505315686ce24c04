/* The ranges of a process: what its threads were doing, in the names of the program and its
 * framework. Ranges of one thread lie in one another or apart; where a trace has them overlap, the one
 * that began later counts as inside.
 */
#ifndef WALLSHIM_MODEL_RANGES_H
#define WALLSHIM_MODEL_RANGES_H

#include <stddef.h>
#include <stdint.h>

#include "base/vector.h"
#include "record/record.h"

#define WS_NO_RANGE UINT32_MAX

/* The ranges of one thread: places first up to first + count. */
struct ws_thread_ranges {
    uint32_t thread; /* identifier in the trace */
    uint32_t first;
    uint32_t count;
};

struct ws_ranges {
    struct ws_vector rows;    /* struct ws_range; by place after ws_ranges_order, until then as they came */
    struct ws_vector threads; /* struct ws_thread_ranges, by identifier */
    uint32_t *parents;        /* by place: the range around it on its thread, or WS_NO_RANGE */
};

/* Puts rows in order of thread and begin, the outer before the inner. Returns 0 or -ENOMEM. */
int ws_ranges_order(struct ws_ranges *ranges);

void ws_ranges_finish(struct ws_ranges *ranges);

/* The innermost range of a thread (identifier in the trace) at a time: its place, or WS_NO_RANGE. */
uint32_t ws_ranges_at(const struct ws_ranges *ranges, uint32_t thread, int64_t time);

/* The ranges of a thread; NULL when it has none. */
const struct ws_thread_ranges *ws_ranges_of_thread(const struct ws_ranges *ranges, uint32_t thread);

static inline const struct ws_range *ws_range(const struct ws_ranges *ranges, uint32_t place)
{
    return (const struct ws_range *)ranges->rows.data + place;
}

#endif
