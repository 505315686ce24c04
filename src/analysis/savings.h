/* What would be won if a cause of gaps were gone, for each cause that the program can do something about:
 * a replay of the steady steps without what made it (replay.h), and no more than the idle time of that cause. Of idle
 * time with work queued (wait, dispatch) nobody knows what would remove it: from a twentieth of a step on it is
 * pointed at, all of it as the bound.
 */
#ifndef WALLSHIM_ANALYSIS_SAVINGS_H
#define WALLSHIM_ANALYSIS_SAVINGS_H

#include "analysis/advice.h"
#include "analysis/registry.h"

struct ws_track_savings {
    int64_t idle[WS_CAUSE_COUNT];   /* of a steady step; of the recording where there are no steps */
    int64_t saving[WS_CAUSE_COUNT]; /* at most; 0 for causes that nothing is advised against */
};

/* Of a track; no section of its own. Advises, one piece for each cause and line of code; about launches storms do. */
extern const struct ws_analysis ws_analysis_savings;

#endif
