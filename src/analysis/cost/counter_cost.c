#include "analysis/cost/counter_cost.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/salted.h"
#include "base/vector.h"

enum { METRICS = 64 }; /* maximum number of metrics per device; the shim records fewer than this */

struct sum {
    double value;
    uint64_t count;
};

/* A configuration: a kernel with its grid, block and shared memory. */
struct configuration {
    uint32_t name, grid[3], block[3], shared;
    /* by index in ws_counter_costs.metrics: sum and number of the values that launches gave for the metric */
    struct sum sums[METRICS];
    struct ws_counter_cost counted;
};

struct ws_counter_costs {
    const struct ws_metric *metrics[METRICS]; /* metrics of the device, sorted by group */
    size_t metric_count;
    struct ws_vector configurations; /* elements: struct configuration */
    struct ws_map places;            /* hash of a configuration → index of the configuration + 1 */
    /* by index of a shape: index of the shape's configuration + 1; 0: the trace has no counters for this
     * configuration */
    uint32_t *of_shape;
};

static void gather_metrics(struct ws_counter_costs *counts, const struct ws_process *process, uint32_t device)
{
    const struct ws_metric *rows = process->metrics.rows.data;
    for (size_t i = 0; i < process->metrics.rows.count && counts->metric_count < METRICS; i++)
        if (rows[i].device == device)
            counts->metrics[counts->metric_count++] = &rows[i];
}

static size_t place_of_metric(const struct ws_counter_costs *counts, uint32_t id)
{
    size_t place = counts->metric_count ? id - counts->metrics[0]->id : 0;
    if (place < counts->metric_count && counts->metrics[place]->id == id)
        return place;
    place = 0;
    while (place < counts->metric_count && counts->metrics[place]->id != id)
        place++;
    return place;
}

/* Sets *place to the index + 1 of the shape's configuration. If `counts` lacks this configuration, adds it if `make`
 * is true, and sets *place to 0 if `make` is false. Returns 0 or -ENOMEM. */
static int counter_cost_find(struct ws_counter_costs *counts, const struct ws_op_shape *shape, bool make,
                             uint32_t *place)
{
    const struct ws_shape *row = &shape->row;
    struct configuration wanted = { .name = shape->name,
                                    .grid = { row->grid_x, row->grid_y, row->grid_z },
                                    .block = { row->block_x, row->block_y, row->block_z },
                                    .shared = row->shared_bytes };
    for (uint64_t key = ws_hash_key(&wanted, offsetof(struct configuration, sums));; key = ws_hash_next(key)) {
        uint64_t *known = make ? ws_salted_put(&counts->places, key) : ws_salted_get(&counts->places, key);
        *place = 0;
        if (!known)
            return make ? -ENOMEM : 0;
        if (!*known) {
            struct configuration *made = ws_vector_push(&counts->configurations);
            if (!made)
                return -ENOMEM;
            *made = wanted;
            *known = counts->configurations.count;
        }
        const struct configuration *found = (struct configuration *)counts->configurations.data + *known - 1;
        *place = (uint32_t)*known;
        if (!memcmp(found, &wanted, offsetof(struct configuration, sums)))
            return 0;
    }
}

/* Returns the index in ws_process.shapes of the shape with this id; UINT32_MAX: none. */
static uint32_t index_of(const struct ws_process *process, uint32_t id)
{
    return ws_entries_place(&process->shape_rows, id);
}

static int gather_values(struct ws_counter_costs *counts, const struct ws_process *process, size_t subject)
{
    const struct ws_counter *rows = process->counters.data;
    uint32_t place;
    for (size_t i = 0; i < process->counters.count; i++) {
        uint32_t shape = index_of(process, rows[i].shape);
        size_t metric = place_of_metric(counts, rows[i].metric);
        if (shape >= process->shapes.count || metric == counts->metric_count ||
            ws_process_shape(process, shape)->track != subject)
            continue;
        if (counter_cost_find(counts, ws_process_shape(process, shape), true, &place))
            return -ENOMEM;
        struct sum *sum = &((struct configuration *)counts->configurations.data)[place - 1].sums[metric];
        sum->value += (double)rows[i].value;
        sum->count++;
    }
    return 0;
}

static double counter_cost_mean(const struct sum *sum)
{
    return sum->count ? sum->value / (double)sum->count : 0;
}

static void write_missing(struct ws_counter_cost *counted, const struct ws_text *group)
{
    size_t used = strlen(counted->note);
    snprintf(counted->note + used, sizeof(counted->note) - used, "%s%.*s",
             used ? ", " : "FLOPs not counted, because too few launches gave counters: no ", (int)group->length,
             group->data);
}

static void counter_cost_evaluate(const struct ws_counter_costs *counts, struct configuration *configuration)
{
    struct ws_counter_cost *counted = &configuration->counted;
    double flops[WS_PRECISION_COUNT + 1] = { 0 };
    bool read = false, written = false, idle = false;
    uint32_t missing = 0;
    for (size_t i = 0; i < counts->metric_count; i++) {
        const struct sum *sum = &configuration->sums[i];
        read |= counts->metrics[i]->quantity == WS_QUANTITY_BYTES_READ && sum->count;
        written |= counts->metrics[i]->quantity == WS_QUANTITY_BYTES_WRITTEN && sum->count;
        idle |= counts->metrics[i]->quantity == WS_QUANTITY_TENSOR_ACTIVE && sum->count && sum->value == 0;
    }
    counted->has_bytes = read && written;
    for (size_t i = 0; i < counts->metric_count; i++) {
        const struct ws_metric *metric = counts->metrics[i];
        const struct sum *sum = &configuration->sums[i];
        bool tensor = metric->quantity == WS_QUANTITY_TENSOR_FLOPS;
        if (metric->quantity == WS_QUANTITY_BYTES_READ || metric->quantity == WS_QUANTITY_BYTES_WRITTEN)
            counted->bytes += counted->has_bytes ? counter_cost_mean(sum) : 0;
        if (metric->quantity == WS_QUANTITY_BYTES_WRITTEN)
            counted->written += counted->has_bytes ? counter_cost_mean(sum) : 0;
        if ((!tensor && metric->quantity != WS_QUANTITY_FLOPS) || (tensor && idle))
            continue;
        flops[ws_precision_named(metric->precision.data)] += counter_cost_mean(sum) * metric->weight;
        if (!sum->count && missing != metric->group) {
            missing = metric->group;
            write_missing(counted, &metric->group_name);
        }
    }
    counted->has_flops = !missing;
    counted->precision = WS_PRECISION_FP32;
    for (int i = 0; i <= WS_PRECISION_COUNT && counted->has_flops; i++) {
        counted->flops += flops[i];
        if (i < WS_PRECISION_COUNT && flops[i] > flops[counted->precision])
            counted->precision = (enum ws_precision)i;
    }
}

int ws_counter_costs_create(struct ws_counter_costs **counts, const struct ws_process *process,
                            const struct ws_track *track, size_t subject)
{
    struct ws_counter_costs *made = *counts = NULL;
    int status = 0;
    if (!process->counters.count)
        return 0;
    made = *counts = calloc(1, sizeof(*made));
    if (!made)
        return -ENOMEM;
    made->configurations = WS_VECTOR(struct configuration);
    made->of_shape = calloc(process->shapes.count + 1, sizeof(*made->of_shape));
    if (!made->of_shape)
        return -ENOMEM;
    gather_metrics(made, process, track->device);
    status = gather_values(made, process, subject);
    for (size_t i = 0; i < made->configurations.count; i++)
        counter_cost_evaluate(made, (struct configuration *)made->configurations.data + i);
    for (uint32_t i = 0; i < process->shapes.count && !status; i++)
        if (ws_process_shape(process, i)->track == subject)
            status = counter_cost_find(made, ws_process_shape(process, i), false, &made->of_shape[i]);
    return status;
}

const struct ws_counter_cost *ws_counter_costs_of(const struct ws_counter_costs *counts, uint32_t shape)
{
    uint32_t place = counts ? counts->of_shape[shape] : 0;
    return place ? &((const struct configuration *)counts->configurations.data)[place - 1].counted : NULL;
}

void ws_counter_costs_destroy(struct ws_counter_costs *counts)
{
    if (!counts)
        return;
    ws_vector_finish(&counts->configurations);
    ws_map_finish(&counts->places);
    free(counts->of_shape);
    free(counts);
}
