#include "model/window.h"

#include "base/minmax.h"

static bool window_take_range(const struct ws_window *window, struct ws_range *range)
{
    bool whole = range->host_begin >= window->begin && range->host_end <= window->end;
    bool is_before = range->host_end <= window->begin && range->host_begin < window->begin;
    if (range->host_begin >= window->end || is_before || (range->kind == WS_RANGE_STEP && !whole))
        return false;
    range->host_begin = ws_max(range->host_begin, window->begin);
    range->host_end = ws_min(range->host_end, window->end);
    return true;
}

/* Is the loss in the window? Importers give time 0 to losses, because they count them for the whole file. */
static bool takes_loss(const struct ws_window *window, const struct ws_loss *loss)
{
    int64_t late = ws_sum(window->end, WS_LOSSES_LATE);
    return !loss->host_ns || (loss->host_ns >= window->begin && loss->host_ns < late);
}

bool ws_window_take(const struct ws_window *window, enum ws_family family, void *row)
{
    switch (family) {
    case WS_FAMILY_op:
        return ws_window_holds(window, ((const struct ws_op *)row)->host_begin);
    case WS_FAMILY_call:
        return ws_window_holds(window, ((const struct ws_call *)row)->host_begin);
    case WS_FAMILY_collective:
        return ws_window_holds(window, ((const struct ws_collective *)row)->host_begin);
    case WS_FAMILY_health:
        return ws_window_holds(window, ((const struct ws_health *)row)->host_ns);
    case WS_FAMILY_stack:
        return ws_window_holds(window, ((const struct ws_stack *)row)->host_ns);
    case WS_FAMILY_range:
        return window_take_range(window, row);
    case WS_FAMILY_loss:
        return takes_loss(window, row);
    default:
        return true;
    }
}

const struct ws_window_device *ws_window_device(const struct ws_window *window, uint32_t device)
{
    const struct ws_window_device *list = window->devices.data;
    for (size_t i = 0; i < window->devices.count; i++)
        if (list[i].device == device)
            return &list[i];
    return NULL;
}
