#include <string.h>

#include "jobs.h"
#include "reports.h"

enum { TOP = 20 };

/* Appends " verdict, overview, …". */
static void add_sections(char *text, size_t capacity)
{
    size_t used = strlen(text), shown = 0;
    for (size_t i = 0; i < ws_analysis_count && used < capacity; i++)
        if (ws_analyses[i]->title)
            used += (size_t)snprintf(text + used, capacity - used, "%s %s", shown++ ? "," : "", ws_analyses[i]->name);
}

static const struct tool_switch *switches(size_t *count)
{
    static char sections[512] =
        "only this section of the text, by name or part of its heading; may be given several times:";
    static const struct tool_switch list[] = {
        { "json", 0, NULL, "everything as JSON, described by report.schema.json" },
        { "section", 's', "NAME", sections },
        TOOL_STEPS_SWITCH,
        { "top", 't', "N", "rows of a table at most; 0 all (20 without this switch)" },
        { "all", 'a', NULL, "every device of a job; without it the slowest" },
        TOOL_GPU_SWITCH,
        { "wide", 'w', NULL, "print names whole and all columns, however wide lines become" },
    };
    *count = sizeof(list) / sizeof(list[0]);
    if (sections[strlen(sections) - 1] == ':')
        add_sections(sections, sizeof(sections));
    return list;
}

/* Before anything is read: large traces take their time. */
static int check_sections(const struct tool_arguments *arguments)
{
    char sections[512] = "";
    for (size_t i = 0; i < arguments->repeated_count; i++)
        if (!ws_report_has_section(arguments->repeated[i])) {
            add_sections(sections, sizeof(sections));
            return tool_error("--section %s: no such section; there are%s", arguments->repeated[i], sections);
        }
    return TOOL_DONE;
}

static int print_text(const struct ws_report *report, const struct tool_arguments *arguments, size_t top)
{
    struct ws_page page = tool_page(arguments, top);
    page.all = tool_value(arguments, "all") != NULL;
    ws_report_print(report, &page, arguments->repeated, arguments->repeated_count);
    return TOOL_DONE;
}

static int run(const struct tool_arguments *arguments)
{
    struct tool_traces traces;
    struct tool_loaded loaded;
    struct ws_report_options wanted = { 0 };
    struct tool_gpu gpu;
    bool as_json = tool_value(arguments, "json") != NULL;
    if (as_json && tool_value(arguments, "section"))
        return tool_error("report: --section chooses from the text; --json is always the whole");
    if (check_sections(arguments) || tool_top(arguments, TOP, &wanted.top) || tool_steps(arguments, &wanted.steps) ||
        tool_gpu_init(&gpu, arguments))
        return TOOL_ERROR;
    wanted.gpu = gpu.gpu;
    wanted.calibrations = gpu.calibrations;
    int status = tool_find_traces(&traces, arguments);
    if (status) {
        tool_gpu_finish(&gpu);
        return status;
    }
    status = tool_load(&loaded, &traces, &wanted);
    if (!status)
        status = as_json ? tool_print_json(ws_report_json(loaded.report))
                         : print_text(loaded.report, arguments, wanted.top);
    tool_unload(&loaded);
    tool_traces_finish(&traces);
    tool_gpu_finish(&gpu);
    return status;
}

const struct tool_command tool_report = {
    .name = "report",
    .operands = "[TRACE…]",
    .summary = "say what the GPUs did, and where time went",
    .text = "Prints a report on one or several traces, or on all those in a folder. Without a trace it takes the "
            "newest *.wst "
            "in the current folder and names it. A file in a folder that cannot be read is named on stderr and left "
            "out.\n" TOOL_JOBS_TEXT,
    .switches = switches,
    .repeats = "section",
    .run = run,
};
