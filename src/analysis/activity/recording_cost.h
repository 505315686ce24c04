/* The time that the program lost because it was recorded. */
#ifndef WALLSHIM_ANALYSIS_ACTIVITY_RECORDING_COST_H
#define WALLSHIM_ANALYSIS_ACTIVITY_RECORDING_COST_H

#include "report/analysis.h"

struct ws_recording_cost {
    int64_t events;  /* ns that the program's threads spent while the shim recorded CUDA events in their launch calls;
                        measured */
    int64_t records; /* ns that the threads spent while the shim wrote records of their calls; estimated: records × ns
                        per record */
    int64_t threads; /* ns from a thread's first operation to its last one, added up over all threads */
    bool known; /* the trace holds the cost; false if the program was killed, or if another profiler made the trace */
};

/* Returns 0 or -ENOMEM. */
int ws_recording_cost(const struct ws_process *process, struct ws_recording_cost *cost);

void ws_recording_cost_text(const struct ws_recording_cost *cost, struct ws_page *page);
int ws_recording_cost_json(const struct ws_recording_cost *cost, json_t *object);

#endif
