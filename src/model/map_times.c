#include <errno.h>
#include <stdlib.h>

#include "base/minmax.h"
#include "model/build.h"
#include "model/clock.h"
#include "model/parallel.h"

/* Returns NULL if the operation has an interval (a valid start and end on its device). Otherwise returns the track's
 * counter of operations that have no interval for the same reason. */
static uint64_t *why_untimed(struct ws_track *track, enum ws_activity activity, uint32_t flags)
{
    if (flags & WS_OP_CAPTURED)
        return &track->captured;
    if (flags & WS_OP_FAILED)
        return &track->failed;
    if (activity == WS_ACTIVITY_NONE)
        return &track->passive;
    if (!(flags & WS_OP_BEGIN_QUALITY) || !(flags & WS_OP_END_QUALITY))
        return &track->untimed;
    if (flags & WS_OP_BACKWARDS)
        return &track->backwards;
    return NULL;
}

/* A range of operations whose times one thread maps to the host's clock. Each thread counts its operations in its own
 * copy of the tracks. The threads allocate no memory in the model. An interval that needs memory in the model is kept
 * in `far`, and stored in the model after all threads have ended. */
struct share {
    size_t from, to; /* the operations from `from` to `to` - 1: whole blocks of ws_times */
    struct ws_clock_cursor *cursors;
    struct ws_track *tracks;
    struct ws_vector far; /* struct interval: intervals that need memory in the model */
    int status;
};

struct interval {
    size_t op;
    int64_t begin, end;
    bool timed;
};

struct mapping {
    struct ws_model *model;
    struct ws_process *process;
    struct share shares[WS_MOST_PARTS];
};

static int share_init(const struct ws_process *process, struct share *share)
{
    share->far = WS_VECTOR(struct interval);
    share->cursors = calloc(process->clocks.count, sizeof(*share->cursors));
    share->tracks = calloc(process->track_count, sizeof(*share->tracks));
    if (!share->cursors || !share->tracks)
        return -ENOMEM;
    for (size_t i = 0; i < process->clocks.count; i++) {
        const struct ws_clock_map *map = ws_process_clock_at(process, i);
        ws_clock_cursor_init(&share->cursors[i], map->knots.data, map->knots.count);
    }
    for (uint32_t i = 0; i < process->track_count; i++)
        share->tracks[i].aligned = true;
    return 0;
}

static void share_finish(struct share *share)
{
    free(share->cursors);
    free(share->tracks);
    ws_vector_finish(&share->far);
}

/* Maps the start and end of an operation to the host's clock, and counts the operation in its track. */
static struct interval map_one(const struct mapping *mapping, struct share *share, size_t op)
{
    struct ws_ops *ops = &mapping->process->ops;
    const struct ws_op_shape *shape = ws_process_shape(mapping->process, ops->shape[op]);
    struct ws_track *track = &share->tracks[shape->track - mapping->process->first_track];
    struct ws_clock_cursor *cursor = &share->cursors[shape->context];
    struct interval mapped = { .op = op };
    uint64_t *counter = why_untimed(track, ws_model_name(mapping->model, shape->name)->activity, ops->flags[op]);
    if (!counter) {
        mapped.begin = ws_clock_to_host(cursor, ws_op_begin(ops, op));
        mapped.end = ws_clock_to_host(cursor, ws_op_end(ops, op));
        if (ws_op_has_call(ops, op)) {
            mapped.begin =
                ws_clock_launched(cursor, mapped.begin, ws_op_host_begin(ops, op), ws_op_begin_error(ops, op));
            mapped.end = ws_max(mapped.end, mapped.begin);
        }
        if (mapped.begin < -WS_TIME_MOST || mapped.end > WS_TIME_MOST) {
            ops->flags[op] |= WS_OP_BACKWARDS;
            counter = &track->backwards;
        }
    }
    if (counter) {
        ++*counter;
        return mapped;
    }
    mapped.timed = true;
    ops->flags[op] |= WS_OP_TIMED;
    track->count++; /* NOLINT(clang-analyzer-core.NullDereference): the analyzer mistakes &track->captured for NULL */
    track->aligned &= cursor->count > 0;
    if (cursor->error_ns > track->clock_error)
        track->clock_error = cursor->error_ns;
    return mapped;
}

/* Maps the times of one block of ws_times. Reads all times before it changes the base of the block, because the times
 * are stored relative to the base. */
static int map_block(const struct mapping *mapping, struct share *share, size_t from, size_t to)
{
    struct ws_ops *ops = &mapping->process->ops;
    struct interval mapped[WS_TIMES_BLOCK];
    size_t count = 0;
    for (size_t op = from; op < to; op++) {
        mapped[count] = map_one(mapping, share, op);
        count += mapped[count].timed;
    }
    if (count)
        ws_times_base(&ops->begin, from, mapped[0].begin);
    for (size_t i = 0; i < count; i++) {
        if (ws_ops_fit_interval(ops, mapped[i].op, mapped[i].begin, mapped[i].end))
            continue;
        struct interval *far = ws_vector_push(&share->far);
        if (!far)
            return -ENOMEM;
        *far = mapped[i];
    }
    return 0;
}

static void map_share(void *user, unsigned part)
{
    struct mapping *mapping = user;
    struct share *share = &mapping->shares[part];
    for (size_t from = share->from; from < share->to && !share->status; from += WS_TIMES_BLOCK) {
        size_t to = share->to - from < WS_TIMES_BLOCK ? share->to : from + WS_TIMES_BLOCK;
        share->status = map_block(mapping, share, from, to);
    }
}

static void add_track(struct ws_track *track, const struct ws_track *more)
{
    track->count += more->count;
    track->untimed += more->untimed;
    track->captured += more->captured;
    track->failed += more->failed;
    track->backwards += more->backwards;
    track->passive += more->passive;
    track->aligned &= more->aligned;
    if (more->clock_error > track->clock_error)
        track->clock_error = more->clock_error;
}

/* Adds the results of one thread's range of operations to the model. */
static int merge_share(const struct mapping *mapping, const struct share *share)
{
    struct ws_process *process = mapping->process;
    const struct interval *far = share->far.data;
    int status = share->status;
    for (uint32_t i = 0; i < process->track_count; i++)
        add_track(ws_model_track(mapping->model, process->first_track + i), &share->tracks[i]);
    for (size_t i = 0; i < process->clocks.count; i++)
        if (share->cursors[i].error_ns > ws_process_clock_at(process, i)->error_ns)
            ws_process_clock_at(process, i)->error_ns = share->cursors[i].error_ns;
    for (size_t i = 0; i < share->far.count && !status; i++)
        status = ws_ops_set_interval(&process->ops, far[i].op, far[i].begin, far[i].end);
    return status;
}

int ws_process_map_times(struct ws_model *model, struct ws_process *process)
{
    struct mapping mapping = { .model = model, .process = process };
    size_t count = process->ops.count, blocks = count / WS_TIMES_BLOCK + 1;
    unsigned parts = ws_parallel_parts(count);
    int status = 0;
    for (unsigned i = 0; i < parts && !status; i++) {
        struct share *share = &mapping.shares[i];
        share->from = blocks * i / parts * WS_TIMES_BLOCK;
        share->to = i + 1 < parts ? blocks * (i + 1) / parts * WS_TIMES_BLOCK : count;
        status = share_init(process, share);
    }
    if (!status)
        ws_parallel(parts, map_share, &mapping);
    for (unsigned i = 0; i < parts && !status; i++)
        status = merge_share(&mapping, &mapping.shares[i]);
    for (unsigned i = 0; i < parts; i++)
        share_finish(&mapping.shares[i]);
    return status;
}
