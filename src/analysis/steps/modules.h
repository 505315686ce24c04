/* The device's work per module of a PyTorch program (nn.Module), as a tree.
 *
 * torch.profiler (with_stack=True) records a range for each call of a module, named "nn.Module: Linear_3": the
 * module's class and the number of the instance. A row of the tree stands for all instances of a class below the same
 * parent row. So the equal layers of a transformer are one row. ranges.h defines the figures of a row and says which
 * operations belong to a range.
 *
 * The calls of autograd's engine form a row "backward". If the backward pass runs on a thread of its own, as it
 * mostly does, this row has no parent. Modules that run again in the backward pass (activation checkpointing) are
 * children of this row. The work of the device is the sum of the `own` work of all rows and the work outside modules.
 */
#ifndef WALLSHIM_ANALYSIS_STEPS_MODULES_H
#define WALLSHIM_ANALYSIS_STEPS_MODULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/steps/range_sums.h"

/* A row of the tree: all instances of a module class below the same parent row. Rows are ranked by device time in
 * steady steps, or in the whole recording if there are no steady steps. */
struct ws_module {
    /* figures of the row (device time …); the fields parent, labels and labels_below are not used */
    struct ws_range_row row;
    const char *name;   /* name of the module class, without a zero byte at its end */
    uint32_t length;    /* length of `name` in bytes */
    uint32_t depth;     /* depth of the row in the tree; 0: the row has no parent; at most WS_RANGES_DEEPEST */
    uint32_t instances; /* number of different instances of the module class in this row */
    /* number of instances of the class in each instance of the parent row's class; 0: the number varies */
    uint32_t each;
    /* number of rows that rank before this row: rows with more device time, and all rows above this row in the
     * tree */
    uint32_t rank;
    bool is_in_steps; /* the row has work or host time in steady steps; rows for which this is false rank last */
    bool is_backward; /* this is the row of autograd's engine, which is no module */
};

struct ws_track_modules {
    /* struct ws_module; each parent row comes before its children, and rows with the same parent are in order of
     * rank */
    struct ws_vector rows;
    struct ws_track_ranges sums; /* only the member `outside` (work outside modules) is used */
};

extern const struct ws_analysis ws_analysis_modules;

/* defined in modules_report.c */
void ws_modules_text(const struct ws_report *report, size_t subject, const void *result, struct ws_page *page);
int ws_modules_json(const struct ws_report *report, size_t subject, const void *result, json_t *object);

#endif
