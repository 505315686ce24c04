#include <stdlib.h>
#include <string.h>

#include "compare/compare.h"
#include "reports.h"

enum { TOP = 20 };

static const struct tool_switch *diff_switches(size_t *count)
{
    static const struct tool_switch list[] = {
        { "json", 0, NULL, "the whole comparison as JSON, described by diff.schema.json" },
        { "fail-on-regression", 0, "PERCENT",
          "exit with status 1 where a step takes this much longer than before, and more than by chance; without "
          "steps, the whole recording counts; 2: that cannot be said" },
        TOOL_WINDOW_SWITCHES,
        { "top", 't', "N", "most rows of a table; 0: all (default: 20)" },
        { "wide", 'w', NULL, "print whole names and all columns, even in long lines" },
    };
    *count = sizeof(list) / sizeof(list[0]);
    return list;
}

/* Stores the value of --fail-on-regression as a share in *limit; negative: not given. */
static int limit_of(const struct tool_arguments *arguments, double *limit)
{
    const char *text = tool_value(arguments, "fail-on-regression");
    char *end;
    *limit = -1;
    if (!text)
        return 0;
    *limit = strtod(text, &end) / 100;
    end += *end == '%';
    if (end == text || *end || !(*limit >= 0 && *limit <= 1000))
        return tool_error("--fail-on-regression %s: give percents, such as 5", text);
    return 0;
}

static int diff_show(const struct tool_arguments *arguments, const struct ws_comparison *comparison, size_t top,
                     double limit)
{
    const struct ws_change *total = ws_comparison_total(comparison);
    struct ws_page page = tool_page(arguments, top);
    if (!tool_value(arguments, "json"))
        ws_comparison_print(comparison, &page);
    else if (tool_print_json(ws_comparison_json(comparison)))
        return TOOL_ERROR;
    if (limit < 0)
        return TOOL_DONE;
    fflush(stdout); /* so that standard output comes before the lines on stderr */
    if (ws_comparison_is_partial(comparison))
        return tool_error(
            "diff: no verdict: a recording lacks a part: calls that were only counted, to keep --overhead, "
            "or what was cut off; record both whole, with a larger share, or with steps");
    if (ws_comparison_is_unequal(comparison))
        return tool_error("diff: no verdict: the recordings have different --event-placement, and so cost different "
                          "amounts; record both alike");
    if (!ws_change_is_regression(total, limit))
        return TOOL_DONE;
    tool_say("a regression: the %s takes %.1f %% longer than before, more than %.3g %%", total->label,
             100 * (total->after / total->before - 1), 100 * limit);
    return TOOL_RULE_BROKEN;
}

/* Loads one recording, and keeps only the figures that are compared. Two recordings in memory at once would take
 * twice the memory. The texts in `side` are copies, so the recording is freed on return. */
static int load(struct ws_report_side *side, const char *path, const struct tool_window *window,
                const struct ws_report_options *wanted)
{
    struct tool_traces traces;
    struct tool_loaded loaded;
    int status = tool_find_traces_at(&traces, path);
    if (status)
        return status;
    status = tool_load(&loaded, &traces, window, wanted);
    status = status ? status : tool_judge_rest(&loaded);
    if (!status && ws_report_side_init(side, loaded.report))
        status = tool_error("out of memory");
    tool_unload(&loaded);
    tool_traces_finish(&traces);
    return status;
}

static int diff_run(const struct tool_arguments *arguments)
{
    struct ws_report_side before = { 0 }, after = { 0 };
    struct ws_report_options wanted = { .top = TOP };
    struct tool_window window;
    char message[128];
    double limit;
    size_t top;
    if (arguments->operand_count != 2)
        return tool_error("diff: takes two recordings, before and after; each a trace or a folder of them");
    if (tool_top(arguments, TOP, &top) || tool_window_init(&window, arguments) || limit_of(arguments, &limit))
        return TOOL_ERROR;
    int status = load(&before, arguments->operands[0], &window, &wanted);
    status = status ? status : load(&after, arguments->operands[1], &window, &wanted);
    if (!status) {
        struct ws_comparison comparison;
        if (ws_compare(&comparison, &before, &after, message, sizeof(message)))
            status = tool_error("diff: %s", message);
        else
            status = diff_show(arguments, &comparison, top, limit);
        ws_comparison_finish(&comparison);
    }
    ws_report_side_finish(&before);
    ws_report_side_finish(&after);
    return status;
}

const struct tool_command tool_diff = {
    .name = "diff",
    .operands = "BEFORE AFTER",
    .summary = "say what changed between two recordings",
    .text =
        "Compares two recordings of a program: the parts of a step, classes of kernels, and kernels by name. Each "
        "recording is a trace or a folder of traces. Times are of an average step where both have steps, else of "
        "the whole recording.\n"
        "Kernels whose names differ are matched where only numbers or template arguments differ, or where class, "
        "grid, block and count are the same; * marks such guesses. Changes no larger than the spread of the "
        "steps and the errors of the times are marked with ≈.\n"
        "Of a folder with several jobs the newest is taken. wallshim report --help says what a trace can be.",
    .switches = diff_switches,
    .run = diff_run,
};
