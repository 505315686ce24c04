/* Storms: runs of operations so short that the host cannot launch them as fast as the device runs them.
 *
 * A storm is a run of launch gaps (gaps.h) with short operations between them: their mean is below 10 µs, the limit
 * for a short kernel that TraceLens and nsys-ai have, and the device is never fed for 0.1 ms at a stretch. Fewer
 * than 16 gaps are no storm, nor are gaps that take less than a tenth of its time. Gaps between operations that were
 * ready do not end one, those of any other cause do. Limits without a source are ours.
 *
 * What a CUDA graph, or a compiled region, would win is the idle time less what a device takes from one node of a
 * graph to the next; for a step, no more than a replay of the steps with one launch each wins (replay.h).
 */
#ifndef WALLSHIM_ANALYSIS_STORMS_H
#define WALLSHIM_ANALYSIS_STORMS_H

#include "analysis/registry.h"
#include "base/vector.h"

struct ws_storm {
    int64_t begin, end; /* from its first gap's end to its last one's begin */
    uint64_t count;     /* of operations */
    int64_t run_time;   /* of them, summed */
    int64_t idle;       /* in its launch gaps, with the first */
    int64_t saving;     /* of that, in a graph */
    int64_t interval;   /* from launch to launch, on average */
    uint32_t line;      /* place in ws_track_causes.lines that most of its gaps are of */
};

struct ws_track_storms {
    struct ws_vector storms; /* struct ws_storm, most idle time first */
    uint64_t count;          /* of operations in them */
    uint64_t steady;         /* of these in steady steps */
    int64_t idle, saving;    /* of a steady step; of the recording where there are no steps */
    int64_t elsewhere;       /* the same: what fewer launches would win outside of them */
};

/* Of a track. */
extern const struct ws_analysis ws_analysis_storms;

#endif
