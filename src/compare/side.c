#include "compare/side.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/gaps.h"
#include "analysis/steps.h"
#include "analysis/wall.h"
#include "base/hash.h"
#include "base/map.h"
#include "compare/sweep.h"

static const char *keep(struct ws_side *side, const char *text)
{
    return ws_arena_copy(&side->texts, text, strlen(text));
}

/* --- what is said of the side ------------------------------------------------------------------ */

/* The verdict that all devices share: "overhead, mostly input"; "" where there is none. */
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
        snprintf(text, capacity, "%s, mostly %s", ws_wall_name(common->wall), ws_part_label(common->cause));
}

/* "median 128 ms, p95 162 ms, CoV 10.2 %", where but one device has steps. */
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
    unsigned sources = 0; /* a bit for each of the two */
    for (size_t i = 0; i < report->model->tracks.count; i++) {
        const struct ws_track_steps *steps = ws_report_result(report, &ws_analysis_steps, i);
        if (steps->kinds[WS_STEP_STEADY])
            sources |= steps->source == WS_STEPS_MARKED ? 1 : 2;
    }
    return names[sources];
}

static int describe(struct ws_side *side, const struct ws_report *report)
{
    const struct ws_model *model = report->model;
    char text[200] = "";
    for (size_t i = 0; i < model->processes.count; i++) {
        const char **path = ws_vector_push(&side->traces);
        if (!path || !(*path = keep(side, ws_model_process(model, i)->path)))
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
    side->gpu = keep(side, text);
    describe_wall(report, text, sizeof(text));
    side->wall = keep(side, text);
    describe_steps(report, text, sizeof(text));
    side->steps = keep(side, text);
    side->source = source_of_steps(report);
    return side->gpu && side->wall && side->steps ? 0 : -ENOMEM;
}

/* --- lines ------------------------------------------------------------------------------------- */

/* The place of the line in ws_side.lines: where another device has the same, that. Returns 0 or -ENOMEM. */
static int place_line(struct ws_side *side, struct ws_map *places, const struct ws_process *process,
                      const struct ws_gap_line *one, uint32_t *at)
{
    char text[512];
    if (!ws_gap_line_text(process, one, text, sizeof(text) - 1))
        *text = 0;
    size_t length = strlen(text);
    text[length] = (char)one->cause; /* part of what must be the same */
    uint64_t hash = ws_hash(text, length + 1), *place = ws_map_put(places, hash ? hash : 1);
    if (!place)
        return -ENOMEM;
    if (!*place) {
        struct ws_side_line *line = ws_vector_push(&side->lines);
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

/* The places of the lines of all devices, those of a device together; NULL when memory is out. */
static uint32_t *place_lines(struct ws_side *side, const struct ws_report *report)
{
    size_t tracks = report->model->tracks.count, count = 0, at = 0;
    for (size_t i = 0; i < tracks; i++)
        count += ((const struct ws_track_causes *)ws_report_result(report, &ws_analysis_causes, i))->lines.count;
    uint32_t *list = calloc(count + 1, sizeof(*list));
    struct ws_map places = { 0 };
    int status = list ? 0 : -ENOMEM;
    for (size_t i = 0; i < tracks && !status; i++) {
        const struct ws_track_causes *causes = ws_report_result(report, &ws_analysis_causes, i);
        const struct ws_gap_line *lines = causes->lines.data;
        const struct ws_process *process = ws_model_process(report->model, ws_model_track(report->model, i)->process);
        for (size_t j = 0; j < causes->lines.count && !status; j++)
            status = place_line(side, &places, process, &lines[j], &list[at++]);
    }
    ws_map_finish(&places);
    if (!status)
        return list;
    free(list);
    return NULL;
}

/* --- kernels ----------------------------------------------------------------------------------- */

static int gather_kernels(struct ws_sweep *sweep)
{
    struct ws_side *side = sweep->side;
    for (size_t i = 0; i < sweep->report->model->names.count; i++) {
        const struct ws_tally *tally = &sweep->names.items[i];
        const struct ws_op_name *name = ws_model_name(sweep->report->model, i);
        if (!tally->per[WS_PER_RECORDING].count)
            continue;
        struct ws_side_kernel *kernel = ws_vector_push(&side->kernels);
        if (!kernel)
            return -ENOMEM;
        kernel->name = keep(side, name->text);
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

static void gather_lines(struct ws_sweep *sweep)
{
    struct ws_side_line *lines = sweep->side->lines.data;
    for (size_t i = 0; i < sweep->side->lines.count; i++)
        memcpy(lines[i].per, sweep->lines.items[i].per, sizeof(lines[i].per));
}

/* --- the side ---------------------------------------------------------------------------------- */

static int sweep_all(struct ws_sweep *sweep, const uint32_t *places)
{
    const struct ws_report *report = sweep->report;
    int status = 0;
    for (size_t i = 0; i < report->model->tracks.count && !status; i++) {
        const struct ws_track_causes *causes = ws_report_result(report, &ws_analysis_causes, i);
        status = ws_sweep_track(sweep, i, places);
        places += causes->lines.count;
    }
    return status;
}

int ws_side_init(struct ws_side *side, const struct ws_report *report)
{
    struct ws_sweep sweep = { .side = side, .report = report };
    size_t names = report->model->names.count;
    *side = (struct ws_side){ .kernels = WS_VECTOR(struct ws_side_kernel),
                              .lines = WS_VECTOR(struct ws_side_line),
                              .traces = WS_VECTOR(const char *) };
    int status = describe(side, report);
    uint32_t *places = status ? NULL : place_lines(side, report);
    sweep.launches = calloc(names + 1, sizeof(*sweep.launches));
    if (!places || !sweep.launches || ws_tallies_init(&sweep.names, names) ||
        ws_tallies_init(&sweep.lines, side->lines.count))
        status = -ENOMEM;
    status = status ? status : sweep_all(&sweep, places);
    status = status ? status : gather_kernels(&sweep);
    if (!status)
        gather_lines(&sweep);
    ws_tallies_finish(&sweep.names);
    ws_tallies_finish(&sweep.lines);
    free(sweep.launches);
    free(places);
    return status;
}

void ws_side_finish(struct ws_side *side)
{
    ws_vector_finish(&side->kernels);
    ws_vector_finish(&side->lines);
    ws_vector_finish(&side->traces);
    ws_arena_finish(&side->texts);
}
