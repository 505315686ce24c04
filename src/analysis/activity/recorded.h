/* What a recording covers: whether a time in which the trace shows nothing on a device was idle time.
 *
 * A recording of ours holds everything that its process gave to a device, unless it says what it lost. Traces of
 * other profilers may lack operations and do not say so: those that ran when the recording began, kernels of CUDA
 * graphs, and what the profiler or a later tool dropped.
 *
 * Traces of other profilers number calls in order of time, those that they leave out too (CUPTI's correlation ids).
 * The numbers show two things:
 * - an operation whose number is smaller than that of every recorded call was launched before the recording began;
 * - where the numbers of neighbouring calls are far apart, most calls were left out. A framework makes up to about 20
 *   calls of the runtime for one launch: the medians of ten traces are between 1 and 19.
 *
 * A launch without an operation ran something that the trace does not hold, unless it was captured into a graph or
 * ran after the recording's end. Kernels of CUDA graphs are often missing so.
 */
#ifndef WALLSHIM_ANALYSIS_ACTIVITY_RECORDED_H
#define WALLSHIM_ANALYSIS_ACTIVITY_RECORDED_H

#include "base/vector.h"
#include "report/analysis.h"

/* ns. The longest time that a device takes to begin an operation that is ready (gaps.h). */
enum { WS_DISPATCH_MOST = 20000 };

struct ws_process_recorded {
    bool whole;             /* the trace holds all that the process gave to its devices */
    uint32_t first_id;      /* smallest number of a recorded call; 0: the trace does not number calls */
    uint64_t before;        /* operations that were launched before the recording began */
    struct ws_vector alone; /* int64_t, ascending: host times of launches whose operations are missing */
};

/* Scope: process. It has no section in the report. */
extern const struct ws_analysis ws_analysis_recorded;

/* Was the operation launched before the recording began? */
bool ws_launched_before(const struct ws_process_recorded *recorded, const struct ws_ops *ops, uint32_t op);

/* Is an operation missing that was launched between these host times? */
bool ws_lacks_launch(const struct ws_process_recorded *recorded, int64_t from, int64_t to);

/* Median distance of the numbers of neighbouring calls: 1 if the trace holds every call. Writes 0 if the trace does
 * not number calls. Returns 0 or -ENOMEM. */
int ws_recorded_apart(const struct ws_process *process, uint32_t *apart);

/* The host time from which the operation was queued: the end of its call. A copy that does not come from the host
 * and whose call waited for it was queued from the call's begin. (A copy from pageable memory is not: the call first
 * moves data to a buffer of the driver's.) */
int64_t ws_op_queued_from(const struct ws_process *process, uint32_t op);

#endif
