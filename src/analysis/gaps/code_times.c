#include "analysis/gaps/code_times.h"

#include <errno.h>
#include <stdlib.h>

#include "base/salted.h"
#include "model/host.h"

/* Returns the entry of `times` for a frame, which is the innermost frame of a stack. If the trace lacks the frame,
 * returns the last entry, which is for time without a stack. */
static struct ws_code_time *time_of(const struct ws_process *process, uint32_t frame, struct ws_code_time *times)
{
    uint32_t index = ws_entries_place(&process->stacks.frames, frame);
    return &times[index < process->stacks.frames.rows.count ? index : process->stacks.frames.rows.count];
}

/* Returns the end of the call that a thread began at `time`. `cursor` iterates over the calls of this thread. If the
 * thread began no call at that time, returns `time` itself. */
static int64_t end_of_call(const struct ws_host *host, struct ws_host_cursor *cursor, int64_t time)
{
    struct ws_host_event event;
    ws_host_seek(host, cursor, time);
    while (ws_host_next(host, cursor, time + 1, &event))
        if (event.begin == time)
            return ws_max(event.end, time);
    return time;
}

static size_t host_thread(const struct ws_process *process, uint32_t thread)
{
    const uint32_t *threads = process->ops.threads.data;
    size_t at = 0;
    while (at < process->ops.threads.count && threads[at] != thread)
        at++;
    return at;
}

static void add_host_times(const struct ws_host *host, const struct ws_process *process,
                           const struct ws_thread_rows *thread, struct ws_code_time *times)
{
    const struct ws_stack *rows = (const struct ws_stack *)process->stacks.rows.data + thread->first;
    struct ws_host_cursor cursor = { .thread = host_thread(process, thread->thread) };
    int64_t until = rows[0].host_ns;
    for (uint32_t i = 0; i < thread->count; i++) {
        struct ws_code_time *time = time_of(process, rows[i].frame, times);
        int64_t end = rows[i].host_ns;
        if (rows[i].in_pause && i + 1 < thread->count)
            end = rows[i + 1].host_ns;
        else if (!rows[i].in_pause && cursor.thread < host->thread_count)
            end = end_of_call(host, &cursor, end);
        time->stacks++;
        time->host = ws_sum(time->host, ws_max(end - until, 0));
        until = ws_max(until, end);
    }
}

int ws_code_host_times(const struct ws_process *process, struct ws_code_time *times)
{
    const struct ws_thread_rows *threads = process->stacks.threads.data;
    struct ws_host host;
    int status = ws_host_init(&host, process);
    for (size_t i = 0; i < process->stacks.threads.count && !status; i++)
        add_host_times(&host, process, &threads[i], times);
    ws_host_finish(&host);
    return status;
}

/* `time`: device time of all operations of a shape (kernel, grid, stream …), ns. `stacks`: number of stacks that
 * share this time. `given`: number of shares handed out so far. */
struct shared {
    int64_t time;
    uint32_t stacks, given;
};

static void sum_shapes(const struct ws_process *process, const struct ws_track *track, struct shared *shapes)
{
    for (size_t i = 0; i < track->count; i++) {
        uint32_t op = track->order[i];
        int64_t *time = &shapes[process->ops.shape[op]].time;
        *time = ws_sum(*time, ws_op_end(&process->ops, op) - ws_op_begin(&process->ops, op));
    }
}

/* Maps the id of each shape to its index in ws_process.shapes, + 1. Returns 0 or -ENOMEM. */
static int index_shapes(const struct ws_process *process, struct ws_map *indices)
{
    for (size_t i = 0; i < process->shapes.count; i++) {
        uint32_t id = ws_process_shape(process, i)->row.id;
        uint64_t *index = id ? ws_salted_put(indices, id) : NULL;
        if (id && !index)
            return -ENOMEM;
        if (index)
            *index = i + 1;
    }
    return 0;
}

/* Divides `time` into `stacks` equal shares, and returns the next share. If there is a remainder, the first shares
 * get one ns more, so that all shares add up to `time`. */
static int64_t next_share(struct shared *shape)
{
    int64_t part = shape->time / shape->stacks, rest = shape->time % shape->stacks;
    return part + (shape->given++ < rest);
}

static void share_out(const struct ws_process *process, const struct ws_map *indices, struct shared *shapes,
                      struct ws_code_time *times)
{
    const struct ws_stack *rows = process->stacks.rows.data;
    struct ws_code_time *without = &times[process->stacks.frames.rows.count];
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < process->stacks.rows.count; i++) {
            const uint64_t *index = rows[i].shape ? ws_salted_get(indices, rows[i].shape) : NULL;
            if (!index)
                continue;
            struct shared *shape = &shapes[*index - 1];
            struct ws_code_time *time = time_of(process, rows[i].frame, times);
            if (!pass)
                shape->stacks++;
            else
                time->device = ws_sum(time->device, next_share(shape));
        }
    for (size_t i = 0; i < process->shapes.count; i++)
        if (!shapes[i].stacks)
            without->device = ws_sum(without->device, shapes[i].time);
}

int ws_code_device_times(const struct ws_process *process, const struct ws_track *track, struct ws_code_time *times)
{
    struct shared *shapes = calloc(process->shapes.count + 1, sizeof(*shapes));
    struct ws_map indices = { 0 };
    int status = shapes ? index_shapes(process, &indices) : -ENOMEM;
    if (!status) {
        sum_shapes(process, track, shapes);
        share_out(process, &indices, shapes, times);
    }
    ws_map_finish(&indices);
    free(shapes);
    return status;
}

void ws_code_idle_times(const struct ws_process *process, const struct ws_track_causes *causes,
                        struct ws_code_time *times)
{
    const struct ws_gap_line *lines = causes->lines.data;
    size_t frames = process->stacks.frames.rows.count;
    for (size_t i = 0; i < causes->lines.count; i++) {
        struct ws_code_time *time = &times[ws_min((size_t)lines[i].source.frame, frames)];
        time->idle = ws_sum(time->idle, lines[i].gaps.total);
    }
}
