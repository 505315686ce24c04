/* What a device did for the ranges that a program puts into itself: NVTX, record_function.
 *
 * Of the ranges of a process those of kind WS_RANGE_ANNOTATION count, by their names; steps have a section of their
 * own, and operators and Python functions are no words of the program's about its phases. An operation is of the
 * ranges that its thread was in when the call began that launched it: of the innermost as its own, of all around it
 * as well, of two of one name once. Where ranges overlap, both hold it. What another thread launches (autograd's: the
 * backward pass) is of no range of this one, whatever that waits for.
 *
 * busy is the union of the operations' intervals, exact in ns, sum the sum of their lengths. idle is the time that
 * nothing ran until one of them began: which range the device waited for, not why (gaps.h). The time of the host is
 * that of the threads in the range, of each thread a union.
 *
 * What begins in a steady step is of it: an operation, a gap, with all of their length. Of the host's time what is
 * within the steady steps as the host went through them (ws_step.host_begin), and a range is of the step that it
 * ended in.
 */
#ifndef WALLSHIM_ANALYSIS_RANGES_H
#define WALLSHIM_ANALYSIS_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/registry.h"
#include "base/vector.h"

struct ws_range_amount {
    uint64_t operations; /* that have device times */
    int64_t busy, sum, idle;
};

struct ws_range_work {
    struct ws_range_amount all, steady; /* of the recording, and of it in steady steps */
    int64_t until;                      /* busy holds what is before */
};

struct ws_range_stay {
    uint64_t count;
    int64_t host; /* from begin to end */
};

/* The ranges of one name, of all threads. */
struct ws_range_row {
    uint32_t label;                   /* place in ws_process.labels; UINT32_MAX: the trace lost the name */
    struct ws_range_stay all, steady; /* of the recording, and of it in steady steps */
    struct ws_range_work work;        /* launched in them */
    struct ws_range_work own;         /* of that, in no other range within them */
};

/* What a thread launched that is of no row. */
struct ws_range_outside {
    uint32_t thread; /* identifier in the trace; 0: the trace does not hold the launch */
    bool has_ranges;
    struct ws_range_work work;
};

struct ws_track_ranges {
    struct ws_vector rows; /* struct ws_range_row, most time of the device or the host first; none: no such ranges */
    struct ws_vector outside; /* struct ws_range_outside, most busy first */
};

extern const struct ws_analysis ws_analysis_ranges;

/* How a report shows them: ranges_report.c. */
void ws_ranges_text(const struct ws_report *report, size_t subject, const void *result, struct ws_page *page);
int ws_ranges_json(const struct ws_report *report, size_t subject, const void *result, json_t *object);

#endif
