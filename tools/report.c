#include <string.h>

#include "jobs.h"
#include "reports.h"

enum { TOP = 20 };

/* Appends the names of all sections of a report: " verdict, overview, …". */
static void add_sections(char *text, size_t capacity)
{
    size_t used = strlen(text), shown = 0;
    for (size_t i = 0; i < ws_all_analyses.count && used < capacity; i++)
        if (ws_all_analyses.list[i]->title)
            used += (size_t)snprintf(text + used, capacity - used, "%s %s", shown++ ? "," : "",
                                     ws_all_analyses.list[i]->name);
}

static const struct tool_switch *report_switches(size_t *count)
{
    static char sections[512] =
        "print only this section, by name or part of its heading; may be given several times:";
    static const struct tool_switch list[] = {
        { "full", 'f', NULL, "print all sections, not only the first page" },
        { "json", 0, NULL, "the whole report as JSON, described by report.schema.json" },
        { "section", 's', "NAME", sections },
        TOOL_WINDOW_SWITCHES,
        { "top", 't', "N", "most rows of a table; 0: all (default: 20)" },
        { "all", 'a', NULL, "print all sections, for every device of a job" },
        TOOL_GPU_SWITCH,
        { "wide", 'w', NULL, "print whole names and all columns, even in long lines" },
    };
    *count = sizeof(list) / sizeof(list[0]);
    if (sections[strlen(sections) - 1] == ':')
        add_sections(sections, sizeof(sections));
    return list;
}

/* Checks the names of sections before any trace is read, because reading large traces takes time. */
static int check_sections(const struct tool_arguments *arguments)
{
    char sections[512] = "";
    for (size_t i = 0; i < arguments->repeated_count; i++)
        if (!ws_report_has_section(&ws_all_analyses, arguments->repeated[i])) {
            add_sections(sections, sizeof(sections));
            return tool_error("--section %s: no such section; there are%s", arguments->repeated[i], sections);
        }
    return TOOL_DONE;
}

static int report_print_text(const struct ws_report *report, const struct tool_arguments *arguments, size_t top)
{
    struct ws_page page = tool_page(arguments, top);
    page.all = tool_value(arguments, "all") != NULL;
    if (arguments->repeated_count || page.all || tool_value(arguments, "full"))
        ws_report_print(report, &page, arguments->repeated, arguments->repeated_count);
    else
        ws_report_print_summary(report, &page);
    return TOOL_DONE;
}

static int report_run(const struct tool_arguments *arguments)
{
    struct tool_traces traces;
    struct tool_loaded loaded;
    struct ws_report_options wanted = { 0 };
    struct tool_window window;
    struct tool_gpu gpu;
    bool as_json = tool_value(arguments, "json") != NULL;
    if (as_json && tool_value(arguments, "section"))
        return tool_error("report: --section is for text; --json always has all sections");
    if (check_sections(arguments) || tool_top(arguments, TOP, &wanted.top) || tool_window_init(&window, arguments) ||
        tool_gpu_init(&gpu, arguments))
        return TOOL_ERROR;
    wanted.gpu = gpu.gpu;
    wanted.calibrations = gpu.calibrations;
    int status = tool_find_traces(&traces, arguments);
    if (status) {
        tool_gpu_finish(&gpu);
        return status;
    }
    status = tool_load(&loaded, &traces, &window, &wanted);
    if (!status)
        status = as_json ? tool_print_json(ws_report_json(loaded.report))
                         : report_print_text(loaded.report, arguments, wanted.top);
    if (!status)
        status = tool_judge_rest(&loaded);
    tool_unload(&loaded);
    tool_traces_finish(&traces);
    tool_gpu_finish(&gpu);
    return status;
}

const struct tool_command tool_report = {
    .name = "report",
    .operands = "[TRACE…]",
    .summary = "say what the GPUs did, and where time went",
    .text = "Prints one page on one or several traces, or on all traces in a folder: the wall, what to do first, and "
            "the heaviest kernels. --full prints all sections. Without a trace it takes the "
            "newest *.wst in the current folder and names it. Unreadable files in a folder are named on stderr and "
            "left out.\n" TOOL_TRACES_TEXT "\n" TOOL_JOBS_TEXT,
    .switches = report_switches,
    .repeats = "section",
    .run = report_run,
};
