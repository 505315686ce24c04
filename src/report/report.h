/* A report runs all analyses of a model. It prints their sections, or returns their results as JSON. */
#ifndef WALLSHIM_REPORT_REPORT_H
#define WALLSHIM_REPORT_REPORT_H

#include "report/analysis.h"

struct ws_report_options {
    size_t top;       /* maximum length of a list in JSON, except lists with a limit of their own; 0: no limit */
    unsigned threads; /* threads that run analyses; 0 counts as 1 */
    enum ws_steps_choice steps;
    const struct ws_report_window *window; /* the part of the recording that the model holds; NULL: all */
    const struct ws_gpu *gpu;              /* GPU whose peaks apply to all devices; NULL: find each device's */
    const struct ws_calibrations
        *calibrations; /* calibrated peaks to use in place of data sheets; NULL: use data sheets */
};

/* Runs every analysis. Returns 0 or -errno. The model, the analyses and what the options point to must outlive the
 * report. */
int ws_report_create(struct ws_report **report, const struct ws_model *model, const struct ws_analyses *analyses,
                     const struct ws_report_options *options);

/* Accepts NULL. */
void ws_report_destroy(struct ws_report *report);

/* Does a section have this name, or does exactly one heading contain this text? */
bool ws_report_has_section(const struct ws_analyses *analyses, const char *name);

/* Prints one page: the recording, the wall (what limits the program's speed), the advice that saves most, and the
 * kernels with most time. */
void ws_report_print_summary(const struct ws_report *report, struct ws_page *page);

/* Prints the given sections, which must exist, in the report's order. Prints all sections if count is 0. */
void ws_report_print(const struct ws_report *report, struct ws_page *page, const char *const *sections, size_t count);

/* Returns the whole report as one JSON object, or NULL if memory runs out. The caller owns the reference. */
json_t *ws_report_json(const struct ws_report *report);

#endif
