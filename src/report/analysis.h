/* The interface of an analysis, and the parts of a report that an analysis can read. A new analysis needs a line in
 * src/analysis/analyses.c.
 */
#ifndef WALLSHIM_REPORT_ANALYSIS_H
#define WALLSHIM_REPORT_ANALYSIS_H

#include <stddef.h>
#include <stdint.h>

#include "hardware/calibrations.h"
#include "hardware/gpu.h"
#include "model/model.h"
#include "report/advice.h"
#include "report/json.h"
#include "report/page.h"

struct ws_report;

enum ws_scope {
    WS_SCOPE_TRACK,   /* one device of one process; the subject (what is analysed) is an index in ws_model.tracks */
    WS_SCOPE_PROCESS, /* one process; the subject is an index in ws_model.processes */
    WS_SCOPE_JOB,     /* all processes together; the subject is 0 */
};

enum { WS_MOST_NEEDS = 12 };

struct ws_analysis {
    const char *name;  /* name that --section accepts */
    const char *title; /* heading of the section, which --section accepts too; NULL: no section */
    enum ws_scope scope;
    size_t result_size;

    /* Analyses whose results run() reads; NULL after the last. Before run() is called for a subject, the needed
     * analyses have finished: those of the same scope for this subject, those of other scopes for every subject. No
     * analysis may need itself, directly or through other analyses. */
    const struct ws_analysis *needs[WS_MOST_NEEDS];
    /* The analysis's section shows times of host threads. If the profiler slowed the host, the report prints a note
     * at the end of such a section. */
    bool host_times;
    bool last; /* runs after all analyses that are not `last` have finished, for every subject */

    /* Fills the result, which is zeroed before the call. Several threads may call run() at the same time, for
     * different subjects. Returns 0 or -errno. */
    int (*run)(const struct ws_report *report, size_t subject, void *result);
    void (*finish)(void *result); /* may be NULL */

    /* Does the result deserve a section? If not, the report shows the section only on request. NULL: the report
     * always shows the section. */
    bool (*has_section)(const void *result);

    /* Prints the section's body. */
    void (*text)(const struct ws_report *report, size_t subject, const void *result, struct ws_page *page);

    /* Adds advice about the subject, which is a device or the job. NULL: the analysis gives no advice. Returns 0 or
     * -ENOMEM. */
    int (*advise)(const struct ws_report *report, size_t subject, const void *result, struct ws_advice_list *list);

    /* Adds keys to the JSON object of the subject; the job's object is the whole report. Returns 0 or -ENOMEM. */
    int (*json)(const struct ws_report *report, size_t subject, const void *result, json_t *object);
};

/* The analyses of a report, and three functions that the report calls through pointers, because code in src/report
 * may not include headers of src/analysis. */
struct ws_analyses {
    const struct ws_analysis *const *list; /* in the order of their sections in the report */
    size_t count;
    uint8_t (*class_of)(const struct ws_op_name *name); /* returns the enum ws_kernel_class of an operation */

    /* Returns the index in ws_model.tracks of the device that a page shows if the user does not ask for all devices;
     * WS_NOWHERE: the page shows all devices. Called after every analysis has run. */
    size_t (*device_shown)(const struct ws_report *report);

    /* Prints the report that is shown by default, on one page. Called after every analysis has run. */
    void (*summary)(const struct ws_report *report, struct ws_page *page);
};

/* Where a report gets its steps (the iterations of the program's main loop) from. */
enum ws_steps_choice {
    WS_STEPS_AUTO,        /* the program's step markers; without markers, like WS_STEPS_ONLY_FOUND */
    WS_STEPS_ONLY_MARKED, /* the program's step markers; without markers the report has no steps */
    WS_STEPS_ONLY_FOUND,  /* steps that wallshim finds where operations repeat, even if there are markers */
    WS_STEPS_NOT_ASKED,   /* no steps: figures are for the whole recording */
};

/* The window (part of the recording, model/window.h) to which a report is restricted. Times are in ns from the start
 * of the first operation on any device. */
struct ws_report_window {
    int64_t begin, end; /* begin INT64_MIN: from the recording's start; end INT64_MAX: to its end */
    bool by_steps;
    uint64_t first_step, last_step;     /* if by_steps: the numbers of the first and last step in the window */
    const struct ws_given_steps *steps; /* the steps of the whole recording that lie in the window */
};

struct ws_report {
    const struct ws_model *model;
    const struct ws_analyses *analyses;
    enum ws_steps_choice steps;
    const struct ws_report_window *window; /* NULL: the model holds the whole recording */
    const struct ws_gpu *gpu;
    const struct ws_calibrations *calibrations;
    uint8_t *classes; /* enum ws_kernel_class by index into ws_model.names */
    size_t top;       /* maximum length of a list in JSON, except lists that have a limit of their own */
    bool *rank_names; /* by process: true if its title is its rank, because no other process has this rank */
    void **results;   /* results by analysis and subject; ws_report_result finds a result */
    size_t stride;    /* entries in `results` per analysis: the number of subjects of the scope with most subjects */
};

/* Returns the result of an analysis for a subject (a device, a process or the job). The result is all 0 until the
 * analysis has run. */
const void *ws_report_result(const struct ws_report *report, const struct ws_analysis *analysis, size_t subject);

enum { WS_WINDOW_TEXT = 160 };

/* Writes "launched from 1.2 s to 3 s (steps 2 to 4)". Writes "" if the window is NULL, which means the whole
 * recording. Returns `text`. */
const char *ws_report_window_text(const struct ws_report_window *window, char text[WS_WINDOW_TEXT]);

/* Returns the window as JSON, or NULL if memory runs out. Leaves out the begin of a window that starts with the
 * recording, and the end of a window that ends with the recording. */
json_t *ws_report_window_json(const struct ws_report_window *window);

/* Prints which window of the recording the report covers. Prints nothing if the report covers the whole recording. */
void ws_report_print_window(const struct ws_report *report, struct ws_page *page);

/* Writes the title of a process: "rank 3", or the name of the trace's file. */
void ws_report_process_title(const struct ws_report *report, size_t process, char *text, size_t capacity);

/* Writes "GPU 0 NVIDIA H100"; if there are several processes, begins with the title of the process. */
void ws_report_track_title(const struct ws_report *report, size_t track, char *text, size_t capacity);

#endif
