/* The analyses of a report. Each is one file that defines a struct ws_analysis; adding one means
 * adding its line to the list in registry.c, which is also the order in which a report shows them.
 */
#ifndef WALLSHIM_ANALYSIS_REGISTRY_H
#define WALLSHIM_ANALYSIS_REGISTRY_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/advice.h"
#include "analysis/classify.h"
#include "analysis/page.h"
#include "hardware/calibrations.h"
#include "hardware/gpu.h"
#include "model/model.h"

struct ws_report;

enum ws_scope {
    WS_SCOPE_TRACK,   /* a device of a process; its index in ws_model.tracks */
    WS_SCOPE_PROCESS, /* its index in ws_model.processes */
    WS_SCOPE_JOB,     /* all of them together; 0 */
};

enum { WS_MOST_NEEDS = 12 };

struct ws_analysis {
    const char *name;  /* for --section */
    const char *title; /* the section's heading, a name for it as well; NULL: no section of its own */
    enum ws_scope scope;
    size_t result_size;

    /* Whose results are ready when run is called, NULL after the last: of the same scope for the same
     * subject, of another scope for every subject. No circles. */
    const struct ws_analysis *needs[WS_MOST_NEEDS];
    bool last; /* needs every analysis that is not last itself, for every subject */

    /* Fills the result, all 0 before. Called from several threads, each for another subject. Returns
     * 0 or -errno. */
    int (*run)(const struct ws_report *report, size_t subject, void *result);
    void (*finish)(void *result); /* may be NULL */

    /* Does the result make a section? Where not, it is shown only when it is asked for. NULL: always. */
    bool (*has_section)(const void *result);

    /* Prints the section's body. */
    void (*text)(const struct ws_report *report, size_t subject, const void *result, struct ws_page *page);

    /* Adds advice on the subject, devices and the job only. May be NULL. Returns 0 or -ENOMEM. */
    int (*advise)(const struct ws_report *report, size_t subject, const void *result, struct ws_advice_list *list);

    /* Adds keys to the subject's object; the job's is the whole report. Returns 0 or -ENOMEM. */
    int (*json)(const struct ws_report *report, size_t subject, const void *result, json_t *object);
};

extern const struct ws_analysis *const ws_analyses[];
extern const size_t ws_analysis_count;

/* Where the steps of a report come from. */
enum ws_steps_choice {
    WS_STEPS_AUTO,        /* the program's markers where there are any, else the kernel stream */
    WS_STEPS_ONLY_MARKED, /* markers or none */
    WS_STEPS_ONLY_FOUND,  /* the kernel stream, even where there are markers */
    WS_STEPS_NOT_ASKED,   /* none: figures are of the whole recording */
};

struct ws_report_options {
    size_t top;       /* items of an open-ended list in JSON; 0: all */
    unsigned threads; /* that run analyses; 0 counts as 1 */
    enum ws_steps_choice steps;
    const struct ws_gpu *gpu;                   /* peaks to hold kernels against; NULL: those of each device */
    const struct ws_calibrations *calibrations; /* to take those from, not from data sheets; NULL: not asked for */
};

struct ws_report {
    const struct ws_model *model;
    enum ws_steps_choice steps;
    const struct ws_gpu *gpu;
    const struct ws_calibrations *calibrations;
    uint8_t *classes; /* enum ws_kernel_class by index into ws_model.names */
    size_t top;       /* items of an open-ended list in JSON */
    bool *rank_names; /* by process: is its rank a name that no other process has? */
    void **results;   /* by analysis and subject; use ws_report_result */
};

/* Runs every analysis. Returns 0 or -errno. The model outlives the report. */
int ws_report_create(struct ws_report **report, const struct ws_model *model,
                     const struct ws_report_options *options);

/* Accepts NULL. */
void ws_report_destroy(struct ws_report *report);

const void *ws_report_result(const struct ws_report *report, const struct ws_analysis *analysis, size_t subject);

/* Sections are named by their name, or by a part of their heading that no other has, as people see only that. */
bool ws_report_has_section(const char *name);

/* The sections named, each of which there is, in the report's order; all of them where count is 0. */
void ws_report_print(const struct ws_report *report, struct ws_page *page, const char *const *sections, size_t count);

/* The whole as one object, or NULL when memory is out. The caller's reference. */
json_t *ws_report_json(const struct ws_report *report);

/* "rank 3", or the name of the trace's file. */
void ws_report_process_title(const struct ws_report *report, size_t process, char *text, size_t capacity);

/* "GPU 0 NVIDIA H100", after the process when there are several. */
void ws_report_track_title(const struct ws_report *report, size_t track, char *text, size_t capacity);

/* Classes and groups of an operation's name. */
static inline enum ws_kernel_class ws_report_class(const struct ws_report *report, size_t name)
{
    return (enum ws_kernel_class)report->classes[name];
}

/* A JSON string from text that may be no UTF-8. */
json_t *ws_json_text(const char *text);

/* Sets a key to an integer. Returns 0 or -ENOMEM. */
int ws_json_set(json_t *object, const char *key, int64_t value);

/* An amount (FLOPs, bytes): a whole number as far as integers reach. */
json_t *ws_json_amount(double value);

/* Sets a key to a number, or to an amount; left out unless it is above 0: not known. */
int ws_json_set_real(json_t *object, const char *key, double value);
int ws_json_set_amount(json_t *object, const char *key, double value);

#endif
