/* Explains slow steps: which parts of them took longer than usual. */
#ifndef WALLSHIM_ANALYSIS_STEPS_SLOW_STEPS_H
#define WALLSHIM_ANALYSIS_STEPS_SLOW_STEPS_H

#include "analysis/steps/steps.h"

/* X(NAME, key in JSON, name in a report): parts of a step that do not overlap. */
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
    uint32_t step;     /* index into ws_track_steps.steps */
    uint32_t name;     /* index into ws_model.names: the operation with the largest extra time; WS_NOWHERE: none */
    int64_t name_more; /* the operation's extra time: ns more than in the step that is nearest to the median length */
    int64_t more[WS_SLOW_PART_COUNT]; /* ns more than the median; negative: less */
};

/* Fills ws_track_steps.slow_steps with the first slow steps, up to a limit. ws_track_steps.slow is the number of all
 * slow steps. Returns 0 or -ENOMEM. */
int ws_slow_steps_explain(const struct ws_report *report, const struct ws_track *track, struct ws_track_steps *steps);

#endif
