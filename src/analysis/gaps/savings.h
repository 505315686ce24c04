/* The time that a program would save without each cause of gaps.
 *
 * For causes that the program can remove, a replay of the steady steps without the cause computes the saving
 * (replay.h). The saving is limited to the idle time of the cause. For gaps with queued work (causes `wait` and
 * `dispatch`) the saving cannot be estimated. If the gaps of one of these causes take more than a twentieth of a
 * step, the report advises on them, with their whole idle time as the upper limit of the saving.
 *
 * Causes hide one another: a host that no longer waits for results may wait for input instead, and the step is as
 * long as before. So removing all causes at once may save more than the sum of the single savings. One more replay
 * computes this saving: it leaves out all causes with advice at once, except launches. Savings of launches are in
 * storms.h.
 */
#ifndef WALLSHIM_ANALYSIS_GAPS_SAVINGS_H
#define WALLSHIM_ANALYSIS_GAPS_SAVINGS_H

#include "report/advice.h"
#include "report/analysis.h"

struct ws_track_savings {
    /* idle time by cause: ns per steady step, or of the recording if there are no steady steps. Two kinds of idle
     * time are not included: idle time in first calls (such as module loads) that the report's verdict leaves out,
     * and idle time in late loads, which have advice of their own (initialization.h) */
    int64_t idle[WS_CAUSE_COUNT];
    /* upper limit of the saving by cause, ns per steady step or of the recording, like `idle`; 0: no saving was found
     * or computed */
    int64_t saving[WS_CAUSE_COUNT];
    int64_t together; /* ns: saving with input, sync and allocation removed at once, if at least two of them save
                         time; else 0 */
};

/* Writes the causes that are removed in `together`: "input and sync". Returns the sum of their single savings in ns;
 * 0 if `together` is 0. */
enum { WS_TOGETHER_TEXT = 64 };
int64_t ws_savings_together(const struct ws_track_savings *savings, char text[WS_TOGETHER_TEXT]);

/* This analysis runs once per track (one device as used by one process). The analysis has no section of its own in
 * the report. It gives one piece of advice per cause and line of code, except for gaps of cause `launch`: the
 * analysis in storms.h gives the advice on those gaps. */
extern const struct ws_analysis ws_analysis_savings;

#endif
