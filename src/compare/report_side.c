#include "compare/report_side.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/activity/losses.h"
#include "analysis/comm/comm.h"
#include "analysis/gaps/gaps.h"
#include "analysis/steps/steps.h"
#include "analysis/verdict/wall.h"
#include "base/hash.h"
#include "base/salted.h"
#include "compare/samples.h"

static const char *report_side_copy_text(struct ws_report_side *side, const char *text)
{
    return ws_arena_copy(&side->texts, text, strlen(text));
}

/* --- the side's description ---------------------------------------------------------------------- */

/* Writes the report's verdict on what limits the speed, if it is the same on all devices: "overhead, mostly input".
 * Otherwise writes that the verdicts differ. Writes "" if no device has a verdict. */
static void describe_wall(const struct ws_report *report, char *text, size_t capacity)
{
    const struct ws_track_wall *common = NULL;
    *text = 0;
    for (size_t i = 0; i < report->model->tracks.count; i++) {
        const struct ws_track_wall *wall = ws_report_result(report, &ws_analysis_wall, i);
        if (!wall->wall)
            continue;
        if (common && (common->wall != wall->wall || common->cause != wall->cause)) {
            snprintf(text, capacity, "not the same on every device");
            return;
        }
        common = wall;
    }
    if (common)
        snprintf(text, capacity, "%s%s, mostly %s", common->by_names ? "probably " : "", ws_wall_name(common->wall),
                 ws_part_label(common->cause));
}

/* Writes "median 128 ms, p95 162 ms, CoV 10.2 %" if exactly one device has steps. */
static void describe_steps(const struct ws_report *report, char *text, size_t capacity)
{
    const struct ws_track_steps *only = NULL;
    char median[WS_FORMAT_SIZE], p95[WS_FORMAT_SIZE];
    *text = 0;
    for (size_t i = 0; i < report->model->tracks.count; i++) {
        const struct ws_track_steps *steps = ws_report_result(report, &ws_analysis_steps, i);
        if (steps->kinds[WS_STEP_STEADY] && only)
            return;
        only = steps->kinds[WS_STEP_STEADY] ? steps : only;
    }
    if (only)
        snprintf(text, capacity, "median %s, p95 %s, CoV %.1f %%", ws_format_time(median, only->median),
                 ws_format_time(p95, only->p95), only->cov * 100);
}

static const char *source_of_steps(const struct ws_report *report)
{
    static const char *const names[] = { "none", "marked", "found", "both" };
    unsigned sources = 0; /* bit 0: the program marked steps; bit 1: wallshim found steps */
    for (size_t i = 0; i < report->model->tracks.count; i++) {
        const struct ws_track_steps *steps = ws_report_result(report, &ws_analysis_steps, i);
        if (steps->kinds[WS_STEP_STEADY])
            sources |= steps->source == WS_STEPS_MARKED ? 1 : 2;
    }
    return names[sources];
}

static int report_side_describe(struct ws_report_side *side, const struct ws_report *report)
{
    const struct ws_model *model = report->model;
    char text[200] = "";
    for (size_t i = 0; i < model->processes.count; i++) {
        const struct ws_loss_sums losses = ws_losses_sum(report, i);
        const struct ws_process *process = ws_model_process(model, i);
        const char **path = ws_vector_push(&side->traces);
        side->counted += losses.counted;
        side->lost += losses.lost;
        side->cut += !ws_process_is_whole(process);
        side->placement =
            !i || side->placement == ws_process_placement(process) ? ws_process_placement(process) : "mixed";
        if (!path || !(*path = report_side_copy_text(side, process->path)))
            return -ENOMEM;
    }
    for (size_t i = 0; i < model->tracks.count; i++) {
        const struct ws_track *track = ws_model_track(model, i);
        const struct ws_device *device = ws_track_device(model, track);
        side->running += track->count > 0;
        side->untimed += track->untimed + track->backwards;
        if (device && !*text)
            snprintf(text, sizeof(text), "%.150s", device->name.data);
    }
    side->gpu = report_side_copy_text(side, text);
    describe_wall(report, text, sizeof(text));
    side->wall = report_side_copy_text(side, text);
    describe_steps(report, text, sizeof(text));
    side->steps = report_side_copy_text(side, text);
    side->source = source_of_steps(report);
    return side->gpu && side->wall && side->steps ? 0 : -ENOMEM;
}

static const struct ws_track_causes *causes_of(const struct ws_report *report, size_t track)
{
    return ws_report_result(report, &ws_analysis_causes, track);
}

/* --- lines and collectives --------------------------------------------------------------------- */

/* Finds the line in ws_report_side.lines, or adds it. Devices whose idle periods (gaps) have the same cause and line
 * share one entry. Returns 0 or -ENOMEM. */
static int place_line(struct ws_report_side *side, struct ws_map *places, const struct ws_process *process,
                      const struct ws_gap_line *one, uint32_t *at)
{
    char text[512];
    ws_gap_line_where(process, one, text, sizeof(text) - 1);
    size_t length = strlen(text);
    text[length] = (char)one->cause; /* the cause is part of the key */
    uint64_t *place = ws_salted_put(places, ws_hash_key(text, length + 1));
    if (!place)
        return -ENOMEM;
    if (!*place) {
        struct ws_report_side_line *line = ws_vector_push(&side->lines);
        if (!line)
            return -ENOMEM;
        line->where = ws_arena_copy(&side->texts, text, length);
        line->cause = one->cause;
        if (!line->where)
            return -ENOMEM;
        *place = side->lines.count;
    }
    *at = (uint32_t)*place - 1;
    return 0;
}

/* Finds this kind of collective in ws_report_side.collectives, or adds it. Calls of one collective with different
 * numbers of ranks are different kinds. */
static int place_collective(struct ws_report_side *side, const struct ws_comm_kind *kind, uint32_t *at)
{
    const char *name = ws_comm_name(kind->operation);
    struct ws_report_side_collective *rows = side->collectives.data;
    for (*at = 0; *at < side->collectives.count; ++*at)
        if (rows[*at].name == name && rows[*at].ranks == kind->ranks)
            return 0;
    struct ws_report_side_collective *row = ws_vector_push(&side->collectives);
    if (!row)
        return -ENOMEM;
    *row =
        (struct ws_report_side_collective){ .name = name,
                                            .ranks = kind->ranks,
                                            .bus_factor =
                                                kind->ranks ? ws_comm_bus_factor(kind->operation, kind->ranks) : 0 };
    return 0;
}

/* The arrays of struct ws_places (samples.h) for all devices, one device after another. */
struct all_places {
    uint32_t *lines, *collectives;
};

static int place_all(struct ws_report_side *side, const struct ws_report *report, struct all_places *all)
{
    size_t tracks = report->model->tracks.count, lines = 0, kinds = 0;
    struct ws_map known = { 0 }; /* hash of a line and its cause → index in side->lines, + 1 */
    for (size_t i = 0; i < tracks; i++) {
        lines += causes_of(report, i)->lines.count;
        kinds += ws_report_comm(report, i)->kinds.count;
    }
    all->lines = calloc(lines + 1, sizeof(*all->lines));
    all->collectives = calloc(kinds + 1, sizeof(*all->collectives));
    int status = all->lines && all->collectives ? 0 : -ENOMEM;
    lines = kinds = 0;
    for (size_t i = 0; i < tracks && !status; i++) {
        const struct ws_vector *list = &causes_of(report, i)->lines, *comm = &ws_report_comm(report, i)->kinds;
        const struct ws_process *process = ws_model_process(report->model, ws_model_track(report->model, i)->process);
        for (size_t j = 0; j < list->count && !status; j++)
            status =
                place_line(side, &known, process, (const struct ws_gap_line *)list->data + j, &all->lines[lines++]);
        for (size_t j = 0; j < comm->count && !status; j++)
            status = place_collective(side, (const struct ws_comm_kind *)comm->data + j, &all->collectives[kinds++]);
    }
    ws_map_finish(&known);
    return status;
}

/* --- kernels ----------------------------------------------------------------------------------- */

static int gather_kernels(struct ws_sampler *sweep)
{
    struct ws_report_side *side = sweep->side;
    for (size_t i = 0; i < sweep->report->model->names.count; i++) {
        const struct ws_tally *tally = &sweep->names.items[i];
        const struct ws_op_name *name = ws_model_name(sweep->report->model, i);
        if (!tally->per[WS_PER_RECORDING].count)
            continue;
        struct ws_report_side_kernel *kernel = ws_vector_push(&side->kernels);
        if (!kernel)
            return -ENOMEM;
        kernel->name = report_side_copy_text(side, name->text);
        kernel->class = ws_sample_class(sweep->report, (uint32_t)i);
        memcpy(kernel->per, tally->per, sizeof(kernel->per));
        if (!kernel->name)
            return -ENOMEM;
        if (name->kind != WS_OP_KERNEL || !sweep->launches[i].shape)
            continue;
        const struct ws_shape *row = &sweep->launches[i].shape->row;
        const uint32_t launch[] = { row->grid_x, row->grid_y, row->grid_z, row->block_x, row->block_y, row->block_z };
        memcpy(kernel->launch, launch, sizeof(launch));
    }
    return 0;
}

static void gather_places(struct ws_sampler *sweep)
{
    struct ws_report_side_line *lines = sweep->side->lines.data;
    struct ws_report_side_collective *collectives = sweep->side->collectives.data;
    for (size_t i = 0; i < sweep->side->lines.count; i++)
        memcpy(lines[i].per, sweep->lines.items[i].per, sizeof(lines[i].per));
    for (size_t i = 0; i < sweep->side->collectives.count; i++)
        memcpy(collectives[i].per, sweep->collectives.items[i].per, sizeof(collectives[i].per));
}

/* --- the side ---------------------------------------------------------------------------------- */

static int sweep_all(struct ws_sampler *sweep, const struct all_places *all)
{
    const struct ws_report *report = sweep->report;
    struct ws_places places = { all->lines, all->collectives };
    int status = 0;
    for (size_t i = 0; i < report->model->tracks.count && !status; i++) {
        status = ws_sampler_track(sweep, i, places);
        places.lines += causes_of(report, i)->lines.count;
        places.collectives += ws_report_comm(report, i)->kinds.count;
    }
    return status;
}

static int init_tallies(struct ws_sampler *sweep)
{
    size_t names = sweep->report->model->names.count;
    int status = ws_tallies_init(&sweep->names, names);
    status |= ws_tallies_init(&sweep->lines, sweep->side->lines.count);
    status |= ws_tallies_init(&sweep->collectives, sweep->side->collectives.count);
    sweep->launches = calloc(names + 1, sizeof(*sweep->launches));
    return status || !sweep->launches ? -ENOMEM : 0;
}

int ws_report_side_init(struct ws_report_side *side, const struct ws_report *report)
{
    struct ws_sampler sweep = { .side = side, .report = report };
    struct all_places places = { 0 };
    *side = (struct ws_report_side){ .kernels = WS_VECTOR(struct ws_report_side_kernel),
                                     .lines = WS_VECTOR(struct ws_report_side_line),
                                     .collectives = WS_VECTOR(struct ws_report_side_collective),
                                     .traces = WS_VECTOR(const char *),
                                     .has_window = report->window != NULL };
    if (report->window) {
        side->window = *report->window;
        side->window.steps = NULL; /* the steps are freed before this side is */
    }
    int status = report_side_describe(side, report);
    status = status ? status : place_all(side, report, &places);
    status = status ? status : init_tallies(&sweep);
    status = status ? status : sweep_all(&sweep, &places);
    status = status ? status : gather_kernels(&sweep);
    if (!status)
        gather_places(&sweep);
    ws_tallies_finish(&sweep.names);
    ws_tallies_finish(&sweep.lines);
    ws_tallies_finish(&sweep.collectives);
    free(sweep.launches);
    free(places.lines);
    free(places.collectives);
    return status;
}

void ws_report_side_finish(struct ws_report_side *side)
{
    ws_vector_finish(&side->kernels);
    ws_vector_finish(&side->lines);
    ws_vector_finish(&side->collectives);
    ws_vector_finish(&side->traces);
    ws_arena_finish(&side->texts);
}
