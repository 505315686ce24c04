#include "analysis/verdict/summary.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/activity/activity.h"
#include "analysis/activity/losses.h"
#include "analysis/activity/overview.h"
#include "analysis/activity/recorded.h"
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

/* A bar shows the share of a step that each wall (compute, communication …) takes. This table gives the bar's
 * character for each wall, in the order in which the walls are drawn. */
static const struct {
    enum ws_wall wall;
    const char *mark; /* the bar's character for the wall; MARK_BYTES bytes long */
} bar_parts[] = {
    { WS_WALL_COMPUTE, "█" },  { WS_WALL_BANDWIDTH, "▓" }, { WS_WALL_COMMUNICATION, "▒" },
    { WS_WALL_OVERHEAD, "░" }, { WS_WALL_NONE, "–" },
};
enum {
    BAR_PARTS = sizeof(bar_parts) / sizeof(bar_parts[0]),
    BAR_WIDTH = 60 /* largest width of the bar in characters */,
    MARK_BYTES = sizeof("█") - 1
};

enum { KERNELS_MOST = 10, ADVICE_MOST = 5, DEVICES_MOST = 8 };

/* Percent of a step. If kernels that only their names assign to a wall (what limits the device) take more than this
 * share, the page says so. */
enum { GUESSED_SHOWN = 30 };

/* How many devices, kernels and pieces of advice the page shows at most. If `devices` or `kernels` is 0, the page
 * shows all of them. */
struct summary_room {
    size_t devices, kernels, advice;
};

/* Is a step more than 1 % longer than the time from the device's first operation to its last? A step can be longer,
 * because it begins on the host before its first operation runs on the device. */
static bool summary_step_is_longer(const struct ws_track_steps *steps, int64_t known)
{
    int64_t longest = steps->kinds[WS_STEP_STEADY] ? steps->most : 0;
    for (int phase = 0; phase < WS_PHASE_COUNT; phase++) {
        const struct ws_phase_row *row = &steps->phases.rows[phase];
        longest = ws_max(longest, row->steps ? row->lasted / (int64_t)row->steps : 0);
    }
    return longest > known / 100 * 101;
}

enum { LOST_TEXT = 200 };

/* Writes what the trace lacks. Leaves out what was launched outside the time that the user asked for. Counts
 * operations launched before the recording separately, because the trace lacks only their launches. */
static void summary_write_lost(const struct ws_report *report, size_t shown, char text[LOST_TEXT])
{
    size_t subject = ws_model_track(report->model, shown)->process;
    const struct ws_process *process = ws_model_process(report->model, subject);
    struct ws_process_losses losses =
        *(const struct ws_process_losses *)ws_report_result(report, &ws_analysis_losses, subject);
    const struct ws_loss_sums sums = ws_losses_sum(report, subject);
    const struct ws_track_causes *causes = ws_report_result(report, &ws_analysis_causes, shown);
    char count[WS_FORMAT_SIZE];
    size_t used = 0;
    losses.total = sums.before + sums.counted + sums.lost;
    if (causes->is_sampled || !losses.total) {
        snprintf(text, LOST_TEXT, "%s",
                 causes->is_sampled                        ? "most operations were left out"
                 : ws_losses_is_complete(process, &losses) ? "nothing lost"
                                                           : "the trace is not whole");
        return;
    }
    if (sums.before)
        used = (size_t)snprintf(text, LOST_TEXT, "%s of them launched before the recording",
                                ws_format_count(count, sums.before));
    if (sums.counted)
        used += (size_t)snprintf(text + used, LOST_TEXT - used,
                                 "%sin pauses, to keep --overhead, %s further calls were only counted",
                                 used ? ", " : "", ws_format_count(count, sums.counted));
    if (sums.lost)
        snprintf(text + used, LOST_TEXT - used, "%s%s events not recorded in full", used ? ", " : "",
                 ws_format_count(count, sums.lost));
}

/* Prints what was recorded: "train.py on NVIDIA H100: 99 steps, 1,024 operations, 1.07 s from the first to the last
 * on the GPU; nothing lost; recording cost 0.9 %". */
static void summary_print_recorded(const struct ws_report *report, size_t shown, struct ws_page *page)
{
    const struct ws_track *track = ws_model_track(report->model, shown);
    const struct ws_process *process = ws_model_process(report->model, track->process);
    const struct ws_track_steps *steps = ws_report_result(report, &ws_analysis_steps, shown);
    const char *program = ws_process_meta(process, "program");
    char title[256], count[WS_FORMAT_SIZE], time[WS_FORMAT_SIZE], lost[LOST_TEXT], cost[WS_FORMAT_SIZE],
        found[WS_FORMAT_SIZE + 32] = "";
    ws_report_track_title(report, shown, title, sizeof(title));
    if (steps->kinds[WS_STEP_STEADY])
        snprintf(found, sizeof(found), "%s %s%s%s, ", ws_format_count(count, steps->kinds[WS_STEP_STEADY]),
                 steps->phases.several ? ws_phase_name(steps->phases.lead) : "", steps->phases.several ? " " : "",
                 steps->kinds[WS_STEP_STEADY] == 1 ? "step" : "steps");
    const struct ws_track_activity *activity = ws_report_result(report, &ws_analysis_activity, shown);
    int64_t known = ws_activity_known(activity);
    char span[WS_FORMAT_SIZE + 32] = "";
    if (activity->unrecorded)
        snprintf(span, sizeof(span), "recorded of the %s ", ws_format_time(time, activity->span));
    summary_write_lost(report, shown, lost);
    const struct ws_process_overview *overview = ws_report_result(report, &ws_analysis_overview, track->process);
    const char *share = ws_recording_cost_share(&overview->cost, cost);
    ws_page_text(page, "%s%s%s: %s%s operations, %s %sfrom the first to the last on the GPU%s; %s%s%s",
                 program ? program : "", program && *program ? " on " : "", title, found,
                 ws_format_count(count, track->count), ws_format_time(time, known), span,
                 summary_step_is_longer(steps, known) ? " (a step begins before, on the host)" : "", lost,
                 share ? "; recording cost " : "", share ? share : "");
}

/* Prints a bar that shows each wall's (compute, communication …) share of a step, and a legend of the bar's marks. */
static void summary_print_bar(const struct ws_track_wall *wall, struct ws_page *page)
{
    char bar[BAR_WIDTH * MARK_BYTES + 1] = "", legend[320] = "", share[WS_FORMAT_SIZE];
    int64_t so_far = 0,
            guessed = ws_wall_suggested(wall, WS_WALL_COMPUTE) + ws_wall_suggested(wall, WS_WALL_BANDWIDTH);
    int drawn = 0, width = ws_clamp(page->width - WS_VERDICT_LABEL - 4, 1, (int)BAR_WIDTH);
    for (size_t i = 0; i < BAR_PARTS; i++) {
        int64_t time = ws_max(wall->by_wall[bar_parts[i].wall], 0);
        int before = drawn;
        so_far += time;
        double until = (double)so_far / (double)wall->length * width + 0.5;
        for (; drawn < width && drawn + 1 <= until; drawn++)
            memcpy(bar + (size_t)drawn * MARK_BYTES, bar_parts[i].mark, MARK_BYTES + 1);
        if (drawn > before)
            snprintf(legend + strlen(legend), sizeof(legend) - strlen(legend), "%s%s %s %.0f %%", *legend ? "  " : "",
                     bar_parts[i].mark, bar_parts[i].wall ? ws_wall_name(bar_parts[i].wall) : "not known",
                     100 * (double)time / (double)wall->length);
    }
    ws_page_fact(page, wall->per_step ? "how a step divides" : "how the time divides", "%s", bar);
    ws_page_fact(page, "", "%s", legend);
    if (guessed > wall->length / 100 * GUESSED_SHOWN && !wall->by_names)
        ws_page_fact(page, "", "only the names of kernels say what limits %s of it all",
                     ws_format_share(share, guessed, wall->length));
}

/* Prints a remark if none of the first `shown` pieces of advice shortens a part of the step that belongs to the wall
 * (what limits the device most). If later pieces of advice shorten such a part, the remark gives the saving of the
 * first of these pieces. */
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
        ws_page_text(page, "Against the wall itself only %s was found; against the rest of a step:",
                     ws_format_time(time, advice[first].saving_ns));
    else
        ws_page_text(page, "Nothing cheap was found against the wall itself; against the rest of a step:");
}

/* Writes the place in the program to which a piece of advice refers: "; at forward (model.py:12): x = norm(x)", or
 * only "train.py:41" for a line outside functions. Writes nothing if the place is an operator of PyTorch, which is no
 * place in the user's program. Also writes nothing if the advice has several places and names only a range for them.
 * The report with --full names operators and such ranges too. */
static void summary_write_place(const struct ws_advice *advice, char text[WS_ADVICE_PLACE])
{
    static const char module[] = "<module> (";
    static const char *const operators[] = { "aten::", "autograd::", "__torch_function__" };
    const char *where = advice->where, *end = strncmp(where, module, sizeof(module) - 1) ? NULL : strchr(where, ')');
    *text = 0;
    for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++)
        if (!strncmp(where, operators[i], strlen(operators[i])))
            return;
    if (strstr(where, " other place") && !strchr(where, '('))
        return;
    if (end)
        snprintf(text, WS_ADVICE_PLACE, "; at %.*s%s%s%s", (int)(end - where - (ptrdiff_t)sizeof(module) + 1),
                 where + sizeof(module) - 1, end + 1, *advice->code ? ": " : "", advice->code);
    else if (!strncmp(where, "## ", 3) && strstr(where + 3, " ##"))
        snprintf(text, WS_ADVICE_PLACE, "; in the range %s", where);
    else
        ws_advice_place(advice, text);
}

/* Prints the advice, but not the evidence for it. */
static void summary_print_advice(const struct ws_report *report, size_t shown, size_t most, struct ws_page *page)
{
    const struct ws_track_wall *wall = ws_report_result(report, &ws_analysis_wall, shown);
    const struct ws_advice *advice = wall->advice.items.data;
    size_t count = ws_verdict_advice(report, shown, WS_ADVICE_PER_MILLE_OF_PAGE, most), label = page->label;
    char time[WS_FORMAT_SIZE], share[WS_FORMAT_SIZE], number[WS_FORMAT_SIZE], place[WS_ADVICE_PLACE];
    bool again = ws_missing_needs_recording(report, shown, wall);
    ws_page_heading(page, "Do first", NULL);
    page->label = 1;
    if (again)
        ws_page_fact(page, "1", WS_RECORD_AGAIN);
    else if (!count)
        ws_page_text(page, "Nothing was found that would save %d %% or more.%s", WS_ADVICE_PER_MILLE_OF_PAGE / 10,
                     2 * wall->parts[WS_PART_GRAPHS] > wall->length
                         ? " Kernels in CUDA graphs were not examined: --section graphs lists them."
                     : 2 * ws_wall_unknown(wall) > wall->length
                         ? " The work of most kernels is not known (question 4)."
                         : "");
    else
        summary_print_beside(wall, count, page);
    for (size_t i = 0; i < count; i++) {
        summary_write_place(&advice[i], place);
        ws_page_fact(page, ws_format_count(number, i + 1 + again), "up to %s%s (%s): %s%s",
                     ws_format_time(time, advice[i].saving_ns), wall->per_step ? " a step" : "",
                     ws_format_share(share, advice[i].saving_ns, wall->length), advice[i].what, place);
    }
    page->label = label;
}

/* Returns the roofline row for the operation name `name`, or NULL. The search begins at *next, the index after the
 * row that the previous call found. The search ends fast, because the caller passes names in order of decreasing
 * total time, and the rows have the same order. */
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

/* Returns a short text for the kernel's roofline class. */
static const char *summary_class(const struct ws_roofline_row *row)
{
    static const char *const classes[WS_ROOF_CLASS_COUNT] = {
        [WS_ROOF_UNKNOWN] = "not known", [WS_ROOF_COMPUTE] = "compute-bound", [WS_ROOF_MEMORY] = "memory-bound",
        [WS_ROOF_LATENCY] = "too small", [WS_ROOF_COMMUNICATION] = "network",
    };
    return row ? classes[row->class] : "–";
}

/* Prints the time that the shares in the table of kernels refer to. Operations on several streams overlap, so the sum
 * of their times may exceed the time in which the GPU was busy. Also prints how much communication overlapped with
 * compute. */
static void summary_print_base(const struct ws_report *report, size_t shown, struct ws_page *page)
{
    const struct ws_track_kernels *kernels = ws_report_result(report, &ws_analysis_kernels, shown);
    const struct ws_track_activity *activity = ws_report_result(report, &ws_analysis_activity, shown);
    int64_t comm = activity->group[WS_GROUP_COMM];
    char sum[WS_FORMAT_SIZE], busy[WS_FORMAT_SIZE], share[WS_FORMAT_SIZE], hidden[100] = "";
    ws_format_time(sum, kernels->total);
    if (kernels->total - activity->busy <= kernels->total / 100) {
        ws_page_text(page, "share: of the %s that all operations of the recording take", sum);
        return;
    }
    if (activity->comm_overlap > comm / 100)
        snprintf(hidden, sizeof(hidden), "; compute hides %s of the network's time",
                 ws_format_share(share, activity->comm_overlap, comm));
    ws_page_text(page, "share: of the %s that all operations take one by one; they overlap, the GPU is busy for %s%s",
                 sum, ws_format_time(busy, activity->busy), hidden);
}

static void summary_print_kernels(const struct ws_report *report, size_t shown, size_t most, struct ws_page *page)
{
    static const struct ws_table_column columns[] = {
        { "share", false, false },
        { "total", false, false },
        { "count", false, WS_NARROW_LEAVE_OUT },
        { "mean", false, WS_NARROW_LEAVE_OUT },
        { "roofline", true, WS_NARROW_LEAVE_OUT },
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
    ws_page_heading(page, "Heaviest GPU operations", NULL);
    ws_table_init(&table, page, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < kernels->rows.count && (!most || i < most); i++) {
        const struct ws_roofline_row *roof = summary_roof_of(roofline, rows[i].name, &next);
        double of_roof = roof ? ws_roofline_of_roof(roof) : 0;
        ws_table_cell(&table, "%s", ws_format_share(share, rows[i].total, kernels->total));
        ws_table_time(&table, rows[i].total);
        ws_table_count(&table, rows[i].count);
        ws_table_time(&table, rows[i].total / (int64_t)rows[i].count);
        ws_table_cell(&table, "%s", summary_class(roof));
        if (roof && of_roof > 0 && !roof->inconsistent && !roof->cached)
            ws_table_cell(&table, "%.0f %%", 100 * of_roof);
        else
            ws_table_cell(&table, "–");
        ws_table_name(&table, ws_model_name(report->model, rows[i].name)->text);
    }
    ws_table_finish(&table);
    summary_print_base(report, shown, page);
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
    ws_page_text(page, "%swallshim report --full shows all sections, --section gaps one.",
                 shown != WS_NOWHERE ? "Questions: begin at the first no. " : "");
}

/* Returns the number of lines that the page has with this `room`, or 0 if memory runs out. */
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

/* Lowers one of the numbers in `room` by 1: the first in `parts` that is above its `least`. Returns false if no
 * number can be lowered. */
static bool summary_shorten(struct summary_room *room)
{
    const struct {
        size_t *shown, least;
    } parts[] = { { &room->kernels, 5 }, { &room->advice, 3 }, { &room->kernels, 3 },
                  { &room->kernels, 2 }, { &room->advice, 2 }, { &room->devices, 4 },
                  { &room->kernels, 1 }, { &room->advice, 1 }, { &room->devices, 1 } };
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
    if (!page->top) /* the user asked for all rows, which need more than a page */
        room.devices = room.kernels = 0;
    while (page->top && summary_lines(report, &room, *page) > WS_SUMMARY_LINES && summary_shorten(&room))
        ;
    summary_print_page(report, &room, page);
}
