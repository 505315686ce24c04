#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/steps/modules.h"
#include "analysis/steps/range_figures.h"
#include "base/minmax.h"

/* Kinds of device work outside modules. LAUNCHED: the trace holds the launch of the work. NOT_LAUNCHED: it does
 * not. */
enum { LAUNCHED, NOT_LAUNCHED, OUTSIDE_KINDS };

static int64_t device_time(const struct ws_range_scale *scale, const struct ws_range_work *work)
{
    return ws_range_amount_of(scale, work)->sum;
}

static void add_time(int64_t *sum, const struct ws_range_scale *scale, const struct ws_range_work *work)
{
    *sum = ws_sum(*sum, device_time(scale, work));
}

/* Sets outside[] to the device times of the two kinds of work outside modules. Returns the device time of all work,
 * in modules and outside. */
static int64_t all_times(const struct ws_range_scale *scale, const struct ws_track_modules *result,
                         int64_t outside[OUTSIDE_KINDS])
{
    const struct ws_module *modules = result->rows.data;
    const struct ws_range_outside *threads = result->sums.outside.data;
    int64_t all = 0;
    for (size_t i = 0; i < result->sums.outside.count; i++)
        add_time(&outside[threads[i].thread ? LAUNCHED : NOT_LAUNCHED], scale, &threads[i].work);
    for (size_t i = 0; i < result->rows.count; i++)
        if (!modules[i].depth)
            add_time(&all, scale, &modules[i].row.work);
    return ws_sum(all, ws_sum(outside[LAUNCHED], outside[NOT_LAUNCHED]));
}

/* Adds the cell with a module's name. Adds "Linear ×4" if each instance of the parent module has four instances. Adds
 * "Linear (7 in all)" if the number of instances per parent varies. */
static void name_cell(struct ws_table *table, const struct ws_module *module)
{
    char count[WS_FORMAT_SIZE], instances[WS_FORMAT_SIZE + 16] = "";
    if (module->is_backward)
        snprintf(instances, sizeof(instances), "%s", module->depth ? "" : " (no module)");
    else if (!module->each)
        snprintf(instances, sizeof(instances), " (%s in all)", ws_format_count(count, module->instances));
    else if (module->each > 1)
        snprintf(instances, sizeof(instances), " ×%s", ws_format_count(count, module->each));
    ws_table_cell(table, "%*s%.*s%s", (int)(2 * module->depth), "", (int)module->length, module->name, instances);
}

static void time_cells(struct ws_table *table, const struct ws_range_scale *scale, int64_t all, int64_t time,
                       int64_t own)
{
    char share[WS_FORMAT_SIZE];
    ws_table_time(table, ws_range_scaled(scale, time));
    ws_table_cell(table, "%s", ws_format_share(share, time, all));
    ws_table_time(table, ws_range_scaled(scale, own));
}

static void modules_print_row(struct ws_table *table, const struct ws_range_scale *scale, int64_t all,
                              const struct ws_module *module)
{
    const struct ws_range_stay *stay = ws_range_stay_of(scale, &module->row);
    char count[WS_FORMAT_SIZE];
    time_cells(table, scale, all, device_time(scale, &module->row.work), device_time(scale, &module->row.own));
    ws_table_cell(table, "%s", ws_format_each(count, stay->count, scale->count));
    ws_table_time(table, ws_range_scaled(scale, stay->host));
    name_cell(table, module);
}

static void modules_print_table(struct ws_page *page, const struct ws_range_scale *scale,
                                const struct ws_track_modules *result, int64_t all, const int64_t *outside)
{
    static const struct ws_table_column columns[] = {
        { "device", false, false }, { "share", false, WS_NARROW_LEAVE_OUT },
        { "own", false, false },    { "times", false, false },
        { "host", false, false },   { "module", true, WS_NARROW_SHORTEN },
    };
    static const char *const names[OUTSIDE_KINDS] = { "(no module)", "(launch not in the trace)" };
    const struct ws_module *modules = result->rows.data;
    size_t in_steps = 0, count = result->rows.count;
    char text[WS_FORMAT_SIZE];
    struct ws_table table;
    for (size_t i = 0; i < count; i++)
        in_steps += !scale->count || modules[i].is_in_steps;
    ws_table_init(&table, page, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < count; i++)
        if (modules[i].rank < ws_page_rows(page, in_steps))
            modules_print_row(&table, scale, all, &modules[i]);
    for (int i = 0; i < OUTSIDE_KINDS; i++) {
        if (!outside[i])
            continue;
        time_cells(&table, scale, all, outside[i], outside[i]);
        ws_table_cell(&table, "–");
        ws_table_cell(&table, "–");
        ws_table_cell(&table, "%s", names[i]);
    }
    ws_table_finish(&table);
    ws_page_more(page, in_steps, "module");
    if (in_steps < count)
        ws_page_text(page, "%s more %s only outside the steady steps.", ws_format_count(text, count - in_steps),
                     count - in_steps == 1 ? "module runs" : "modules run");
}

void ws_modules_text(const struct ws_report *report, size_t subject, const void *memory, struct ws_page *page)
{
    const struct ws_track_modules *result = memory;
    const struct ws_range_scale scale = ws_range_scale_of(report, subject);
    int64_t outside[OUTSIDE_KINDS] = { 0 };
    char time[WS_FORMAT_SIZE];
    if (!result->rows.count) {
        ws_page_text(page, "The trace holds no modules. torch.profiler records them if with_stack is set.");
        return;
    }
    int64_t all = all_times(&scale, result, outside);
    ws_page_text(page,
                 "Device time of what modules launched, of %s of work in all, %s. \"own\": without the modules that "
                 "they call. \"×4\": four instances in each module that calls them.",
                 ws_format_time(time, ws_range_scaled(&scale, all)),
                 scale.count ? "per steady step on average" : "in the whole recording");
    modules_print_table(page, &scale, result, all, outside);
}

/* --- JSON --------------------------------------------------------------------------------------------- */

/* Adds a module to the list. Returns the module's list of children (still empty), or NULL if memory runs out. */
static json_t *add_json(const struct ws_module *module, size_t steps, json_t *list)
{
    char *name = strndup(module->name, module->length);
    json_t *object = name ? ws_range_row_json(name, &module->row, steps) : NULL;
    json_t *children = json_array();
    free(name);
    int status = object ? 0 : -ENOMEM;
    if (!status)
        status = ws_json_set(object, "instances", module->is_backward ? 0 : module->instances);
    status |= json_object_set_new(object, "children", children);
    status |= json_array_append_new(list, object);
    return status ? NULL : children;
}

int ws_modules_json(const struct ws_report *report, size_t subject, const void *memory, json_t *object)
{
    const struct ws_track_steps *steps = ws_report_result(report, &ws_analysis_steps, subject);
    const struct ws_track_modules *result = memory;
    const struct ws_module *modules = result->rows.data;
    /* by depth in the tree: the JSON list to which modules of this depth are added */
    json_t *lists[WS_RANGES_DEEPEST + 2] = { NULL };
    if (!result->rows.count)
        return 0;
    lists[0] = json_array();
    size_t rows = report->top && report->top < result->rows.count ? report->top : result->rows.count;
    int status = json_object_set_new(object, "modules", lists[0]);
    for (size_t i = 0; i < result->rows.count && !status; i++) {
        if (modules[i].rank >= rows)
            continue;
        uint32_t depth = modules[i].depth;
        lists[depth + 1] = add_json(&modules[i], steps->kinds[WS_STEP_STEADY], lists[depth]);
        status = lists[depth + 1] ? 0 : -ENOMEM;
    }
    status |= ws_ranges_outside_json(&result->sums, steps->kinds[WS_STEP_STEADY], "outside_modules", object);
    return status ? -ENOMEM : 0;
}
