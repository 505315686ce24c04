/* Structures that the search for the causes of gaps uses (gap_causes.c, gap_late.c). gaps.h explains the rules. */
#ifndef WALLSHIM_ANALYSIS_GAPS_GAP_FINDER_H
#define WALLSHIM_ANALYSIS_GAPS_GAP_FINDER_H

#include "analysis/activity/host_time.h"
#include "analysis/activity/recorded.h"
#include "analysis/gaps/gaps.h"

/* The cause of a gap, with the thread, the time and the call that caused it. */
struct ws_gap_answer {
    enum ws_part cause;
    uint32_t thread; /* index in ws_ops.threads of the thread that caused the gap */
    int64_t time;    /* host time at which the thread caused the gap; INT64_MIN: not known */
    /* if `time` is the middle of a pause between calls: half of the pause's length, ns; 0: `time` is in a call */
    int64_t reach;
    uint32_t function;     /* id of the driver function that the thread called at `time`; 0: none */
    int64_t call, in_call; /* ns: length of the call of `function`, and the part of the call in the gap; 0: none */
    /* the host's delay minus the length of this gap, ns; later gaps get this gap's cause until their lengths add up
     * to this debt */
    int64_t debt;
    bool late; /* the gap arose because the host launched the operation after the gap too late */
    /* if `late`: length (ns) of the gap's last part, in which the operation after the gap was already queued; this
     * part gets a cause of its own; 0: the part is too short for a cause of its own */
    int64_t queued;
    /* a total in which the gap counts besides the total of its cause (ws_track_causes.hostless or .within_error);
     * NULL: none */
    struct ws_gap_total *also;
};

struct ws_gap_finder {
    const struct ws_report *report;
    const struct ws_track *track;
    const struct ws_process *process;
    const struct ws_host_time *time;
    const struct ws_process_recorded *recorded;
    size_t subject;
    struct ws_host_cursor *cursors; /* by index of a thread: position of the search in the thread's calls */
    /* longest plausible delay from a launch to the start of its operation, ns; an operation that starts even later
     * also waited for other work */
    int64_t reach;
    /* number of operations that ws_gap_wait_is_shown may still visit in all gaps together; at first
     * WS_GAP_WAIT_STEPS */
    size_t steps;
    int64_t graph; /* host time of the graph launch that was last counted in ws_track_causes.graph_launches */
    const struct ws_track_steps *step_list;
    const struct ws_step *first_steady; /* the first steady step (usual step of the main loop); NULL: there is none */
    size_t step; /* index of the first step that begins at or after the start of the gap examined last */
    struct ws_track_causes *result;
    /* the last answer with a debt (ws_gap_answer.debt); the lengths of later gaps are subtracted from this debt */
    struct ws_gap_answer debtor;
};

/* A gap (idle time of the device between two operations) with the facts that decide its cause. Times are in ns. */
struct ws_gap_question {
    uint32_t before, after; /* the operations at the gap's two ends, as in struct ws_gap */
    int64_t begin, end;     /* start and end of the gap */
    int64_t launch;         /* start of the call that launched `after`; at most `end` */
    int64_t ready;          /* time from which `after` was queued; at least `begin`, at most `end` */
    /* if the host launched `after` late: the host's main activity from `begin` to `until` is the cause */
    int64_t until;
    int64_t error; /* largest possible error of the gap's length: the errors of its start and end added up */
    bool is_node;  /* one call launched both operations: they are nodes of a graph */
    bool opens;    /* a step begins in the gap or with the operation after it */
    /* the gap is the idle time from the device's last operation to the end of the last step, so `after` equals
     * `before` */
    bool ends_step;
    bool was_before; /* `after` was launched before the recording, so it was queued when the gap began */
};

/* For gaps in which the host was late: returns the cause, which is the main activity of the launching thread from
 * `begin` to `until`. */
struct ws_gap_answer ws_gap_late_cause(const struct ws_gap_finder *finder, const struct ws_gap_question *question);

#endif
