#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "calibrate/calibrate.h"
#include "command.h"
#include "hardware/calibrations.h"
#include "interrupts.h"
#include "progress.h"
#include "reports.h"

enum { SECONDS = 10, MOST_SECONDS = 3600, MOST_DEVICES = 1024 };

static const struct tool_switch *calibrate_switches(size_t *count)
{
    static const struct tool_switch list[] = {
        { "device", 0, "N", "the GPU, numbered from 0 as CUDA does (default: 0)" },
        { "seconds", 0, "S", "how long to measure (default: 10); longer shows whether the GPU keeps its clock" },
        { "output", 'o', "FILE",
          "the file to write, for --gpu FILE. An earlier calibration is replaced; any other file is left alone. "
          "Default: a file among the user's data" },
        { "json", 0, NULL, "print what is written to the file, described by calibrate.schema.json" },
    };
    *count = sizeof(list) / sizeof(list[0]);
    return list;
}

static void calibrate_show_progress(void *progress, const char *what, double share)
{
    char text[96];
    snprintf(text, sizeof(text), "calibrating… %s", what);
    tool_progress_say(progress, text, (uint64_t)(share * 1000), 1000);
}

/* --- the file ------------------------------------------------------------------------------------------------ */

static int make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        int failed = mkdir(path, 0777) && errno != EEXIST;
        if (failed)
            return tool_error("%s: %s", path, strerror(errno));
        *slash = '/';
    }
    return 0;
}

/* May the file be written? An earlier calibration may be replaced, any other file may not. Called before measuring,
 * so that no measurement is lost, and again before writing. */
static int may_write(const char *path)
{
    struct ws_gpu_file file;
    char message[512], folder[1024];
    snprintf(folder, sizeof(folder), "%s", path);
    char *slash = strrchr(folder, '/');
    if (slash)
        slash[slash == folder] = 0;
    if (access(slash ? folder : ".", W_OK))
        return tool_error("%s: %s", path, strerror(errno));
    if (access(path, F_OK) && errno == ENOENT)
        return 0;
    if (ws_gpu_read(&file, path, message, sizeof(message)) || !*file.calibrated)
        return tool_error("%s: exists and is not a calibration: left alone", path);
    return 0;
}

/* Finds the user's folder of calibrations, into which the file goes if the user names none. */
static int find_folder(char *folder, size_t capacity)
{
    if (!ws_calibrations_folder(folder, capacity))
        return tool_error("calibrate: neither XDG_DATA_HOME nor HOME is set: name a file with -o");
    return 0;
}

static int choose_path(const char *given, const struct ws_calibration *calibration, char *path, size_t capacity)
{
    char folder[512], name[400];
    if (given) {
        snprintf(path, capacity, "%s", given);
        return may_write(path);
    }
    if (find_folder(folder, sizeof(folder)))
        return TOOL_ERROR;
    ws_calibration_file_name(calibration->name, calibration->uuid, name, sizeof(name));
    snprintf(path, capacity, "%s/%s", folder, name);
    return make_folders(path);
}

/* Writes the file completely or not at all, because other programs may read it at the same time. */
static int write_file(const json_t *root, const char *path)
{
    char aside[1100];
    snprintf(aside, sizeof(aside), "%s.%d", path, (int)getpid());
    errno = 0;
    tool_interrupts_file(aside);
    bool written = !json_dump_file(root, aside, JSON_INDENT(1) | JSON_REAL_PRECISION(9)) && !rename(aside, path);
    tool_interrupts_file(NULL);
    if (written)
        return 0;
    int status = tool_error("%s: %s", path, errno ? strerror(errno) : "cannot be written");
    unlink(aside);
    return status;
}

/* --- the text ------------------------------------------------------------------------------------------------ */

struct line {
    const char *name;
    const struct ws_ceiling *ceiling;
    /* sheet: the data sheet's peak in bytes or FLOPs per ns. ridge: FLOPs per byte at the ridge of the measured
     * roofline. sheet_ridge: FLOPs per byte at the ridge of the data sheet's roofline. Each is 0 if it is not
     * known. */
    double sheet, ridge, sheet_ridge;
    bool is_bandwidth;
};

static void calibrate_rate_cell(struct ws_table *table, double per_ns, bool is_bandwidth)
{
    if (per_ns > 0)
        ws_table_cell(table, "%.4g %s", per_ns / 1e3, is_bandwidth ? "TB/s" : "TFLOP/s");
    else
        ws_table_cell(table, "–");
}

static void ridge_cell(struct ws_table *table, double ridge)
{
    if (ridge > 0)
        ws_table_cell(table, "%.3g", ridge);
    else
        ws_table_cell(table, "–");
}

static void print_line(struct ws_table *table, const struct line *line)
{
    const struct ws_rate *rate = &line->ceiling->rate;
    char bytes[WS_FORMAT_SIZE];
    ws_table_cell(table, "%s", line->name);
    calibrate_rate_cell(table, rate->median, line->is_bandwidth);
    calibrate_rate_cell(table, line->sheet, line->is_bandwidth);
    if (line->sheet > 0)
        ws_table_cell(table, "%.1f %%", 100 * rate->median / line->sheet);
    else
        ws_table_cell(table, "–");
    ridge_cell(table, line->ridge);
    ridge_cell(table, line->sheet_ridge);
    ws_table_cell(table, "%.1f %%", 100 * rate->spread);
    if (line->is_bandwidth)
        ws_table_cell(table, "%s", ws_format_bytes(bytes, line->ceiling->size));
    else
        ws_table_cell(table, "%llu²", (unsigned long long)line->ceiling->size);
}

static size_t make_lines(const struct ws_calibration *calibration, const struct ws_gpu *sheet,
                         struct line lines[WS_PRECISION_COUNT + 2])
{
    size_t count = 0;
    lines[count++] = (struct line){ "memory, copy", &calibration->copy, sheet->bytes_per_ns, 0, 0, true };
    lines[count++] = (struct line){ "memory, write", &calibration->write, sheet->bytes_per_ns, 0, 0, true };
    for (int i = 0; i < WS_PRECISION_COUNT; i++) {
        enum ws_precision precision = (enum ws_precision)i;
        const struct ws_ceiling *ceiling = &calibration->gemms[i];
        lines[count++] =
            (struct line){ ws_precision_name(precision),   ceiling,
                           ws_gpu_peak(sheet, precision),  ceiling->rate.median / calibration->copy.rate.median,
                           ws_gpu_ridge(sheet, precision), false };
    }
    return count;
}

/* Warns if much of the GPU's memory is in use: another program may use the GPU, and slow the measured work. */
static void print_neighbours(const struct ws_calibration *calibration, struct ws_page *page)
{
    char used[WS_FORMAT_SIZE], total[WS_FORMAT_SIZE];
    uint64_t all = calibration->facts.memory_bytes;
    if (calibration->memory_free < all / 10 * 9)
        ws_page_text(page, "! %s of its %s are in use: if another program was at work, the figures are too low.",
                     ws_format_bytes(used, all - calibration->memory_free), ws_format_bytes(total, all));
}

static void calibrate_print_text(const struct ws_calibration *calibration, const json_t *root, struct ws_page *page)
{
    static const struct ws_table_column columns[] = {
        { "", true, false },        { "measured", false, false }, { "data sheet", false, false },
        { "of it", false, false },  { "ridge", false, false },    { "by data sheet", false, WS_NARROW_LEAVE_OUT },
        { "spread", false, false }, { "best at", false, false },
    };
    struct ws_gpu sheet;
    struct line lines[WS_PRECISION_COUNT + 2];
    struct ws_table table;
    char note[160];
    bool known = ws_calibration_sheet(calibration, &sheet);
    if (!known)
        sheet = (struct ws_gpu){ 0 };
    size_t count = make_lines(calibration, &sheet, lines);
    ws_page_fact(page, "GPU", "%s, %s", calibration->name, calibration->uuid);
    ws_page_fact(page, "ceilings", "%s", json_string_value(json_object_get(root, "source")));
    ws_page_fact(page, "data sheet", "%s", known ? sheet.source : "the table has no such GPU");
    fputc('\n', page->out);
    ws_table_init(&table, page, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < count; i++)
        if (lines[i].ceiling->rate.median > 0)
            print_line(&table, &lines[i]);
    ws_table_finish(&table);
    fputc('\n', page->out);
    if (!*calibration->blas)
        ws_page_text(page, "No GEMMs: %s.", calibration->gemms[WS_PRECISION_FP32].why_not);
    for (size_t i = 0; i < count; i++) {
        const struct ws_ceiling *ceiling = lines[i].ceiling;
        ws_ceiling_note(ceiling, lines[i].sheet, note, sizeof(note));
        if (ceiling->rate.median > 0 && *note)
            ws_page_text(page, "! %s %s", lines[i].name, note);
        else if (!(ceiling->rate.median > 0) && *ceiling->why_not && *calibration->blas)
            ws_page_text(page, "%s: %s", lines[i].name, ceiling->why_not);
    }
    print_neighbours(calibration, page);
}

/* --- the command ----------------------------------------------------------------------------------------- */

static int calibrate_keep(const struct tool_arguments *arguments, const struct ws_calibration *calibration)
{
    char when[32], path[1024];
    time_t now = time(NULL);
    struct tm date;
    strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &date));
    json_t *root = ws_calibration_json(calibration, when, WS_VERSION);
    if (!root)
        return tool_error("out of memory");
    bool as_json = tool_value(arguments, "json") != NULL;
    struct ws_page page = tool_page(arguments, 0);
    if (!as_json)
        calibrate_print_text(calibration, root, &page);
    int status = choose_path(tool_value(arguments, "output"), calibration, path, sizeof(path));
    status = status ? status : write_file(root, path);
    if (as_json && !status && !tool_value(arguments, "output"))
        tool_say("written to %s", path);
    if (as_json)
        return tool_print_json(root) ? TOOL_ERROR : status;
    json_decref(root);
    if (status)
        return status;
    if (tool_value(arguments, "output"))
        ws_page_text(&page, "Written to %s: wallshim report --gpu %s uses it.", path, path);
    else
        ws_page_text(&page, "Written to %s: wallshim report --gpu calibrated uses it.", path);
    return TOOL_DONE;
}

static int calibrate_run(const struct tool_arguments *arguments)
{
    static struct ws_calibration calibration;
    struct tool_progress progress;
    char message[512], folder[512];
    size_t device = 0, seconds = SECONDS;
    const char *given = tool_value(arguments, "device"), *time_given = tool_value(arguments, "seconds"),
               *output = tool_value(arguments, "output");
    if (arguments->operand_count)
        return tool_error("calibrate: %s: takes no trace; see wallshim calibrate --help", arguments->operands[0]);
    if ((given && tool_number("device", given, MOST_DEVICES, &device)) ||
        (time_given && tool_number("seconds", time_given, MOST_SECONDS, &seconds)))
        return TOOL_ERROR;
    if (output ? may_write(output) : find_folder(folder, sizeof(folder)))
        return TOOL_ERROR;
    tool_progress_start(&progress);
    struct ws_calibrate_options options = {
        .device = (int)device, .seconds = (double)seconds, .progress = calibrate_show_progress, .user = &progress
    };
    int status = ws_calibrate(&calibration, &options, message, sizeof(message));
    tool_progress_end(&progress);
    return status ? tool_error("calibrate: %s", message) : calibrate_keep(arguments, &calibration);
}

const struct tool_command tool_calibrate = {
    .name = "calibrate",
    .operands = "",
    .summary = "measure what this machine's GPU reaches, for the roofline",
    .text =
        "Measures both ceilings of the roofline on a GPU of this machine: the bandwidth of copies within its memory, "
        "and the rate of large GEMMs at each precision that the GPU and its cuBLAS have. With --gpu "
        "calibrated, reports use them instead of the data sheet's peaks. Run it while nothing else uses the GPU.\n"
        "Each GPU has a file in $XDG_DATA_HOME/wallshim/gpus or ~/.local/share/wallshim/gpus. What could not be "
        "measured is named, and stays with the data sheet. calibrate needs the driver and, for GEMMs, "
        "libcublas.so.13, .12 or .11 where the loader finds it. It needs no CUDA toolkit.",
    .switches = calibrate_switches,
    .run = calibrate_run,
};
