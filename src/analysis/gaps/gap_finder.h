/* Data of the search for the causes of gaps (gap_causes.c, gap_late.c). gaps.h explains the rules. */
#ifndef WALLSHIM_ANALYSIS_GAPS_GAP_FINDER_H
#define WALLSHIM_ANALYSIS_GAPS_GAP_FINDER_H

#include "analysis/activity/host_time.h"
#include "analysis/activity/recorded.h"
#include "analysis/gaps/gaps.h"

struct ws_gap_answer {
    enum ws_part cause;
    uint32_t thread;           /* index in ws_ops.threads: the thread that caused the gap */
    int64_t time;              /* host time at which the thread caused the gap; INT64_MIN: not known */
    int64_t reach;             /* ns: `time` is the middle of a pause that lasted twice as long; 0: of a call */
    uint32_t function;         /* the function that the thread called at `time`; 0: none */
    int64_t call, in_call;     /* ns: length of this function's call, and its part in the gap; 0: none */
    int64_t debt;              /* ns by which the cause delayed the host for longer than this gap */
    bool late;                 /* the host launched too late */
    int64_t queued;            /* if the host was late: ns at the end of the gap that need a cause of their own */
    struct ws_gap_total *also; /* a second total that counts the gap (hostless, within_error); may be NULL */
};

struct ws_gap_finder {
    const struct ws_report *report;
    const struct ws_track *track;
    const struct ws_process *process;
    const struct ws_host_time *time;
    const struct ws_process_recorded *recorded;
    size_t subject;
    struct ws_host_cursor *cursors; /* by thread */
    int64_t reach; /* longest launch delay, ns; an operation with a longer delay waited for other work */
    size_t steps;  /* search steps that are left of WS_GAP_WAIT_STEPS */
    int64_t graph; /* host time of the last launch that graph_launches counts */
    const struct ws_track_steps *step_list;
    const struct ws_step *first_steady; /* NULL: there is none */
    size_t step;                        /* index of the first step that begins at or after the latest gap's begin */
    struct ws_track_causes *result;
    struct ws_gap_answer debtor; /* the last answer with a debt; later gaps reduce the debt */
};

/* A gap with the facts that decide its cause. Times are in ns. */
struct ws_gap_question {
    uint32_t before, after; /* operations */
    int64_t begin, end;     /* begin and end of the gap */
    int64_t launch;         /* begin of the call that launched `after`; at most `end` */
    int64_t ready;          /* time from which `after` was queued, limited to the gap */
    int64_t until;          /* the host was late because of its activity from `begin` to `until` */
    int64_t error;          /* error of the gap's length */
    bool is_node;           /* one call launched both operations: they are nodes of a graph */
    bool opens;             /* a step begins in the gap or with the operation after it */
    bool ends_step;         /* the gap ends with the last step, not with an operation; `after` equals `before` */
    bool was_before;        /* `after` was launched before the recording, so it was queued when the gap began */
};

/* Returns the cause if the host was late: the main activity of the launching thread from `begin` to `until`. */
struct ws_gap_answer ws_gap_late_cause(const struct ws_gap_finder *finder, const struct ws_gap_question *question);

#endif
