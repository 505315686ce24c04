/* The work of a device for the modules of a PyTorch program, as a tree.
 *
 * torch.profiler (with_stack=True) records a range for each call of a module, named "nn.Module: Linear_3": the class
 * and the number of the instance. A row of the tree stands for all instances of a class below the same parent row. So
 * the equal layers of a transformer are one row. ranges.h defines the figures and says which operations belong to a
 * range.
 *
 * The calls of autograd's engine form a row "backward". The backward pass runs on a thread of its own, so this row
 * has no parent. Modules that run again in the backward pass (checkpoints) are below it. The `own` work of all rows
 * and the work outside modules add up to all work of the device.
 */
#ifndef WALLSHIM_ANALYSIS_STEPS_MODULES_H
#define WALLSHIM_ANALYSIS_STEPS_MODULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/steps/range_sums.h"

/* Ranks are by device time in steady steps, or in the whole recording if there are no steady steps. */
struct ws_module {
    struct ws_range_row row; /* its parent, labels and labels_below are not used */
    const char *name;        /* the class, not terminated */
    uint32_t length;         /* of the name, in bytes */
    uint32_t depth;          /* 0: has no parent; at most WS_RANGES_DEEPEST */
    uint32_t instances;      /* different instances of the class */
    uint32_t each;           /* number of instances in each instance of the parent; 0: the number varies */
    uint32_t rank;           /* how many rows have more device time; parents rank before their children */
    bool is_in_steps;        /* the row has work or host time in steady steps; rows without it rank last */
    bool is_backward;        /* the row of autograd's engine, which is no module */
};

struct ws_track_modules {
    struct ws_vector rows;       /* struct ws_module: parents before children, else by rank */
    struct ws_track_ranges sums; /* only `outside` is of use */
};

extern const struct ws_analysis ws_analysis_modules;

/* defined in modules_report.c */
void ws_modules_text(const struct ws_report *report, size_t subject, const void *result, struct ws_page *page);
int ws_modules_json(const struct ws_report *report, size_t subject, const void *result, json_t *object);

#endif
