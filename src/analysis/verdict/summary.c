#include "analysis/verdict/summary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/activity/activity.h"
#include "analysis/activity/losses.h"
#include "analysis/gaps/gaps.h"
#include "analysis/kernels/kernels.h"
#include "analysis/kernels/label.h"
#include "analysis/roofline/roofline.h"
#include "analysis/steps/steps.h"
#include "analysis/verdict/missing.h"
#include "analysis/verdict/no_verdict.h"
#include "analysis/verdict/verdict.h"
#include "analysis/verdict/wall.h"
#include "analysis/verdict/wall_text.h"
#include "base/minmax.h"

/* A bar shows each wall's share of a step. This table gives the bar's character for each wall, in the order in which
 * the walls are drawn. */
static const struct {
    enum ws_wall wall;
    const char *mark; /* MARK_BYTES long */
} bar_parts[] = {
    { WS_WALL_COMPUTE, "█" },  { WS_WALL_BANDWIDTH, "▓" }, { WS_WALL_COMMUNICATION, "▒" },
    { WS_WALL_OVERHEAD, "░" }, { WS_WALL_NONE, "–" },
};
enum {
    BAR_PARTS = sizeof(bar_parts) / sizeof(bar_parts[0]),
    BAR_WIDTH = 60 /* most */,
    MARK_BYTES = sizeof("█") - 1
};

enum { KERNELS_MOST = 10, ADVICE_MOST = 5, DEVICES_MOST = 8 };

/* The number of devices, kernels and pieces of advice that the page shows; 0: all. */
struct summary_room {
    size_t devices, kernels, advice;
};

/* Prints "train.py on NVIDIA H100: 99 steps, 1,024 operations, 1.07 s from the first to the last on the GPU; nothing
 * lost". */
static void summary_print_recorded(const struct ws_report *report, size_t shown, struct ws_page *page)
{
    const struct ws_track *track = ws_model_track(report->model, shown);
    const struct ws_process *process = ws_model_process(report->model, track->process);
    const struct ws_track_steps *steps = ws_report_result(report, &ws_analysis_steps, shown);
    const struct ws_process_losses *losses = ws_report_result(report, &ws_analysis_losses, track->process);
    const char *program = ws_process_meta(process, "program");
    char title[256], count[WS_FORMAT_SIZE], time[WS_FORMAT_SIZE], lost[WS_FORMAT_SIZE],
        found[WS_FORMAT_SIZE + 32] = "";
    ws_report_track_title(report, shown, title, sizeof(title));
    if (steps->kinds[WS_STEP_STEADY])
        snprintf(found, sizeof(found), "%s %s%s%s, ", ws_format_count(count, steps->kinds[WS_STEP_STEADY]),
                 steps->phases.several ? ws_phase_name(steps->phases.lead) : "", steps->phases.several ? " " : "",
                 steps->kinds[WS_STEP_STEADY] == 1 ? "step" : "steps");
    int64_t known = ws_activity_known(ws_report_result(report, &ws_analysis_activity, shown));
    bool complete = ws_losses_is_complete(process, losses);
    bool sampled = ((const struct ws_track_causes *)ws_report_result(report, &ws_analysis_causes, shown))->is_sampled;
    ws_page_text(page, "%s%s%s: %s%s operations, %s from the first to the last on the GPU; %s%s",
                 program ? program : "", program && *program ? " on " : "", title, found,
                 ws_format_count(count, track->count), ws_format_time(time, known),
                 sampled         ? "most operations were left out"
                 : complete      ? "nothing lost"
                 : losses->total ? ws_format_count(lost, losses->total)
                                 : "the trace is not whole",
                 !sampled && !complete && losses->total ? " events not recorded in full" : "");
}

/* Prints a bar that shows each wall's share of a step, and a legend of the bar's marks. */
static void summary_print_bar(const struct ws_track_wall *wall, struct ws_page *page)
{
    char bar[BAR_WIDTH * MARK_BYTES + 1] = "", legend[320] = "", share[WS_FORMAT_SIZE];
    int64_t so_far = 0,
            guessed = ws_wall_suggested(wall, WS_WALL_COMPUTE) + ws_wall_suggested(wall, WS_WALL_BANDWIDTH);
    int drawn = 0, width = ws_clamp(page->width - WS_VERDICT_LABEL - 4, 1, (int)BAR_WIDTH);
    for (size_t i = 0; i < BAR_PARTS; i++) {
        int64_t time = wall->by_wall[bar_parts[i].wall];
        if (time > wall->length / 1000)
            snprintf(legend + strlen(legend), sizeof(legend) - strlen(legend), "%s%s %s %s", *legend ? "  " : "",
                     bar_parts[i].mark, bar_parts[i].wall ? ws_wall_name(bar_parts[i].wall) : "not known",
                     ws_format_share(share, time, wall->length));
        so_far += ws_max(time, 0);
        double until = (double)so_far / (double)wall->length * width + 0.5;
        for (; drawn < width && drawn + 1 <= until; drawn++)
            memcpy(bar + (size_t)drawn * MARK_BYTES, bar_parts[i].mark, MARK_BYTES + 1);
    }
    ws_page_fact(page, "how it divides", "%s", bar);
    ws_page_fact(page, "", "%s", legend);
    if (guessed > wall->length / 100)
        ws_page_fact(page, "", "only the names of kernels say what limits %s of it all",
                     ws_format_share(share, guessed, wall->length));
}

/* Prints a remark if none of the shown advice shortens a part of the wall. Advice that is not shown may shorten such
 * a part, but saves less. */
static void summary_print_beside(const struct ws_track_wall *wall, size_t shown, struct ws_page *page)
{
    const struct ws_advice *advice = wall->advice.items.data;
    char time[WS_FORMAT_SIZE];
    size_t first = 0;
    while (first < wall->advice.items.count && !wall->in_wall[advice[first].part][wall->wall])
        first++;
    if (!wall->wall || first < shown)
        return;
    if (first < wall->advice.items.count)
        ws_page_text(page, "Against the wall itself only %s was found to save: %s. What follows shortens the rest.",
                     ws_format_time(time, advice[first].saving_ns), advice[first].what);
    else
        ws_page_text(page, "Nothing cheap was found against the wall itself. What follows shortens the rest.");
}

/* Prints the advice, without the evidence for it. */
static void summary_print_advice(const struct ws_report *report, size_t shown, size_t most, struct ws_page *page)
{
    const struct ws_track_wall *wall = ws_report_result(report, &ws_analysis_wall, shown);
    const struct ws_track_roofline *roofline = ws_report_result(report, &ws_analysis_roofline, shown);
    const struct ws_advice *advice = wall->advice.items.data;
    size_t count = ws_verdict_advice(report, shown, most), label = page->label;
    char time[WS_FORMAT_SIZE], share[WS_FORMAT_SIZE], number[WS_FORMAT_SIZE];
    bool again = ws_missing_needs_recording(report, shown, wall);
    bool imported =
        ws_process_meta(ws_model_process(report->model, ws_model_track(report->model, shown)->process), "import");
    ws_page_heading(page, "Do first", NULL);
    page->label = 1;
    if (again)
        ws_page_fact(page, "1",
                     "record again, with all operations and the kernels of graphs: wallshim record -- COMMAND");
    else if (!count && 2 * ws_wall_unknown(wall) > wall->length)
        ws_page_text(page, "Nothing cheap to win was found, and the work of most kernels is not known: %s.%s",
                     ws_roofline_why_unknown(report, shown),
                     !imported              ? ""
                     : roofline->has_shapes ? " wallshim record knows more of them."
                                            : " Record with wallshim record, or with record_shapes=True in "
                                              "torch.profiler.");
    else if (!count)
        ws_page_text(page, "Nothing cheap to win was found.");
    else
        summary_print_beside(wall, count, page);
    for (size_t i = 0; i < count; i++)
        ws_page_fact(page, ws_format_count(number, i + 1 + again), "up to %s%s (%s): %s%s%s",
                     ws_format_time(time, advice[i].saving_ns), wall->per_step ? " a step" : "",
                     ws_format_share(share, advice[i].saving_ns, wall->length), advice[i].what,
                     *advice[i].where ? "; at " : "", advice[i].where);
    page->label = label;
}

/* Returns the roofline's row of a name. The search begins at *next, behind the row found last: callers ask in order
 * of time, and the rows are sorted by time. */
static const struct ws_roofline_row *summary_roof_of(const struct ws_track_roofline *roofline, uint32_t name,
                                                     size_t *next)
{
    const struct ws_roofline_row *rows = roofline->rows.data;
    for (size_t i = 0, count = roofline->rows.count; i < count; i++) {
        size_t at = (*next + i) % count;
        if (rows[at].name == name) {
            *next = at + 1;
            return &rows[at];
        }
    }
    return NULL;
}

/* What limits the kernel, in a word or two. */
static const char *summary_limit(const struct ws_roofline_row *row)
{
    static const char *const limits[WS_ROOF_CLASS_COUNT] = {
        [WS_ROOF_UNKNOWN] = "not known",   [WS_ROOF_COMPUTE] = "compute",       [WS_ROOF_MEMORY] = "bandwidth",
        [WS_ROOF_LATENCY] = "its latency", [WS_ROOF_COMMUNICATION] = "network",
    };
    return row ? limits[row->class] : "–";
}

static void summary_print_kernels(const struct ws_report *report, size_t shown, size_t most, struct ws_page *page)
{
    static const struct ws_table_column columns[] = {
        { "share", false, false },
        { "total", false, false },
        { "count", false, WS_NARROW_LEAVE_OUT },
        { "mean", false, WS_NARROW_LEAVE_OUT },
        { "limited by", true, WS_NARROW_LEAVE_OUT },
        { "of roof", false, WS_NARROW_LEAVE_OUT },
        { "name", true, WS_NARROW_SHORTEN },
    };
    const struct ws_track_kernels *kernels = ws_report_result(report, &ws_analysis_kernels, shown);
    const struct ws_track_roofline *roofline = ws_report_result(report, &ws_analysis_roofline, shown);
    const struct ws_kernel_row *rows = kernels->rows.data;
    struct ws_table table;
    char share[WS_FORMAT_SIZE];
    size_t next = 0;
    if (!kernels->rows.count)
        return;
    ws_page_heading(page, "Heaviest kernels", NULL);
    ws_table_init(&table, page, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < kernels->rows.count && (!most || i < most); i++) {
        const struct ws_roofline_row *roof = summary_roof_of(roofline, rows[i].name, &next);
        double of_roof = roof ? ws_roofline_of_roof(roof) : 0;
        ws_table_cell(&table, "%s", ws_format_share(share, rows[i].total, kernels->total));
        ws_table_time(&table, rows[i].total);
        ws_table_count(&table, rows[i].count);
        ws_table_time(&table, rows[i].total / (int64_t)rows[i].count);
        ws_table_cell(&table, "%s", summary_limit(roof));
        if (roof && of_roof > 0 && !roof->inconsistent && !roof->cached)
            ws_table_cell(&table, "%.0f %%", 100 * of_roof);
        else
            ws_table_cell(&table, "–");
        ws_table_name(&table, ws_model_name(report->model, rows[i].name)->text);
    }
    ws_table_finish(&table);
}

static void summary_print_verdict(const struct ws_report *report, size_t shown, const struct summary_room *room,
                                  struct ws_page *page)
{
    size_t label = page->label, top = page->top;
    page->label = WS_VERDICT_LABEL;
    page->top = room->devices;
    ws_verdict_devices(report, shown, "", page);
    page->top = top;
    ws_verdict_wall(report, shown, page);
    summary_print_bar(ws_report_result(report, &ws_analysis_wall, shown), page);
    ws_verdict_questions(report, shown, page);
    page->label = label;
    summary_print_advice(report, shown, room->advice, page);
    summary_print_kernels(report, shown, room->kernels, page);
}

static void summary_print_page(const struct ws_report *report, const struct summary_room *room, struct ws_page *page)
{
    size_t shown = ws_report_slowest(report).shown;
    ws_report_print_window(report, page);
    if (shown != WS_NOWHERE) {
        summary_print_recorded(report, shown, page);
        ws_page_heading(page, ws_analysis_verdict.title, NULL);
        summary_print_verdict(report, shown, room, page);
    } else {
        ws_page_heading(page, ws_analysis_verdict.title, NULL);
        ws_verdict_devices(report, shown, "", page);
        ws_no_verdict_text(report, page);
    }
    fputc('\n', page->out);
    ws_page_text(page, "wallshim report --full shows every section with its evidence, --section gaps one of them.");
}

/* How many lines the page would have. 0: not known. */
static size_t summary_lines(const struct ws_report *report, const struct summary_room *room, struct ws_page page)
{
    char *text = NULL;
    size_t size = 0, lines = 0;
    page.out = open_memstream(&text, &size);
    if (!page.out)
        return 0;
    summary_print_page(report, room, &page);
    fclose(page.out);
    for (size_t i = 0; i < size; i++)
        lines += text[i] == '\n';
    free(text);
    return lines;
}

/* Leaves out one more kernel, device or piece of advice, in the order of `parts`. Returns false if nothing more can
 * be left out. */
static bool summary_shorten(struct summary_room *room)
{
    const struct {
        size_t *shown, least;
    } parts[] = { { &room->kernels, 6 }, { &room->devices, 6 }, { &room->kernels, 4 }, { &room->devices, 4 },
                  { &room->advice, 4 },  { &room->kernels, 3 }, { &room->devices, 3 }, { &room->advice, 3 },
                  { &room->kernels, 1 }, { &room->devices, 1 }, { &room->advice, 1 } };
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        if (*parts[i].shown > parts[i].least) {
            --*parts[i].shown;
            return true;
        }
    return false;
}

void ws_summary_print(const struct ws_report *report, struct ws_page *page)
{
    struct summary_room room = { ws_page_rows(page, DEVICES_MOST), ws_page_rows(page, KERNELS_MOST), ADVICE_MOST };
    if (!page->top) /* all rows: more than a page */
        room.devices = room.kernels = 0;
    while (page->top && summary_lines(report, &room, *page) > WS_SUMMARY_LINES && summary_shorten(&room))
        ;
    summary_print_page(report, &room, page);
}
