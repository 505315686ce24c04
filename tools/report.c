#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "analysis/registry.h"
#include "command.h"
#include "model/model.h"
#include "progress.h"
#include "traces.h"

enum { FILE_WIDTH = 100, LEAST_WIDTH = 60, MOST_WIDTH = 400, TOP = 20 };

static const struct tool_switch *switches(size_t *count)
{
    static char sections[256] = "only this section of the text:";
    static const struct tool_switch list[] = {
        { "json", 0, NULL, "everything as JSON, described by report.schema.json" },
        { "section", 's', "NAME", sections },
        { "steps", 0, "WHERE",
          "take steps from markers of the program (marked), from the order of operations (found), markers where "
          "there are any (auto, the default), or none" },
        { "top", 't', "N", "rows of a table at most; 0 all (20 without this switch)" },
        { "wide", 'w', NULL, "print names whole, however wide the lines become" },
    };
    *count = sizeof(list) / sizeof(list[0]);
    if (sections[strlen(sections) - 1] != ':')
        return list;
    for (size_t i = 0; i < ws_analysis_count; i++) {
        size_t used = strlen(sections);
        snprintf(sections + used, sizeof(sections) - used, "%s %s", i ? "," : "", ws_analyses[i]->name);
    }
    return list;
}

/* Returns 0, or TOOL_ERROR after a line on stderr. */
static int steps_choice(const char *text, enum ws_steps_choice *choice)
{
    static const char *const names[] = { [WS_STEPS_AUTO] = "auto",
                                         [WS_STEPS_ONLY_MARKED] = "marked",
                                         [WS_STEPS_ONLY_FOUND] = "found",
                                         [WS_STEPS_NOT_ASKED] = "none" };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (!text || !strcmp(text, names[i])) {
            *choice = (enum ws_steps_choice)i;
            return 0;
        }
    }
    return tool_error("--steps %s: auto, marked, found or none", text);
}

static int page_width(void)
{
    const char *columns = getenv("COLUMNS");
    struct winsize window;
    int width = columns ? atoi(columns) : 0;
    if (width <= 0 && !ioctl(STDOUT_FILENO, TIOCGWINSZ, &window))
        width = window.ws_col;
    if (width <= 0)
        width = FILE_WIDTH;
    return width < LEAST_WIDTH ? LEAST_WIDTH : width > MOST_WIDTH ? MOST_WIDTH : width;
}

static bool wants_colour(void)
{
    const char *none = getenv("NO_COLOR");
    const char *terminal = getenv("TERM");
    return isatty(STDOUT_FILENO) && !(none && *none) && terminal && strcmp(terminal, "dumb") != 0;
}

static int print_json(const struct ws_report *report)
{
    json_t *root = ws_report_json(report);
    if (!root)
        return tool_error("out of memory");
    int status = json_dumpf(root, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
    json_decref(root);
    fputc('\n', stdout);
    return status ? tool_error("standard output: cannot write everything") : TOOL_DONE;
}

static int print_text(const struct ws_report *report, const struct tool_arguments *arguments, size_t top)
{
    struct ws_page page = {
        .out = stdout,
        .width = page_width(),
        .wide = tool_value(arguments, "wide") != NULL,
        .colour = wants_colour(),
        .top = top,
    };
    const char *section = tool_value(arguments, "section");
    if (ws_report_print(report, &page, section))
        return tool_error("--section %s: no such section; see wallshim report --help", section);
    return TOOL_DONE;
}

static int run(const struct tool_arguments *arguments)
{
    struct tool_traces traces;
    struct tool_progress progress;
    struct ws_model *model = NULL;
    struct ws_report *report = NULL;
    char message[512];
    struct ws_report_options wanted = { .top = TOP };
    const char *given = tool_value(arguments, "top");
    if (tool_value(arguments, "json") && tool_value(arguments, "section"))
        return tool_error("report: --section chooses from the text; --json is always the whole");
    if ((given && tool_number("top", given, 1000, &wanted.top)) ||
        steps_choice(tool_value(arguments, "steps"), &wanted.steps))
        return TOOL_ERROR;
    int status = tool_find_traces(&traces, arguments);
    if (status)
        return status;
    tool_progress_start(&progress);
    struct ws_model_options options = { .progress = tool_progress_show, .user = &progress };
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    wanted.threads = cores > 1 ? (unsigned)cores : 1;
    if (ws_model_create(&model, (const char *const *)traces.paths, traces.count, &options, message,
                        sizeof(message))) {
        tool_progress_end(&progress);
        status = tool_error("%s", message);
    } else if (ws_report_create(&report, model, &wanted)) {
        tool_progress_end(&progress);
        status = tool_error("out of memory");
    } else {
        tool_progress_end(&progress);
        status = tool_value(arguments, "json") ? print_json(report) : print_text(report, arguments, wanted.top);
    }
    ws_report_destroy(report);
    ws_model_destroy(model);
    tool_traces_finish(&traces);
    return status;
}

const struct tool_command tool_report = {
    .name = "report",
    .operands = "[TRACE…]",
    .summary = "say what the GPUs did, and where time went",
    .text =
        "Prints a report on one or several traces, or on all those in a folder. Without a trace it takes the newest "
        "in the current folder and names it.",
    .switches = switches,
    .run = run,
};
