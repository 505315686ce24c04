/* The work of a device for the ranges that a program sets (NVTX, record_function), and for the operators of its
 * framework.
 *
 * There are two analyses: one of ranges of kind WS_RANGE_ANNOTATION, and one of kind WS_RANGE_OPERATOR. Step markers
 * are in another section of the report, Steps. Ranges are grouped by name. Each of the two analyses uses only ranges
 * of its own kind and ignores all others. An operation belongs to the ranges that were open in the launching thread
 * when the launch call began. The innermost of these ranges counts the operation as its own work (`own`). All of
 * these ranges count the operation as `work`. But if several of them have the same name, the row of this name counts
 * it only once. If two ranges overlap without nesting, both count the operation. Autograd launches the operations of
 * the backward pass from a thread of its own. These operations do not belong to the ranges of the thread that waits
 * for the backward pass.
 *
 * `busy` is the length of the union of the operations' intervals; `sum` is the sum of the lengths of these intervals.
 * `idle` is the sum of the device's gaps (idle times) that were ended by an operation of the range. So `idle` shows
 * which range the device waited for. The section Gaps of the report (gaps.h) gives the causes of the gaps. Host time
 * is the time that threads spent in ranges of the name: the union of the ranges' intervals on each thread, summed
 * over threads. The `own` part of the host time is the part outside nested ranges.
 *
 * Figures for steady steps (`steady`) include the full length of each operation that begins in a steady step. These
 * figures also include the part of each gap that is in steady steps, and the host time between the host_begin and
 * host_end of steady steps. These figures count a range if it ended in a steady step. */
#ifndef WALLSHIM_ANALYSIS_STEPS_RANGES_H
#define WALLSHIM_ANALYSIS_STEPS_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vector.h"
#include "report/analysis.h"

struct ws_range_amount {
    uint64_t operations; /* number of operations with device times */
    int64_t busy, sum, idle;
};

struct ws_range_work {
    struct ws_range_amount all, steady; /* figures of the whole recording; figures of steady steps only */
    /* used while operations are added: `busy` includes the time of operations up to this point in time; ns, host
     * clock */
    int64_t until;
};

struct ws_range_stay {
    uint64_t count;
    int64_t host; /* ns that threads spent in the ranges */
    int64_t own;  /* ns of `host` that are outside nested ranges */
};

/* All ranges of one name, on all threads. */
struct ws_range_row {
    uint32_t label; /* index in ws_process.labels; UINT32_MAX: the trace lost the name */
    /* if the rows form a tree (modules.h): index of the parent row; WS_NO_RANGE: the row has no parent, or there is
     * no tree */
    uint32_t parent;
    uint32_t labels; /* if the rows form a tree: number of different labels (texts of ranges) that share the row */
    /* if the rows form a tree: largest number of the row's labels that occur below one label of the parent row */
    uint32_t labels_below;
    struct ws_range_stay all, steady; /* host time in the whole recording, and in steady steps */
    struct ws_range_work work;        /* operations launched inside the ranges */
    struct ws_range_work own;         /* the operations of `work` that were not launched in a nested range */
};

/* Work that a thread launched outside all ranges. */
struct ws_range_outside {
    uint32_t thread; /* the thread's id in the trace; 0: the trace does not have the launches of this work */
    bool has_ranges;
    struct ws_range_work work;
};

struct ws_track_ranges {
    /* struct ws_range_row, largest device or host time first; empty: the trace has no ranges of the analysis's
     * kind */
    struct ws_vector rows;
    struct ws_vector outside; /* struct ws_range_outside, largest busy time first */
};

extern const struct ws_analysis ws_analysis_ranges, ws_analysis_operators;

/* defined in ranges_report.c */
void ws_ranges_text(const struct ws_report *report, size_t subject, const void *result, struct ws_page *page);
int ws_ranges_json(const struct ws_report *report, size_t subject, const void *result, json_t *object);
void ws_operators_text(const struct ws_report *report, size_t subject, const void *result, struct ws_page *page);
int ws_operators_json(const struct ws_report *report, size_t subject, const void *result, json_t *object);

#endif
