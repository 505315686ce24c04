/* Separates initialization from the steady state of a program. First calls are calls of the host that load, compile,
 * create or allocate something for the first time (first_calls.h). This analysis tells which part of the recording
 * the first calls took, which part they took of the time that the report's verdict covers, and which of them came
 * late. The verdict is the report's judgement of what limits the device (verdict/wall.h). Steady steps are the usual
 * steps of the main loop (steps.h).
 *
 * With at least three steady steps, a first call that begins in the second steady step or a later one is a late load:
 * the program loaded a new kernel, or compiled again. Late loads are a cause of slow steps. All other first calls are
 * initialization, except allocations that begin after the start of the first steady step.
 *
 * With fewer than three steady steps, all first calls except allocations are initialization. Allocations are
 * initialization only if none begins in the second half of the recording: otherwise, the program allocates all the
 * time. The device's idle time during initialization will not come again. The verdict leaves this idle time out if it
 * is at least 1 % of the time that the verdict covers. Three kinds of idle time are not left out. First: idle time
 * during allocations, because a single step does not show whether they come again. Second: idle time that the host
 * did not cause, such as waits of queued operations. Third: idle time in which the launching thread waited for input,
 * because the first call was on another thread.
 *
 * With fewer than three steady steps, calls of one kind may come in every step. So if calls of one kind begin in two
 * or more different steps, the calls of this kind that begin in steps are not initialization.
 *
 * If the program ran before the recording, nothing is initialization, and loads in any steady step are late. We
 * assume that it ran before in three cases: the report covers a window that begins after the recording's start;
 * operations were launched before the recording; or the first step that the program marked has a number above 1, and
 * the program creates no CUDA context in the recording.
 *
 * A call belongs to the step in which it begins. The time of first calls is the time in which at least one thread of
 * the process was in a first call. */
#ifndef WALLSHIM_ANALYSIS_GAPS_INITIALIZATION_H
#define WALLSHIM_ANALYSIS_GAPS_INITIALIZATION_H

#include <stdbool.h>

#include "analysis/activity/first_calls.h"
#include "report/advice.h"
#include "report/analysis.h"

struct ws_track_initialization {
    int64_t recorded;           /* ns from the first recorded call or operation of the host to the last; 0: none */
    int64_t time;               /* ns in which any thread of the host was in initialization */
    int64_t of[WS_FIRST_COUNT]; /* ns of `time` by kind of call; they add up to `time` */
    bool is_inferred[WS_FIRST_COUNT];
    /* there are fewer than three steady steps, and the program did not run before the recording; the report's verdict
     * then leaves out `idle` */
    bool is_judged;
    /* idle time of the device during first calls that the report's verdict leaves out, by cause; ns. This is the sum
     * over the steady steps. Without steady steps, it is the sum over the whole recording. If is_judged is false, it
     * is 0. */
    int64_t idle[WS_CAUSE_COUNT];
    /* ns of `time` that lie in the first steady step, if there are at least three steady steps; else 0 */
    int64_t first_step;
    size_t late_steps; /* number of steady steps with late loads */
    /* most steady steps have late loads, and less than half of the time of these loads is compilation: the main loop
     * itself loads in each step */
    bool is_habit;
    int64_t late;                      /* ns of host time in late loads */
    int64_t late_of[WS_FIRST_COUNT];   /* ns of `late` by kind of call; they add up to `late` */
    int64_t late_idle[WS_CAUSE_COUNT]; /* ns: the device's idle time during late loads, in all steady steps */
    /* index in ws_track_causes.lines of the line (cause and place in the program) of the gap with the most idle time
     * during late loads; WS_NOWHERE: not known */
    size_t late_line;
    /* Intervals of host time. If is_judged: the first calls whose idle time the report's verdict leaves out
     * (initialization without allocations); empty if the verdict leaves out nothing. Otherwise: the late loads. */
    struct ws_interval_set calls;
};

/* This analysis runs once per track (one device as used by one process). The analysis gives advice to avoid late
 * loads. */
extern const struct ws_analysis ws_analysis_initialization;

/* Was the host, for most of the time from `begin` to `end`, in late loads, or in first calls that the report's
 * verdict leaves out? If so, other advice must not count this time as a saving. */
static inline bool ws_initialization_holds(const struct ws_track_initialization *result, int64_t begin, int64_t end)
{
    return result->calls.count && 2 * ws_interval_set_within(&result->calls, begin, end) > end - begin;
}

/* Returns the device's idle time in first calls that the report's verdict leaves out, in ns: the sum over the steady
 * steps, or over the recording if there are none. */
int64_t ws_initialization_left_out(const struct ws_track_initialization *result);

/* Prints the idle time that the report's verdict leaves out, if there is any, and how long initialization and late
 * loads took. Leaves out the time of initialization if it took less than 1 % of the recording, and that of late loads
 * if they took less than 1 % of the steady steps. `left_out`: ns per step that the verdict leaves out. `length`: ns
 * per step that the verdict covers. `unit`: what `left_out` is a part of, for example an average step. */
void ws_initialization_print(const struct ws_report *report, size_t track, int64_t left_out, int64_t length,
                             const char *unit, struct ws_page *page);

/* defined in initialization_report.c */
int ws_initialization_json(const struct ws_report *report, size_t subject, const void *memory, json_t *object);
int ws_initialization_advise(const struct ws_report *report, size_t subject, const void *memory,
                             struct ws_advice_list *list);

#endif
