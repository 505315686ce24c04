/* Explains slow steps: which parts of a slow step took longer than usual. */
#ifndef WALLSHIM_ANALYSIS_STEPS_SLOW_STEPS_H
#define WALLSHIM_ANALYSIS_STEPS_SLOW_STEPS_H

#include "analysis/steps/steps.h"

/* X(NAME, key in JSON, name in a report): parts that divide the time of a step without overlap. */
#define WS_SLOW_PARTS(X)                                        \
    X(IDLE, "idle_ns", "idle")                                  \
    X(COMPUTE, "compute_ns", "compute")                         \
    X(EXPOSED_COMM, "exposed_comm_ns", "exposed communication") \
    X(EXPOSED_MEMORY, "exposed_memory_ns", "exposed copies")

enum ws_slow_part {
#define WS_SLOW_PART(name, key, text) WS_SLOW_##name,
    WS_SLOW_PARTS(WS_SLOW_PART)
#undef WS_SLOW_PART
        WS_SLOW_PART_COUNT
};

struct ws_slow_step {
    uint32_t step; /* index into ws_track_steps.steps */
    uint32_t name; /* index into ws_model.names: name of the operations with most extra time; WS_NOWHERE: none */
    /* extra time of operations with this name: ns more than in the steady step whose duration is nearest to the
     * median */
    int64_t name_more;
    /* by part: ns by which the part is longer in this step than its median over steady steps; negative: the part is
     * shorter */
    int64_t more[WS_SLOW_PART_COUNT];
};

/* Fills steps->slow_steps with the first 256 slow steps. The number of all slow steps is in steps->slow. Returns 0 or
 * -ENOMEM. */
int ws_slow_steps_explain(const struct ws_report *report, const struct ws_track *track, struct ws_track_steps *steps);

#endif
