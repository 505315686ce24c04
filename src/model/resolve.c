#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/pages.h"
#include "base/salted.h"
#include "model/build.h"
#include "model/native_frames.h"
#include "model/clock.h"
#include "model/prefault.h"

enum { MAX_LOST_SHAPES = 65536 };

/* The analyses of reports loop over the rows of a process once per device. The number of devices is limited so that
 * devices times rows stays below ROWS_BY_DEVICE. The limit is never below DEVICES_ANYHOW, the number of GPUs in the
 * largest machines. */
enum { ROWS_BY_DEVICE = 8 << 20, DEVICES_ANYHOW = 64 };

/* Makes a clock map for each context, and one more for operations without a known context. */
static int make_clocks(struct ws_process *process)
{
    const struct ws_context *contexts = process->contexts.rows.data;
    for (size_t i = 0; i <= process->contexts.rows.count; i++)
        if (!ws_process_clock(process, i < process->contexts.rows.count ? contexts[i].id : 0))
            return -ENOMEM;
    for (size_t i = 0; i < process->clocks.count; i++) {
        struct ws_clock_map *map = ws_process_clock_at(process, i);
        if (ws_vector_reach(&map->knots, map->points.count))
            return -ENOMEM;
        map->knots.count = ws_clock_choose_knots(map->points.data, map->points.count, map->knots.data);
    }
    return 0;
}

static uint32_t find_clock(const struct ws_process *process, uint32_t context)
{
    const uint64_t *place = ws_salted_get(&process->clock_of, (uint64_t)context + 1);
    return place ? (uint32_t)(*place - 1) : find_clock(process, 0);
}

static int resolve_by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static size_t most_devices(const struct ws_process *process)
{
    size_t rows = process->shape_rows.rows.count + process->streams.rows.count + process->contexts.rows.count +
                  process->functions.rows.count + process->collectives.count + process->ops.count / 4 + 1;
    size_t most = ROWS_BY_DEVICE / rows;
    return most < DEVICES_ANYHOW ? DEVICES_ANYHOW : most > WS_MOST_DEVICES ? WS_MOST_DEVICES : most;
}

/* Makes a track (one device as this process used it) for each device that has a context, and one for an unknown
 * device. */
static int make_tracks(struct ws_model *model, struct ws_process *process, uint32_t number)
{
    const struct ws_context *contexts = process->contexts.rows.data;
    size_t count = process->contexts.rows.count + 1;
    uint32_t *devices = calloc(count, sizeof(*devices));
    if (!devices)
        return -ENOMEM;
    for (size_t i = 0; i + 1 < count; i++)
        devices[i + 1] = contexts[i].device;
    qsort(devices, count, sizeof(*devices), resolve_by_number);
    process->devices_most = most_devices(process);
    process->first_track = (uint32_t)model->tracks.count;
    int status = 0;
    for (size_t i = 0; i < count && !status; i++) {
        if (i && devices[i] == devices[i - 1])
            continue;
        if (model->tracks.count - process->first_track > process->devices_most) {
            process->devices_beyond++;
            continue;
        }
        struct ws_track *track = ws_vector_push(&model->tracks);
        if (track)
            *track =
                (struct ws_track){ .process = number,
                                   .device = devices[i],
                                   .window = process->window ? ws_window_device(process->window, devices[i]) : NULL,
                                   .aligned = true };
        else
            status = -ENOMEM;
    }
    process->track_count = (uint32_t)model->tracks.count - process->first_track;
    free(devices);
    return status;
}

/* Uses a binary search, because the tracks of a process are ordered by device. */
uint32_t ws_process_find_track(const struct ws_model *model, const struct ws_process *process, uint32_t device)
{
    uint32_t low = 0, high = process->track_count;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (ws_model_track(model, process->first_track + middle)->device <= device)
            low = middle;
        else
            high = middle;
    }
    uint32_t found = process->first_track + low;
    return ws_model_track(model, found)->device == device ? found
                                                          /* The track for an unknown device. */
                                                          : process->first_track;
}

static int resolve_shape(struct ws_build *build, struct ws_process *process, struct ws_op_shape *shape)
{
    const struct ws_stream *stream = ws_entries_find(&process->streams, shape->row.stream);
    uint32_t context_id = stream ? stream->context : 0;
    /* If the stream's row is lost and there is only one context, the shape must belong to this context. */
    if (!stream && process->contexts.rows.count == 1)
        context_id = ((const struct ws_context *)process->contexts.rows.data)->id;
    const struct ws_context *context = ws_entries_find(&process->contexts, context_id);
    shape->stream = ws_entries_place(&process->streams, shape->row.stream);
    shape->context = find_clock(process, context_id);
    shape->track = ws_process_find_track(build->model, process, context ? context->device : 0);
    shape->name = ws_build_shape_name(build, process, shape);
    return shape->name == WS_NOWHERE ? -ENOMEM : 0;
}

static struct ws_op_shape *add_shape(struct ws_process *process)
{
    return ws_vector_push(&process->shapes);
}

/* Returns the index of an empty shape in place of a shape that the trace lacks. Beyond MAX_LOST_SHAPES, lost shapes
 * share the last index. */
static uint32_t lost_shape(struct ws_build *build, struct ws_process *process, struct ws_map *lost, uint32_t id)
{
    lost->limit = MAX_LOST_SHAPES;
    uint64_t *place = ws_salted_put(lost, (uint64_t)id + 1);
    if (!place)
        return (uint32_t)process->shapes.count - 1;
    if (!*place) {
        struct ws_op_shape *shape = add_shape(process);
        if (!shape)
            return WS_NOWHERE;
        *shape = (struct ws_op_shape){ .row.id = id, .lost = true };
        if (resolve_shape(build, process, shape))
            return WS_NOWHERE;
        *place = process->shapes.count;
    }
    return (uint32_t)(*place - 1);
}

/* Makes a table from a shape's identifier to its index. Identifiers count from 1, so a table of limited size covers
 * nearly all of them. */
static uint32_t *make_table(const struct ws_process *process, uint32_t *size)
{
    const struct ws_shape *rows = process->shape_rows.rows.data;
    *size = (uint32_t)(process->shape_rows.rows.count * 4 + 1024);
    uint32_t *table = malloc(*size * sizeof(*table));
    if (!table)
        return NULL;
    memset(table, 0xff, *size * sizeof(*table));
    for (size_t i = 0; i < process->shape_rows.rows.count; i++)
        if (rows[i].id < *size)
            table[rows[i].id] = (uint32_t)i;
    return table;
}

/* Fills ws_process.shapes. Afterwards the shape column of the operations holds indices into ws_process.shapes. */
static int resolve_shapes(struct ws_build *build, struct ws_process *process)
{
    const struct ws_shape *rows = process->shape_rows.rows.data;
    struct ws_map lost = { 0 };
    struct ws_ops *ops = &process->ops;
    uint32_t size;
    for (size_t i = 0; i < process->shape_rows.rows.count; i++) {
        struct ws_op_shape *shape = add_shape(process);
        if (!shape)
            return -ENOMEM;
        *shape = (struct ws_op_shape){ .row = rows[i] };
        if (resolve_shape(build, process, shape))
            return -ENOMEM;
    }
    uint32_t *table = make_table(process, &size);
    if (!table)
        return -ENOMEM;
    int status = 0;
    for (size_t i = 0; i < ops->count; i++) {
        uint32_t id = ops->shape[i];
        uint32_t place = id < size ? table[id] : ws_entries_place(&process->shape_rows, id);
        if (place == WS_NOWHERE)
            place = lost_shape(build, process, &lost, id);
        if (place == WS_NOWHERE) {
            status = -ENOMEM;
            break;
        }
        ops->shape[i] = place;
    }
    free(table);
    ws_map_finish(&lost);
    return status;
}

/* Removes the track for an unknown device if this track has no operations, as is usual. */
static void drop_empty_track(struct ws_model *model, struct ws_process *process)
{
    struct ws_track *first = ws_model_track(model, process->first_track);
    if (first->device || first->count || first->untimed || first->captured || first->failed || first->backwards ||
        first->passive)
        return;
    struct ws_op_shape *shapes = process->shapes.data;
    process->track_count--;
    model->tracks.count--;
    memmove(first, first + 1, process->track_count * sizeof(*first));
    for (size_t i = 0; i < process->shapes.count; i++)
        if (shapes[i].track > process->first_track)
            shapes[i].track--;
        else
            shapes[i].track = WS_NOWHERE;
}

/* Resolves shapes, maps times and orders the operations. Until the ordering begins, another thread faults in the
 * memory of the two arrays that the ordering fills. */
static int place_ops(struct ws_build *build, struct ws_process *process)
{
    size_t count = process->ops.count, bytes = count * sizeof(uint32_t);
    uint32_t *scratch = ws_pages_alloc(bytes);
    process->order = ws_pages_alloc(bytes);
    if (!scratch || !process->order) {
        free(scratch);
        return -ENOMEM;
    }
    const struct ws_prefault_array arrays[] = { { scratch, sizeof(*scratch) }, { process->order, sizeof(*scratch) } };
    struct ws_prefault *ahead = ws_prefault_start(arrays, 2, 0, count);
    int status = resolve_shapes(build, process);
    if (!status)
        status = ws_process_map_times(build->model, process);
    ws_prefault_stop(ahead);
    if (!status)
        status = ws_process_order(build->model, process, scratch);
    free(scratch);
    return status;
}

int ws_process_resolve(struct ws_build *build, uint32_t number)
{
    struct ws_model *model = build->model;
    struct ws_process *process = ws_model_process(model, number);
    int status = make_clocks(process);
    if (!status)
        status = make_tracks(model, process, number);
    if (!status)
        status = place_ops(build, process);
    if (!status)
        status = ws_ranges_order(&process->ranges);
    if (!status)
        status = ws_native_frames(&process->stacks, &model->texts);
    if (!status)
        status = ws_stacks_order(&process->stacks);
    if (!status)
        drop_empty_track(model, process);
    return status;
}
