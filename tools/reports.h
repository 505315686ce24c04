/* From trace files to a report, and from a report to the terminal: what several subcommands share. */
#ifndef WALLSHIM_TOOLS_REPORTS_H
#define WALLSHIM_TOOLS_REPORTS_H

#include "analysis/registry.h"
#include "command.h"
#include "hardware/gpu_file.h"
#include "traces.h"

struct tool_loaded {
    struct ws_model *model;
    struct ws_report *report;
};

/* Reads the traces, with progress on a terminal, and runs the analyses, on every core. Returns 0, or TOOL_ERROR
 * after a line on stderr; to be unloaded in any case, before the traces are finished. */
int tool_load(struct tool_loaded *loaded, const struct tool_traces *traces, const struct ws_report_options *options);

void tool_unload(struct tool_loaded *loaded);

/* The value of --top, `otherwise` where it was not given. Returns 0, or TOOL_ERROR after a line on stderr. */
int tool_top(const struct tool_arguments *arguments, size_t otherwise, size_t *top);

/* The value of --steps, auto where it was not given. Returns 0, or TOOL_ERROR after a line on stderr. */
int tool_steps(const struct tool_arguments *arguments, enum ws_steps_choice *choice);

/* What --gpu says to hold kernels against: gpu and calibrations NULL where it was not given. */
struct tool_gpu {
    const struct ws_gpu *gpu;                   /* one that it names, or describes in a file */
    const struct ws_calibrations *calibrations; /* "calibrated": those of this user, for the traces to choose from */
    struct ws_gpu_file file;                    /* what the above point to */
    struct ws_calibrations all;
};

/* Returns 0, or TOOL_ERROR after a line on stderr; to be finished only after 0. */
int tool_gpu_init(struct tool_gpu *gpu, const struct tool_arguments *arguments);

void tool_gpu_finish(struct tool_gpu *gpu);

#define TOOL_GPU_SWITCH                                                                                            \
    {                                                                                                              \
        "gpu", 'g', "NAME",                                                                                        \
            "hold kernels against this GPU's peaks: h100 …, a JSON file that describes it, or calibrated: what " \
            "wallshim calibrate measured on the trace's own"                                                       \
    }

#define TOOL_STEPS_SWITCH                                                                                           \
    {                                                                                                               \
        "steps", 0, "WHERE",                                                                                        \
            "take steps from markers of the program (marked), from the order of operations (found), markers where " \
            "there are any (auto, the default), or none"                                                            \
    }

/* Standard output as a page: as wide as the terminal or COLUMNS, with colour on a terminal unless NO_COLOR. */
struct ws_page tool_page(const struct tool_arguments *arguments, size_t top);

/* Prints the object, which it takes over, on standard output; NULL is out of memory. */
int tool_print_json(json_t *root);

#endif
