/* The coverage of a recording: does the trace hold all operations that ran? If operations are missing, a device may
 * have been busy at times when the trace shows no operation on it.
 *
 * A trace by Wallshim holds all operations that the process launched, except those that the trace counts as lost.
 * Traces of other profilers may lack operations without saying so: operations that were running when the recording
 * began, kernels of CUDA graphs, and operations that the profiler or a later tool dropped.
 *
 * Traces of other profilers hold CUPTI's correlation ids. Correlation ids number all calls in order of time, even
 * calls that the trace leaves out. These ids show two things:
 * - an operation whose id is smaller than the ids of all recorded calls was launched before the recording began;
 * - if the ids of consecutive recorded calls differ by a lot, the trace leaves out most calls. Small differences are
 *   normal, because a framework makes up to about 20 runtime calls per launch: the median differences in ten traces
 *   are between 1 and 19.
 *
 * If a launch call has no operation in the trace, the trace lacks an operation that ran. Exceptions are launches that
 * were captured into a graph, and launches whose operations ran after the recording's end. Traces often lack the
 * kernels of a launched CUDA graph. */
#ifndef WALLSHIM_ANALYSIS_ACTIVITY_RECORDED_H
#define WALLSHIM_ANALYSIS_ACTIVITY_RECORDED_H

#include "base/vector.h"
#include "report/analysis.h"

/* ns. The longest time that an idle device takes to start an operation that is ready (gaps.h). */
enum { WS_DISPATCH_MOST = 20000 };

struct ws_process_recorded {
    bool whole; /* Wallshim made the trace, and the trace lacks at most one operation in LOST_MOST (recorded.c) */
    uint32_t first_id;      /* smallest correlation id of a recorded call; 0: the trace has no ids */
    uint64_t before;        /* number of operations in the trace that were launched before the recording began */
    struct ws_vector alone; /* int64_t, ascending: host times of launches whose operations are missing */
};

/* This analysis runs once per process. It has no section of its own in the report. */
extern const struct ws_analysis ws_analysis_recorded;

/* Was the operation launched before the recording began? */
bool ws_launched_before(const struct ws_process_recorded *recorded, const struct ws_ops *ops, uint32_t op);

/* Does the trace lack an operation that was launched between these host times? */
bool ws_lacks_launch(const struct ws_process_recorded *recorded, int64_t from, int64_t to);

/* Writes the median difference between consecutive correlation ids: 1 if the trace holds every call, 0 if the trace
 * has no ids. Returns 0 or -ENOMEM. */
int ws_recorded_apart(const struct ws_process *process, uint32_t *apart);

/* Returns the host time at which the operation was queued: normally the end of its call. If a call waits for its
 * copy, the copy counts as queued at the call's start. Copies from the host count as queued at the call's end,
 * because the call may first move pageable data to a buffer of the driver. */
int64_t ws_op_queued_from(const struct ws_process *process, uint32_t op);

#endif
