#include "reports.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "analysis/verdict/wall.h"
#include "base/printable.h"
#include "report/peaks.h"
#include "jobs.h"
#include "reading.h"

enum { FILE_WIDTH = 100, LEAST_WIDTH = 60, MOST_WIDTH = 400, MOST_ROWS = 1000 };

/* Refuses a report against calibrated peaks (those that `wallshim calibrate` has measured) if a GPU of the trace has
 * no calibration. */
static int check_calibrations(const struct ws_model *model, const struct ws_calibrations *calibrations)
{
    enum ws_gpu_match match;
    for (size_t i = 0; i < model->tracks.count; i++) {
        const struct ws_device *device = ws_track_peaks_device(model, ws_model_track(model, i));
        if (device && ws_calibrations_find(calibrations, device->uuid.data, device->name.data, &match))
            continue;
        if (!device)
            return tool_error("--gpu calibrated: the trace does not say on which GPU it was recorded");
        return tool_error("--gpu calibrated: no calibration of %s (%s) in %s: run wallshim calibrate on its machine, "
                          "or name a file%s%s",
                          device->name.data, *device->uuid.data ? device->uuid.data : "no UUID known",
                          *calibrations->folder ? calibrations->folder : "any folder: HOME is not set",
                          *calibrations->unread ? "; not readable: " : "", calibrations->unread);
    }
    return 0;
}

int tool_load(struct tool_loaded *loaded, const struct tool_traces *traces, const struct tool_window *window,
              const struct ws_report_options *options)
{
    struct tool_reading reading;
    struct ws_report_options wanted = *options;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    *loaded = (struct tool_loaded){ 0 };
    wanted.threads = cores > 1 ? (unsigned)cores : 1;
    wanted.steps = window->steps;
    int status = tool_read(&reading, &loaded->model, traces, false);
    if (status)
        return status;
    tool_progress_end(&reading.progress); /* removes the progress line, because other lines on stderr may follow */
    status = tool_keep_one_job(loaded->model, traces);
    if (!status)
        status = tool_window_apply(window, &reading, &loaded->model, &loaded->windows, &wanted, false);
    if (status)
        return status;
    wanted.window = window->asked ? &loaded->windows.shown : NULL;
    tool_progress_end(&reading.progress);
    if (options->calibrations) {
        status = check_calibrations(loaded->model, options->calibrations);
    }
    if (status)
        return status;
    status = ws_report_create(&loaded->report, loaded->model, &ws_all_analyses, &wanted);
    tool_progress_end(&reading.progress);
    return status ? tool_error("out of memory") : 0;
}

int tool_judge_rest(const struct tool_loaded *loaded)
{
    if (ws_report_slowest(loaded->report).shown != WS_NOWHERE)
        return 0;
    for (size_t i = 0; i < loaded->model->processes.count; i++) {
        const struct ws_process *process = ws_model_process(loaded->model, i);
        if (ws_process_is_whole(process))
            continue;
        fflush(stdout); /* so that standard output comes before the line on stderr */
        return tool_error("%s: cut or damaged, and what is left of it gives no verdict: record or copy it again",
                          process->path);
    }
    return 0;
}

void tool_unload(struct tool_loaded *loaded)
{
    ws_report_destroy(loaded->report);
    ws_model_destroy(loaded->model);
    ws_windows_finish(&loaded->windows);
    *loaded = (struct tool_loaded){ 0 };
}

int tool_top(const struct tool_arguments *arguments, size_t otherwise, size_t *top)
{
    const char *given = tool_value(arguments, "top");
    *top = otherwise;
    return given ? tool_number("top", given, MOST_ROWS, top) : 0;
}

int tool_gpu_init(struct tool_gpu *gpu, const struct tool_arguments *arguments)
{
    const char *text = tool_value(arguments, "gpu");
    char message[512];
    *gpu = (struct tool_gpu){ 0 };
    if (!text)
        return 0;
    if (!strcmp(text, "calibrated")) {
        if (ws_calibrations_init(&gpu->all))
            return tool_error("out of memory");
        gpu->calibrations = &gpu->all;
        return 0;
    }
    gpu->gpu = ws_gpu_named(text);
    if (gpu->gpu)
        return 0;
    if (access(text, F_OK))
        return tool_error("--gpu %s: neither a known GPU (see wallshim roofline --list) nor a file", text);
    if (ws_gpu_read(&gpu->file, text, message, sizeof(message)))
        return tool_error("--gpu: %s", message);
    gpu->gpu = &gpu->file.gpu;
    return 0;
}

void tool_gpu_finish(struct tool_gpu *gpu)
{
    ws_calibrations_finish(&gpu->all);
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

/* Escapes characters that are not printable (base/printable.h), except newlines. Such characters occur only inside
 * JSON strings, where an escape means the same. */
static void print_escaped(const char *json)
{
    char escape[WS_JSON_ESCAPE];
    const char *run = json, *at = json;
    while (*at) {
        uint32_t code;
        size_t length = ws_character(at, &code);
        if (length && *at != '\n' && !ws_is_printable(code)) {
            ws_json_escape(escape, code);
            fwrite(run, 1, (size_t)(at - run), stdout);
            fputs(escape, stdout);
            run = at + length;
        }
        at += length ? length : 1;
    }
    fputs(run, stdout);
}

int tool_print_json(json_t *root)
{
    char *text = root ? json_dumps(root, JSON_INDENT(1) | JSON_REAL_PRECISION(9)) : NULL;
    json_decref(root);
    if (!text)
        return tool_error("out of memory");
    print_escaped(text);
    fputc('\n', stdout);
    free(text);
    return fflush(stdout) || ferror(stdout) ? tool_error("standard output: cannot write everything") : TOOL_DONE;
}
