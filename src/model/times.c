#include "model/times.h"

#include <errno.h>
#include <stdlib.h>

#include "base/pages.h"
#include "base/salted.h"

static size_t times_blocks(size_t rows)
{
    return (rows + WS_TIMES_BLOCK - 1) / WS_TIMES_BLOCK;
}

int ws_times_reach(struct ws_times *times, size_t count, size_t capacity)
{
    int32_t *offsets =
        ws_pages_grow(times->offsets, count * sizeof(*times->offsets), capacity * sizeof(*times->offsets));
    if (!offsets)
        return -ENOMEM;
    times->offsets = offsets;
    int64_t *bases = ws_pages_grow(times->bases, times_blocks(count) * sizeof(*times->bases),
                                   times_blocks(capacity) * sizeof(*times->bases));
    if (!bases)
        return -ENOMEM;
    times->bases = bases;
    return 0;
}

void ws_times_finish(struct ws_times *times)
{
    free(times->offsets);
    free(times->bases);
    ws_map_finish(&times->far);
}

int64_t ws_times_far(const struct ws_times *times, size_t row)
{
    const uint64_t *time = ws_salted_get(&times->far, (uint64_t)row + 1);
    return time ? (int64_t)*time : 0;
}

int ws_times_set_far(struct ws_times *times, size_t row, int64_t time)
{
    uint64_t *place = ws_salted_put(&times->far, (uint64_t)row + 1);
    if (!place)
        return -ENOMEM;
    *place = (uint64_t)time;
    return 0;
}
