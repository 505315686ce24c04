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

/* Writes the share of the launching threads' time that the recording took, "0.9 %". Returns `share`, or NULL if it is
 * not known. */
const char *ws_recording_cost_share(const struct ws_recording_cost *cost, char share[WS_FORMAT_SIZE]);

void ws_recording_cost_text(const struct ws_recording_cost *cost, struct ws_page *page);
int ws_recording_cost_json(const struct ws_recording_cost *cost, json_t *object);

#endif
