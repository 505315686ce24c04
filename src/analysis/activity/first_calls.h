/* Host calls that did something for the first time: created contexts, loaded modules, created handles of libraries,
 * or compiled.
 *
 * Some of these calls are recognized by the name of the call or range: module loads, handles, contexts made by a
 * function that creates contexts, and compilation. Compilation is recognized by the ranges that PyTorch sets around
 * its compiler ("… (dynamo_timed)"), and by Python frames of the compilers' functions. A range "Torch-Compiled
 * Region" does not count: it marks the execution of compiled code.
 *
 * Other calls are recognized by their times:
 * - a context: a call that selects a device, or that allocates or frees memory. It takes 5 ms or more, and returns
 *   before the first launch. The CUDA runtime makes its context in the first such call, which is often cudaFree(0);
 * - a first launch that loads its module: it takes more than WS_LAUNCH_MOST, and ten times as long as at least half
 *   of the kernel's later launches. Launches also take long when the queue is full, or when the system stops the
 *   thread. So first launches count only if at least three of them are long, and if the share of long launches among
 *   first launches is more than five times the share among later launches;
 * - the first growth of memory: this analysis collects all calls that allocate memory. initialization.h decides which
 *   of them are the first, by the program's steps.
 *
 * Calls of less than 20 µs are left out: there are many of them, but they take little time. All these limits are our
 * choice. */
#ifndef WALLSHIM_ANALYSIS_ACTIVITY_FIRST_CALLS_H
#define WALLSHIM_ANALYSIS_ACTIVITY_FIRST_CALLS_H

#include <stdbool.h>

#include "base/interval.h"
#include "report/analysis.h"

/* X(NAME, key in JSON, name in a report). If calls of two kinds overlap in time, the overlap counts for the kind that
 * is listed first. For example, loading a module may be a part of compiling. */
#define WS_FIRST_KINDS(X)                                       \
    X(CONTEXT, "context_ns", "context creation")                \
    X(MODULE, "module_loads_ns", "module loads")                \
    X(LAUNCH, "first_launches_ns", "first launches of kernels") \
    X(HANDLE, "library_handles_ns", "handles of libraries")     \
    X(COMPILE, "compilation_ns", "compilation")                 \
    X(ALLOCATION, "first_allocations_ns", "first allocations")

enum ws_first_kind {
#define WS_FIRST_KIND(name, key, text) WS_FIRST_##name,
    WS_FIRST_KINDS(WS_FIRST_KIND)
#undef WS_FIRST_KIND
        WS_FIRST_COUNT
};

struct ws_process_first_calls {
    int64_t begin, end; /* ns, host clock: from the first recorded call or operation to the last; begin > end if
                           nothing was recorded */
    struct ws_interval_set of[WS_FIRST_COUNT]; /* by kind: the times at which a thread was in a call of this kind */
    bool is_inferred[WS_FIRST_COUNT]; /* by kind: true if at least one call was recognized by its times, not by its
                                         name alone; always true for WS_FIRST_ALLOCATION */
};

/* This analysis runs once per process. It has no section of its own in the report. */
extern const struct ws_analysis ws_analysis_first_calls;

const char *ws_first_kind_key(enum ws_first_kind kind);  /* the kind's key in JSON reports */
const char *ws_first_kind_text(enum ws_first_kind kind); /* the kind's name in text reports */

#endif
