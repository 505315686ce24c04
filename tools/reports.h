/* Functions that several subcommands share, to read traces, make a report and print it. */
#ifndef WALLSHIM_TOOLS_REPORTS_H
#define WALLSHIM_TOOLS_REPORTS_H

#include "analysis/analyses.h"
#include "command.h"
#include "hardware/gpu_file.h"
#include "traces.h"
#include "window.h"

struct tool_loaded {
    struct ws_windows windows; /* the spans of time that were read, if the user asked for a window */
    struct ws_model *model;
    struct ws_report *report;
};

/* Reads the part of the traces that `window` selects, with progress on a terminal, and runs all analyses on all CPU
 * cores. `window->steps` selects where the steps come from (--steps). Returns 0, or TOOL_ERROR after a line on
 * stderr. Call tool_unload in both cases, before tool_traces_finish. */
int tool_load(struct tool_loaded *loaded, const struct tool_traces *traces, const struct tool_window *window,
              const struct ws_report_options *options);

/* Returns 0 if no trace is cut or damaged, or if the report has a verdict for at least one device. Otherwise prints a
 * line on stderr and returns TOOL_ERROR. */
int tool_judge_rest(const struct tool_loaded *loaded);

void tool_unload(struct tool_loaded *loaded);

/* Sets *top to the value of --top, or to `otherwise` if --top was not given. Returns 0, or TOOL_ERROR after a line on
 * stderr. */
int tool_top(const struct tool_arguments *arguments, size_t otherwise, size_t *top);

/* The peaks that --gpu selects. `gpu` and `calibrations` are NULL if --gpu was not given. */
struct tool_gpu {
    const struct ws_gpu *gpu; /* the GPU that --gpu names, or that the file given to --gpu describes */
    const struct ws_calibrations
        *calibrations;       /* for --gpu calibrated: this user's calibrations; each device of a trace uses its own */
    struct ws_gpu_file file; /* memory for `gpu`, if a file describes it */
    struct ws_calibrations all;
};

/* Reads --gpu. Returns 0, or TOOL_ERROR after a line on stderr. Call tool_gpu_finish after a success; after an error,
 * tool_gpu_finish is optional. */
int tool_gpu_init(struct tool_gpu *gpu, const struct tool_arguments *arguments);

void tool_gpu_finish(struct tool_gpu *gpu);

#define TOOL_GPU_SWITCH                                                                                           \
    {                                                                                                             \
        "gpu", 'g', "NAME",                                                                                       \
            "compare kernels with the peaks of this GPU: a name such as h100, a JSON file that describes it, or " \
            "calibrated (what wallshim calibrate measured on the trace's own GPU)"                                \
    }

/* Returns a page that prints to standard output. The page's width is the variable COLUMNS, else the width of the
 * terminal, else 100 columns; but at least 60 and at most 400. It has colour only on a terminal, if TERM is set and
 * is not "dumb", and if NO_COLOR is unset or empty. */
struct ws_page tool_page(const struct tool_arguments *arguments, size_t top);

/* Prints the object on standard output and releases it. NULL means that memory ran out. */
int tool_print_json(json_t *root);

#endif
