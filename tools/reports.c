#include "reports.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "reading.h"

enum { FILE_WIDTH = 100, LEAST_WIDTH = 60, MOST_WIDTH = 400, MOST_ROWS = 1000 };

int tool_load(struct tool_loaded *loaded, const struct tool_traces *traces, const struct ws_report_options *options)
{
    struct tool_reading reading;
    struct ws_report_options wanted = *options;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    *loaded = (struct tool_loaded){ 0 };
    wanted.threads = cores > 1 ? (unsigned)cores : 1;
    int status = tool_read(&reading, &loaded->model, traces, false);
    if (status)
        return status;
    status = ws_report_create(&loaded->report, loaded->model, &wanted);
    tool_progress_end(&reading.progress);
    return status ? tool_error("out of memory") : 0;
}

void tool_unload(struct tool_loaded *loaded)
{
    ws_report_destroy(loaded->report);
    ws_model_destroy(loaded->model);
    *loaded = (struct tool_loaded){ 0 };
}

int tool_top(const struct tool_arguments *arguments, size_t otherwise, size_t *top)
{
    const char *given = tool_value(arguments, "top");
    *top = otherwise;
    return given ? tool_number("top", given, MOST_ROWS, top) : 0;
}

int tool_steps(const struct tool_arguments *arguments, enum ws_steps_choice *choice)
{
    static const char *const names[] = { [WS_STEPS_AUTO] = "auto",
                                         [WS_STEPS_ONLY_MARKED] = "marked",
                                         [WS_STEPS_ONLY_FOUND] = "found",
                                         [WS_STEPS_NOT_ASKED] = "none" };
    const char *text = tool_value(arguments, "steps");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (!text || !strcmp(text, names[i])) {
            *choice = (enum ws_steps_choice)i;
            return 0;
        }
    }
    return tool_error("--steps %s: auto, marked, found or none", text);
}

int tool_gpu(const struct tool_arguments *arguments, struct ws_gpu_file *file, const struct ws_gpu **gpu)
{
    const char *text = tool_value(arguments, "gpu");
    char message[512];
    *gpu = text ? ws_gpu_named(text) : NULL;
    if (!text || *gpu)
        return 0;
    if (access(text, F_OK))
        return tool_error("--gpu %s: no GPU that is known (wallshim roofline --list), and no file", text);
    if (ws_gpu_read(file, text, message, sizeof(message)))
        return tool_error("--gpu: %s", message);
    *gpu = &file->gpu;
    return 0;
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

struct ws_page tool_page(const struct tool_arguments *arguments, size_t top)
{
    return (struct ws_page){
        .out = stdout,
        .width = page_width(),
        .wide = tool_value(arguments, "wide") != NULL,
        .colour = wants_colour(),
        .top = top,
    };
}

int tool_print_json(json_t *root)
{
    if (!root)
        return tool_error("out of memory");
    int status = json_dumpf(root, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
    json_decref(root);
    fputc('\n', stdout);
    return status ? tool_error("standard output: cannot write everything") : TOOL_DONE;
}
