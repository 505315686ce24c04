#include "collector/figures_device.h"

#include <stdlib.h>
#include <string.h>

#include "base/minmax.h"

/* These limits have the same values as those of the report (analysis/gaps/gaps.h, storms.h). Times are in ns.
 * SYNC_SHARE and STORM_SHARE are divisors: a quarter, a tenth. */
enum {
    DISPATCH_MOST = 20000,
    LAUNCH_MOST = 100000,
    SYNC_SHARE = 4,
    WINDOW = 250000000,
    STORM_GAPS = 16,
    STORM_MEAN = 10000,
    STORM_SHARE = 10,
    FIRST_BUFFER = 256,
};

static int earliest_first(const void *a, const void *b)
{
    const struct figures_op *x = a, *y = b;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

static int64_t reach_of_all(const struct figures_device *device)
{
    return ws_max(ws_max(device->reach[FIGURES_COMPUTE], device->reach[FIGURES_COMMUNICATION]),
                  device->reach[FIGURES_MEMORY]);
}

/* Counts for how long the device is busy between device->now (where the time counted so far ends) and `next`. No
 * operation begins in between. So each group of operations is busy from device->now to the latest end of its
 * operations (`reach`). */
static void slice(struct figures_device *device, int64_t next)
{
    int64_t runs[FIGURES_GROUPS];
    for (int i = 0; i < FIGURES_GROUPS; i++) {
        runs[i] = ws_max(ws_min(device->reach[i], next) - device->now, 0);
        device->group_ns[i] += runs[i];
    }
    int64_t both = ws_max(runs[FIGURES_COMPUTE], runs[FIGURES_COMMUNICATION]);
    device->busy_ns += ws_max(both, runs[FIGURES_MEMORY]);
    device->exposed_ns += both - runs[FIGURES_COMPUTE];
    device->now = next;
}

static int64_t overlap(const struct figures_op *op, int64_t begin, int64_t end)
{
    return ws_max(ws_min(op->launch_end, end) - ws_max(op->launch_begin, begin), 0);
}

/* Returns the cause of a gap's first part, from `begin` to `until`. In that part, the operation after the gap was not
 * launched yet, or its launch call ran. */
static enum figures_cause late_cause(const struct figures_waits *waits, const struct figures_op *op, int64_t begin,
                                     int64_t until)
{
    int64_t sums[FIGURES_WAIT_COUNT], length = until - begin;
    bool known = figures_waits_within(waits, op->thread, begin, until, sums);
    int64_t waited = ws_max(sums[FIGURES_WAIT_SYNC], sums[FIGURES_WAIT_ALLOCATION]);
    if (known && waited >= length / SYNC_SHARE)
        return sums[FIGURES_WAIT_SYNC] >= sums[FIGURES_WAIT_ALLOCATION] ? FIGURES_CAUSE_SYNC
                                                                        : FIGURES_CAUSE_ALLOCATION;
    if (overlap(op, begin, until) > length / 2 || (known && length < LAUNCH_MOST))
        return FIGURES_CAUSE_LAUNCH;
    return FIGURES_CAUSE_UNKNOWN;
}

/* Returns when the operation after a gap was queued, or the gap's `begin` if that is later. It was queued when its
 * launch call began, or when the call ended if more than DISPATCH_MOST of the call lies in the gap. If the operation
 * began at most DISPATCH_MOST after that time, as it does after a launch on an idle device, returns the operation's
 * begin instead. The whole gap then counts as waiting for the launch. */
static int64_t queued_from(const struct figures_op *op, int64_t begin)
{
    bool long_call = overlap(op, begin, op->begin) > DISPATCH_MOST;
    int64_t until = ws_clamp(long_call ? op->launch_end : op->launch_begin, begin, op->begin);
    bool usual = until > begin && op->begin - until <= DISPATCH_MOST; /* a launch on an idle device takes this long */
    return usual ? op->begin : until;
}

static void count_gap(struct figures_device *device, const struct figures_waits *waits, const struct figures_op *op,
                      int64_t begin)
{
    if (!op->thread || op->launch_end < op->launch_begin) {
        device->gap_ns[FIGURES_CAUSE_UNKNOWN] += op->begin - begin;
        return;
    }
    int64_t until = queued_from(op, begin), queued = op->begin - until;
    if (until > begin) {
        enum figures_cause cause = late_cause(waits, op, begin, until);
        device->gap_ns[cause] += until - begin;
        if (cause == FIGURES_CAUSE_LAUNCH && until - begin < LAUNCH_MOST) {
            device->window.launch_gaps++;
            device->window.launch_gap_ns += until - begin;
        }
    }
    device->gap_ns[queued <= DISPATCH_MOST ? FIGURES_CAUSE_DISPATCH : FIGURES_CAUSE_WAIT] += queued;
}

static void judge_window(struct figures_device *device, int64_t end)
{
    struct figures_window *window = &device->window;
    device->storm = window->launch_gaps >= STORM_GAPS && window->run_ns / STORM_MEAN < (int64_t)window->operations &&
                    window->launch_gap_ns >= (end - window->begin) / STORM_SHARE;
    *window = (struct figures_window){ .begin = end };
}

static void sweep_op(struct figures_device *device, const struct figures_waits *waits, struct figures_op *op)
{
    if (!device->begun) {
        device->begun = true;
        device->now = device->window.begin = op->begin;
        for (int i = 0; i < FIGURES_GROUPS; i++)
            device->reach[i] = op->begin;
    }
    if (op->begin < device->now) {
        device->late++;
        op->begin = device->now;
        if (op->end <= op->begin)
            return;
    }
    int64_t reach = reach_of_all(device);
    slice(device, op->begin);
    if (reach < op->begin)
        count_gap(device, waits, op, reach);
    device->reach[op->group] = ws_max(device->reach[op->group], op->end);
    device->window.operations++;
    device->window.run_ns += op->end - op->begin;
    if (op->begin - device->window.begin >= WINDOW)
        judge_window(device, op->begin);
}

/* Counts the operations of the buffer that begin before `horizon`, in order of their begins, but at least the first
 * `least` operations. Removes them from the buffer. */
static void sweep(struct figures_device *device, const struct figures_waits *waits, int64_t horizon, uint32_t least)
{
    uint32_t done = 0;
    if (device->unsorted)
        qsort(device->buffer, device->count, sizeof(*device->buffer), earliest_first);
    device->unsorted = false;
    while (done < device->count && (done < least || device->buffer[done].begin < horizon))
        sweep_op(device, waits, &device->buffer[done++]);
    device->count -= done;
    if (done && device->count)
        memmove(device->buffer, device->buffer + done, device->count * sizeof(*device->buffer));
}

static bool has_room(struct figures_device *device, struct figures_memory *memory)
{
    size_t size = sizeof(*device->buffer);
    if (device->count < device->capacity)
        return true;
    uint32_t capacity = device->capacity ? 2 * device->capacity : FIRST_BUFFER;
    void *buffer = capacity <= FIGURES_BUFFER_MAX
                       ? figures_resize(memory, device->buffer, device->capacity * size, capacity * size)
                       : NULL;
    if (buffer) {
        device->buffer = buffer;
        device->capacity = capacity;
    }
    return buffer != NULL;
}

void figures_device_add(struct figures_device *device, struct figures_memory *memory,
                        const struct figures_waits *waits, const struct figures_op *op)
{
    if (!has_room(device, memory)) {
        if (!device->capacity)
            return;
        sweep(device, waits, INT64_MIN, device->count / 2);
    }
    if (device->count && op->begin < device->buffer[device->count - 1].begin)
        device->unsorted = true;
    device->newest = device->changed || device->count ? ws_max(device->newest, op->begin) : op->begin;
    device->buffer[device->count++] = *op;
    device->changed = true;
}

void figures_device_settle(struct figures_device *device, const struct figures_waits *waits)
{
    sweep(device, waits, INT64_MAX, device->count);
    if (device->begun && reach_of_all(device) > device->now)
        slice(device, reach_of_all(device));
    device->storm = false; /* no operation is left that could be part of a storm */
    device->window = (struct figures_window){ .begin = device->now };
}

void figures_device_tick(struct figures_device *device, const struct figures_waits *waits)
{
    if (device->changed)
        sweep(device, waits, device->newest - FIGURES_SETTLE_NS, 0);
    else
        figures_device_settle(device, waits);
    device->changed = false;
}

void figures_device_finish(struct figures_device *device, struct figures_memory *memory)
{
    memory->used -= device->capacity * sizeof(*device->buffer);
    free(device->buffer);
    device->buffer = NULL;
    device->count = device->capacity = 0;
}
