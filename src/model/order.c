#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/build.h"
#include "model/parallel.h"
#include "model/sort.h"

/* The operations of a process, grouped into runs by stream, because a stream's operations are nearly in order
 * already. Operations without a stream make one run per track (a device as this process used it). Runs are grouped by
 * track: track t has the runs first[t] to first[t + 1] - 1. Run i is ops[starts[i]] to ops[starts[i + 1] - 1]. */
struct runs {
    size_t count;
    uint32_t *of_shape; /* for each shape: index of the run that holds its operations */
    size_t *first;
    size_t *starts;
    uint32_t *ops;
};

static void runs_finish(struct runs *runs)
{
    free(runs->of_shape);
    free(runs->first);
    free(runs->starts);
}

static size_t run_number(const struct ws_process *process, const struct ws_op_shape *shape)
{
    if (shape->stream != WS_NOWHERE)
        return shape->stream;
    return process->streams.rows.count + (shape->track - process->first_track);
}

/* Numbers the runs (operations of one stream) track by track. */
static int place_runs(const struct ws_process *process, struct runs *runs)
{
    const struct ws_op_shape *shapes = process->shapes.data;
    uint32_t *tracks = calloc(runs->count + 1, sizeof(*tracks)),
             *places = malloc((runs->count + 1) * sizeof(*places));
    runs->of_shape = malloc((process->shapes.count + 1) * sizeof(*runs->of_shape));
    runs->first = calloc(process->track_count + 2, sizeof(*runs->first));
    int status = tracks && places && runs->of_shape && runs->first ? 0 : -ENOMEM;
    if (status)
        goto out;
    for (size_t i = 0; i < process->shapes.count; i++)
        tracks[run_number(process, &shapes[i])] = shapes[i].track - process->first_track;
    for (size_t run = 0; run < runs->count; run++)
        runs->first[tracks[run] + 1]++;
    for (uint32_t track = 0; track < process->track_count; track++)
        runs->first[track + 1] += runs->first[track];
    for (size_t run = runs->count; run-- > 0;)
        places[run] = (uint32_t)--runs->first[tracks[run] + 1];
    /* first[t + 1] now holds the first run of track t: move all elements down by one index. */
    memmove(runs->first, runs->first + 1, process->track_count * sizeof(*runs->first));
    runs->first[process->track_count] = runs->count;
    for (size_t i = 0; i < process->shapes.count; i++)
        runs->of_shape[i] = places[run_number(process, &shapes[i])];
out:
    free(tracks);
    free(places);
    return status;
}

/* Several threads assign operations to runs. Each thread handles one part of the operations. */
struct filling {
    const struct ws_process *process;
    struct runs *runs;
    size_t *places; /* for each part and run: number of operations, later the next free index in runs->ops */
    unsigned parts;
};

static size_t first_of(const struct filling *filling, unsigned part)
{
    return filling->process->ops.count * part / filling->parts;
}

static void count_part(void *user, unsigned part)
{
    const struct filling *filling = user;
    const struct ws_ops *ops = &filling->process->ops;
    size_t *counts = filling->places + part * filling->runs->count, to = first_of(filling, part + 1);
    for (size_t i = first_of(filling, part); i < to; i++)
        if (ws_op_is_timed(ops, i))
            counts[filling->runs->of_shape[ops->shape[i]]]++;
}

static void fill_part(void *user, unsigned part)
{
    const struct filling *filling = user;
    const struct ws_ops *ops = &filling->process->ops;
    size_t *places = filling->places + part * filling->runs->count, to = first_of(filling, part + 1);
    for (size_t i = first_of(filling, part); i < to; i++)
        if (ws_op_is_timed(ops, i))
            filling->runs->ops[places[filling->runs->of_shape[ops->shape[i]]]++] = (uint32_t)i;
}

static int fill_runs(const struct ws_process *process, struct runs *runs)
{
    struct filling filling = { process, runs, NULL, ws_parallel_parts(process->ops.count) };
    runs->starts = calloc(runs->count + 1, sizeof(*runs->starts));
    filling.places = calloc(filling.parts * runs->count + 1, sizeof(*filling.places));
    if (!runs->starts || !filling.places) {
        free(filling.places);
        return -ENOMEM;
    }
    ws_parallel(filling.parts, count_part, &filling);
    size_t place = 0;
    for (size_t run = 0; run < runs->count; run++) {
        runs->starts[run] = place;
        for (unsigned part = 0; part < filling.parts; part++) {
            size_t *first = &filling.places[part * runs->count + run], count = *first;
            *first = place;
            place += count;
        }
    }
    runs->starts[runs->count] = place;
    ws_parallel(filling.parts, fill_part, &filling);
    free(filling.places);
    return 0;
}

static int merge_track(const struct ws_ops *ops, const struct runs *runs, struct ws_track *track, size_t number)
{
    size_t from = runs->first[number], to = runs->first[number + 1];
    for (size_t i = from; i < to; i++)
        if (ws_sort_by_time(runs->ops + runs->starts[i], runs->starts[i + 1] - runs->starts[i], &ops->begin))
            return -ENOMEM;
    return ws_merge_by_time(track->order, runs->ops, runs->starts + from, to - from, &ops->begin);
}

int ws_process_order(struct ws_model *model, struct ws_process *process, uint32_t *scratch)
{
    struct runs runs = { .count = process->streams.rows.count + process->track_count, .ops = scratch };
    uint32_t *order = process->order;
    int status = place_runs(process, &runs);
    if (!status)
        status = fill_runs(process, &runs);
    for (uint32_t i = 0; i < process->track_count && !status; i++) {
        struct ws_track *track = ws_model_track(model, process->first_track + i);
        track->order = order;
        order += track->count;
        status = merge_track(&process->ops, &runs, track, i);
    }
    runs_finish(&runs);
    return status;
}
