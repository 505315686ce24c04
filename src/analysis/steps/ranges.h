/* The work of a device for the ranges that a program sets (NVTX, record_function), and for the operators of its
 * framework.
 *
 * There are two analyses: one of ranges of kind WS_RANGE_ANNOTATION, and one of kind WS_RANGE_OPERATOR. Step markers
 * are in another section of the report, Steps. Ranges are grouped by name. Each analysis looks only at ranges of its
 * kind, as if there were no others. An operation belongs to the ranges that were open in the launching thread when
 * the launch call began. The innermost of these ranges counts the operation as its own work (`own`). All of these
 * ranges count the operation (`work`), but ranges of the same name count it only once. If two ranges overlap without
 * nesting, both count the operation. Autograd launches the backward pass from a thread of its own. These operations
 * do not belong to the ranges of the thread that waits for the backward pass.
 *
 * `busy` is the length of the union of the operations' intervals; `sum` is the sum of their lengths. `idle` is the
 * length of the gaps on the device that these operations ended. It shows which range the device waited for; gaps.h
 * gives the causes. Host time is the time that threads spent in the range: the union of the intervals of each thread,
 * summed over threads. The `own` part of the host time is the part outside nested ranges.
 *
 * Figures for steady steps (`steady`) count an operation with its full length if it begins in a steady step. They
 * count the part of a gap that lies in steady steps, and the host time between the host_begin and host_end of steady
 * steps. A range belongs to the step in which it ended.
 */
#ifndef WALLSHIM_ANALYSIS_STEPS_RANGES_H
#define WALLSHIM_ANALYSIS_STEPS_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vector.h"
#include "report/analysis.h"

struct ws_range_amount {
    uint64_t operations; /* operations with device times */
    int64_t busy, sum, idle;
};

struct ws_range_work {
    struct ws_range_amount all, steady; /* whole recording; steady steps only */
    int64_t until;                      /* `busy` already counts the time before this, ns */
};

struct ws_range_stay {
    uint64_t count;
    int64_t host; /* host time, ns */
    int64_t own;  /* the part of `host` outside nested ranges */
};

/* All ranges of one name, on all threads. */
struct ws_range_row {
    uint32_t label;                   /* index in ws_process.labels; UINT32_MAX: the trace lost the name */
    uint32_t parent;                  /* in a tree (modules.h): index of the enclosing row; else WS_NO_RANGE */
    uint32_t labels;                  /* in a tree: number of different labels */
    uint32_t labels_below;            /* in a tree: most different labels below one label of the parent row */
    struct ws_range_stay all, steady; /* whole recording; steady steps only */
    struct ws_range_work work;        /* operations launched inside */
    struct ws_range_work own;         /* the part of `work` outside nested ranges */
};

/* Work that a thread launched outside all ranges. */
struct ws_range_outside {
    uint32_t thread; /* id in the trace; 0: the trace does not hold the launch */
    bool has_ranges;
    struct ws_range_work work;
};

struct ws_track_ranges {
    struct ws_vector rows;    /* struct ws_range_row, largest device or host time first; empty: no such ranges */
    struct ws_vector outside; /* struct ws_range_outside, largest busy first */
};

extern const struct ws_analysis ws_analysis_ranges, ws_analysis_operators;

/* defined in ranges_report.c */
void ws_ranges_text(const struct ws_report *report, size_t subject, const void *result, struct ws_page *page);
int ws_ranges_json(const struct ws_report *report, size_t subject, const void *result, json_t *object);
void ws_operators_text(const struct ws_report *report, size_t subject, const void *result, struct ws_page *page);
int ws_operators_json(const struct ws_report *report, size_t subject, const void *result, json_t *object);

#endif
