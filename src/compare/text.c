#include <math.h>
#include <string.h>

#include "analysis/steps.h"
#include "analysis/wall.h"
#include "compare/compare.h"

/* In the headline: the parts that changed most, and how much of the step a change must come to. */
enum { HEADLINE_PARTS = 3, HEADLINE_LIMIT = 100 };

/* "+9.80 ms", "−54.2 ms". */
static const char *format_change(char text[WS_FORMAT_SIZE], double change)
{
    char time[WS_FORMAT_SIZE];
    snprintf(text, WS_FORMAT_SIZE, "%s%.30s", change < 0 ? "−" : "+",
             ws_format_time(time, (int64_t)llround(fabs(change))));
    return text;
}

static const char *format_relative(char text[WS_FORMAT_SIZE], double before, double after)
{
    double percent = before > 0 ? 100 * (after - before) / before : 0;
    if (before <= 0 && after <= 0)
        *text = 0;
    else if (before <= 0)
        snprintf(text, WS_FORMAT_SIZE, "new");
    else if (after <= 0)
        snprintf(text, WS_FORMAT_SIZE, "gone");
    else if (percent >= 1000)
        snprintf(text, WS_FORMAT_SIZE, "× %.0f", after / before);
    else
        snprintf(text, WS_FORMAT_SIZE, "%s%.1f %%", percent < 0 ? "−" : "+", fabs(percent));
    return text;
}

static const struct ws_change *changes_of(const struct ws_comparison *comparison, enum ws_change_group group,
                                          size_t *count)
{
    *count = comparison->begins[group + 1] - comparison->begins[group];
    return (const struct ws_change *)comparison->changes.data + comparison->begins[group];
}

/* --- the headline ------------------------------------------------------------------------------ */

/* "step 176 ms → 136 ms (−22.6 %): input gaps −54.2 ms, launch gaps +12.4 ms" */
static void print_headline(const struct ws_comparison *comparison, struct ws_page *page)
{
    const struct ws_change *total = ws_comparison_total(comparison);
    char before[WS_FORMAT_SIZE], after[WS_FORMAT_SIZE], relative[WS_FORMAT_SIZE], part[WS_FORMAT_SIZE];
    char parts[400] = "";
    size_t count, shown = 0;
    const struct ws_change *list = changes_of(comparison, WS_CHANGE_PART, &count);
    for (size_t i = 0; i < count && shown < HEADLINE_PARTS; i++) {
        double change = list[i].after - list[i].before;
        if (fabs(change) * HEADLINE_LIMIT < total->before || ws_change_is_noise(&list[i]))
            continue;
        size_t used = strlen(parts);
        snprintf(parts + used, sizeof(parts) - used, "%s%s %s", shown++ ? ", " : ": ", list[i].label,
                 format_change(part, change));
    }
    const char *doubt =
        comparison->per_step ? ", no more than the steps vary by" : ", no more than the times' errors";
    ws_page_text(page, "%s %s → %s (%s)%s%s", total->label, ws_format_time(before, (int64_t)llround(total->before)),
                 ws_format_time(after, (int64_t)llround(total->after)),
                 format_relative(relative, total->before, total->after), ws_change_is_noise(total) ? doubt : "",
                 parts);
}

/* --- the sides --------------------------------------------------------------------------------- */

/* The verdict that all devices share: "overhead, input"; "" where there is none. */
static void format_wall(const struct ws_report *report, char *text, size_t capacity)
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

/* What there are samples of: "5 steady steps of 1 GPU, median 128 ms, p95 162 ms, CoV 10.2 %". */
static void print_samples(const struct ws_side *side, struct ws_page *page)
{
    char count[WS_FORMAT_SIZE], median[WS_FORMAT_SIZE], p95[WS_FORMAT_SIZE], spread[120] = "";
    const struct ws_track_steps *steps = NULL;
    for (size_t i = 0; i < side->report->model->tracks.count && !(steps && steps->kinds[WS_STEP_STEADY]); i++)
        steps = ws_report_result(side->report, &ws_analysis_steps, i);
    if (side->per_step && side->devices == 1 && steps)
        snprintf(spread, sizeof(spread), ": median %s, p95 %s, CoV %.1f %%", ws_format_time(median, steps->median),
                 ws_format_time(p95, steps->p95), steps->cov * 100);
    if (side->per_step)
        ws_page_fact(page, "", "%s steady step%s%s", ws_format_count(count, side->samples),
                     side->samples == 1 ? "" : "s", spread);
}

static void print_side(const struct ws_side *side, const char *label, struct ws_page *page)
{
    const struct ws_model *model = side->report->model;
    const struct ws_process *first = ws_model_process(model, 0);
    char gpu[128] = "", count[WS_FORMAT_SIZE], wall[100];
    for (size_t i = 0; i < model->tracks.count && !*gpu; i++) {
        const struct ws_device *device = ws_track_device(model, ws_model_track(model, i));
        snprintf(gpu, sizeof(gpu), "%.100s", device ? device->name.data : "");
    }
    ws_page_fact(page, label, "%s%s", first->path, model->processes.count > 1 ? " and others" : "");
    ws_page_fact(page, "", "%zu process%s, %zu GPU%s%s%s", model->processes.count,
                 model->processes.count == 1 ? "" : "es", side->devices, side->devices == 1 ? "" : "s",
                 *gpu ? " " : "", gpu);
    print_samples(side, page);
    format_wall(side->report, wall, sizeof(wall));
    if (*wall)
        ws_page_fact(page, "", "the wall: %s", wall);
    if (side->left_out)
        ws_page_fact(page, "", "%zu GPUs without steps left out", side->left_out);
    if (side->untimed)
        ws_page_fact(page, "incomplete", "%s operations have no device times: they are not in these figures",
                     ws_format_count(count, side->untimed));
}

static void print_sides(const struct ws_comparison *comparison, struct ws_page *page)
{
    print_side(&comparison->before, "before", page);
    print_side(&comparison->after, "after", page);
    ws_page_fact(page, "compared", "%s",
                 comparison->per_step ? "times of a steady step of a GPU, on average"
                                      : "times of the whole recording of a GPU, since not both have steps: "
                                        "they mean something only where both did the same work");
}

/* --- tables ------------------------------------------------------------------------------------ */

static void put_times(struct ws_table *table, const struct ws_change *change)
{
    char text[WS_FORMAT_SIZE];
    ws_table_time(table, (int64_t)llround(change->before));
    ws_table_time(table, (int64_t)llround(change->after));
    ws_table_cell(table, "%s", format_change(text, change->after - change->before));
    ws_table_cell(table, "%s", format_relative(text, change->before, change->after));
    ws_table_cell(table, "%s", ws_change_is_noise(change) ? "≈" : "");
}

static void print_group(const struct ws_comparison *comparison, enum ws_change_group group, const char *title,
                        struct ws_page *page)
{
    static const struct ws_table_column columns[] = {
        { "before", false, 0 }, { "after", false, 0 }, { "change", false, 0 },
        { "", false, 0 },       { "", true, 0 },       { "", true, WS_NARROW_SHORTEN },
    };
    size_t count;
    const struct ws_change *list = changes_of(comparison, group, &count);
    struct ws_table table;
    if (!count)
        return;
    ws_page_heading(page, title, NULL);
    ws_table_init(&table, page, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < count; i++) {
        put_times(&table, &list[i]);
        ws_table_cell(&table, "%s", list[i].label);
    }
    ws_table_finish(&table);
}

/* Launches a step, with a digit where that is no whole number. */
static void put_count(struct ws_table *table, const struct ws_side *side, const struct ws_side_kernel *kernel)
{
    double count = kernel ? (double)kernel->count / (double)side->samples : 0;
    char text[WS_FORMAT_SIZE];
    if (count >= 100 || count == floor(count))
        ws_table_cell(table, "%s", ws_format_count(text, (uint64_t)llround(count)));
    else
        ws_table_cell(table, "%.1f", count);
}

static bool is_wanted(const struct ws_change *change, bool matched)
{
    return (change->pair->match != WS_UNPAIRED) == matched;
}

/* Says which of the rows shown are guesses. */
static void print_guesses(const struct ws_comparison *comparison, const struct ws_change *list, size_t count,
                          struct ws_page *page)
{
    static const char *const because[WS_PAIRING_COUNT] = {
        [WS_PAIRED_BY_NUMBERS] = "the names differ in numbers only",
        [WS_PAIRED_BY_STEM] = "the names differ in template arguments or parameters only",
        [WS_PAIRED_BY_SHAPE] = "same class, grid, block and launches a step, but another name",
    };
    struct ws_table table;
    static const struct ws_table_column columns[] = { { "was", true, WS_NARROW_SHORTEN },
                                                      { "is", true, WS_NARROW_SHORTEN },
                                                      { "taken for the same:", true, WS_NARROW_SHORTEN } };
    size_t shown = 0, guesses = 0;
    ws_table_init(&table, page, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < count && (!page->top || shown < page->top); i++) {
        if (!is_wanted(&list[i], true))
            continue;
        shown++;
        if (list[i].pair->match == WS_PAIRED_BY_NAME)
            continue;
        guesses++;
        ws_table_cell(&table, "%s", ws_pair_name(&comparison->before, list[i].pair->before));
        ws_table_cell(&table, "%s", ws_pair_name(&comparison->after, list[i].pair->after));
        ws_table_cell(&table, "%s", because[list[i].pair->match]);
    }
    if (guesses)
        fputc('\n', page->out);
    ws_table_finish(&table);
}

static size_t print_kernels(const struct ws_comparison *comparison, const char *title, bool matched,
                            struct ws_page *page)
{
    static const struct ws_table_column columns[] = {
        { "before", false, 0 },
        { "after", false, 0 },
        { "change", false, 0 },
        { "", false, WS_NARROW_LEAVE_OUT },
        { "", true, 0 },
        { "count", false, WS_NARROW_LEAVE_OUT },
        { "now", false, WS_NARROW_LEAVE_OUT },
        { "class", true, WS_NARROW_LEAVE_OUT },
        { "", true, 0 },
        { "name", true, WS_NARROW_SHORTEN },
    };
    size_t count, shown = 0, all = 0;
    const struct ws_change *list = changes_of(comparison, WS_CHANGE_KERNEL, &count);
    double left = 0;
    struct ws_table table;
    ws_table_init(&table, page, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < count; i++) {
        const struct ws_pair *pair = list[i].pair;
        if (!is_wanted(&list[i], matched))
            continue;
        all++;
        if (page->top && shown == page->top) {
            left += list[i].after - list[i].before;
            continue;
        }
        shown++;
        put_times(&table, &list[i]);
        put_count(&table, &comparison->before, pair->before);
        put_count(&table, &comparison->after, pair->after);
        ws_table_cell(&table, "%s", ws_sample_class_name(pair->after ? pair->after->class : pair->before->class));
        ws_table_cell(&table, "%s", pair->match == WS_PAIRED_BY_NAME || pair->match == WS_UNPAIRED ? "" : "*");
        ws_table_cell(&table, "%s", list[i].label);
    }
    if (all)
        ws_page_heading(page, title, NULL);
    ws_table_finish(&table);
    if (shown < all) {
        char time[WS_FORMAT_SIZE];
        ws_page_text(page, "and %zu more names with %s in all (--top 0 shows them)", all - shown,
                     format_change(time, left));
    }
    if (matched)
        print_guesses(comparison, list, count, page);
    return all;
}

void ws_comparison_print(const struct ws_comparison *comparison, struct ws_page *page)
{
    ws_page_heading(page, "What changed", NULL);
    print_headline(comparison, page);
    fputc('\n', page->out);
    print_sides(comparison, page);
    print_group(comparison, WS_CHANGE_PART, comparison->per_step ? "Parts of a step" : "Parts of the recording",
                page);
    print_group(comparison, WS_CHANGE_TIME, "In all (these overlap)", page);
    print_group(comparison, WS_CHANGE_CLASS, "Operations by class", page);
    print_kernels(comparison, "Kernels, copies and memsets", true, page);
    print_kernels(comparison, "Appeared and vanished", false, page);
    fputc('\n', page->out);
    ws_page_text(page, "≈ no larger than what %sthe errors of the times may have made: perhaps no change at all.",
                 comparison->per_step ? "the spread of the steps and " : "");
}
