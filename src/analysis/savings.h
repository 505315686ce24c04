/* What would be won if a cause of gaps were gone, for each cause that the program can do something about:
 * a replay of the steady steps without what made it (replay.h), and no more than the idle time of that cause. Of idle
 * time with work queued (wait, dispatch) nobody knows what would remove it: from a twentieth of a step on it is
 * pointed at, all of it as the bound.
 *
 * Causes hide one another: a host that no longer waits for results may still wait for input, and the step is as long
 * as before. So what each wins alone adds up to less than what they win together, which one more replay tells,
 * without all that is advised against but launches (of these storms know more).
 */
#ifndef WALLSHIM_ANALYSIS_SAVINGS_H
#define WALLSHIM_ANALYSIS_SAVINGS_H

#include "analysis/advice.h"
#include "analysis/registry.h"

struct ws_track_savings {
    int64_t idle[WS_CAUSE_COUNT];   /* of a steady step; of the recording where there are no steps */
    int64_t saving[WS_CAUSE_COUNT]; /* at most; 0 for causes that nothing is advised against */
    int64_t together; /* input, sync and allocation at once, where two or more of them save anything; else 0 */
};

/* The causes that are gone in `together`, as text: "input and sync". Returns what they save each for itself, added
 * up; 0 where there is no such figure. */
enum { WS_TOGETHER_TEXT = 64 };
int64_t ws_savings_together(const struct ws_track_savings *savings, char text[WS_TOGETHER_TEXT]);

/* Of a track; no section of its own. Advises, one piece for each cause and line of code; about launches storms do. */
extern const struct ws_analysis ws_analysis_savings;

#endif
