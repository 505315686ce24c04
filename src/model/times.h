/* A column of times, four bytes per row: the distance from the base of the row's block. Adjacent rows are mostly
 * close in time. Times more than 2.1 s from the base are stored in a map. */
#ifndef WALLSHIM_MODEL_TIMES_H
#define WALLSHIM_MODEL_TIMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"

enum { WS_TIMES_BLOCK = 32 }; /* number of rows that share a base */

/* A structure filled with zeros is an empty column. */
struct ws_times {
    int32_t *offsets;  /* for each row: distance from its block's base in ns; WS_TIME_FAR: the time is in `far` */
    int64_t *bases;    /* base of each block, in ns */
    struct ws_map far; /* 1 + row → time that is too far from the base of its block */
};

#define WS_TIME_FAR INT32_MIN

/* Makes room for `capacity` rows without losing the times of the first `count` rows. Returns 0 or -ENOMEM. */
int ws_times_reach(struct ws_times *times, size_t count, size_t capacity);
void ws_times_finish(struct ws_times *times);

int64_t ws_times_far(const struct ws_times *times, size_t row);
int ws_times_set_far(struct ws_times *times, size_t row, int64_t time);

static inline int64_t ws_times_get(const struct ws_times *times, size_t row)
{
    int32_t offset = times->offsets[row];
    return offset != WS_TIME_FAR ? times->bases[row / WS_TIMES_BLOCK] + offset : ws_times_far(times, row);
}

/* Sets the base of the row's block. All times in the block must be set afterwards. */
static inline void ws_times_base(struct ws_times *times, size_t row, int64_t base)
{
    times->bases[row / WS_TIMES_BLOCK] = base;
}

/* Sets a time if its distance from the base of the block fits 32 bits. If the distance does not fit, returns false,
 * and the caller must use ws_times_set_far. */
static inline bool ws_times_fit(struct ws_times *times, size_t row, int64_t time)
{
    int64_t offset;
    bool fits = !__builtin_sub_overflow(time, times->bases[row / WS_TIMES_BLOCK], &offset) && offset > INT32_MIN &&
                offset <= INT32_MAX;
    times->offsets[row] = fits ? (int32_t)offset : WS_TIME_FAR;
    return fits;
}

/* Sets any time. Returns 0 or -ENOMEM. */
static inline int ws_times_set(struct ws_times *times, size_t row, int64_t time)
{
    return ws_times_fit(times, row, time) ? 0 : ws_times_set_far(times, row, time);
}

/* Sets the time of the next row. Rows must be set in order, beginning with row 0. The first row of each block sets
 * the base. */
static inline int ws_times_append(struct ws_times *times, size_t row, int64_t time)
{
    if (row % WS_TIMES_BLOCK == 0)
        ws_times_base(times, row, time);
    return ws_times_set(times, row, time);
}

#endif
