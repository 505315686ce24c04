/* Why a device ran nothing: one cause for each gap (advice.h lists them), and the totals.
 *
 * The operation that ended a gap was launched by a thread; its call began at `launch`. What the host did is
 * only asked where the host was late: where the call came after the gap's begin, or so little before that the
 * operation began as soon after it as an idle device can begin one. That delay is taken from the trace
 * (launch_delay): the median over kernels that were surely launched when the device had run dry, else what one in
 * twenty had at most.
 *
 * Where the host was not late, work was queued and the device did not begin it:
 * - communication: a collective ended or began beside the gap, on another stream;
 * - dispatch: up to 20 µs, what it takes a device to begin the next operation: 1 to 2 µs on one stream, 2 to 8 µs
 * where another stream waits for an event, 5 to 15 µs for the first node of a graph;
 * - wait: longer. It waited for something else: a host function, another device, a memory value; within a graph
 * for a node that the trace does not show.
 *
 * Where the host was late, the gap's cause is what the launching thread did for most of the time from the gap's begin
 * to the call:
 * - sync: it was in a call that waits for the device, and what it waited makes up at least a quarter of its lateness:
 *   the queue is empty when such a call returns, and whatever the host does next is idle time of the device. Had the
 *   host not waited, it would have been ahead by what it waited;
 * - allocation: in calls that allocate, free, load modules, or in the first launch of a kernel, of more than 0.5 ms
 *   (lazy loading);
 * - communication: in NCCL's calls, or in a collective's range;
 * - input: in no call, inside a range that names a loader; where the trace names nothing that the thread
 *   did: in no call for 0.1 ms or more, and the operation that ends the gap copies from the host to the device; that
 *   counts as sync only after a wait four times as long;
 * - launch: in calls that launch, or between calls that follow each other within 0.1 ms (5 to 30 µs are usual in
 *   eager frameworks), or longer inside operators, functions and phases of the program that are no loader;
 * - unexplained: none of these: the thread was in no call, and nothing says what it did.
 * A thread that was in no call is often one that was handed work by another (autograd's): then the thread that
 * launched what ran before the gap is asked.
 *
 * Lateness is a debt: what a sync or an allocation delays the host by beyond the gap it makes also makes the
 * launch and unexplained gaps that follow, until it is used up, and they are counted as its.
 *
 * Gaps no longer than the errors of the two times they lie between may not exist. Their causes are those they have if
 * they do; where work was queued they count as dispatch up to 20 µs, else as unexplained. Where the host's side of
 * the ending operation is not in the trace, the gap is unexplained and the report says that it is the trace that is
 * incomplete. Unexplained are also gaps beside launches that were held up for hardware counters. Limits without a
 * source are ours.
 */
#ifndef WALLSHIM_ANALYSIS_GAPS_H
#define WALLSHIM_ANALYSIS_GAPS_H

#include "analysis/activity.h"
#include "analysis/advice.h"
#include "analysis/registry.h"
#include "analysis/steps.h"
#include "base/vector.h"

struct ws_gap_total {
    uint64_t count;
    int64_t total;
    uint64_t steady_count; /* of it in steady steps */
    int64_t steady;
};

/* Gaps of one cause that one place of the program made. */
struct ws_gap_line {
    enum ws_part cause;
    uint32_t thread;   /* that launched what ended them; identifier in the trace */
    uint32_t range;    /* place in ws_process.ranges of the first of them; WS_NO_RANGE: the trace knows no place */
    uint32_t function; /* the call that took longest: family driver_function; 0: none */
    struct ws_gap_total gaps;
    int64_t longest;
};

struct ws_track_causes {
    /* Gaps that follow each other are mostly of one line: lines are kept by runs of such gaps. */
    uint32_t *run_lines; /* places in lines */
    size_t run_count;
    /* Bits by place in ws_track.order: the gap that ended there is the first of a run, but for run 0. */
    uint64_t *turns;
    size_t places; /* in turns */
    struct ws_gap_total totals[WS_CAUSE_COUNT];
    struct ws_vector lines;           /* struct ws_gap_line, most time in steady steps first */
    struct ws_gap_total hostless;     /* of unexplained: the host's side is missing */
    struct ws_gap_total within_error; /* no longer than their error */
    int64_t launch_delay;             /* from a launch call to the begin on an idle device */
    bool per_step;                    /* there are steady steps */
};

/* A run of gaps of one line, all 0 before the first: up to that of place `to`. */
struct ws_gap_run {
    size_t number, to;
    uint32_t line; /* place in lines */
    enum ws_part cause;
};

void ws_gap_run_next(const struct ws_track_causes *causes, struct ws_gap_run *run);

/* Moves on to the run that a gap is of: to be asked in order of time. */
static inline void ws_gap_run_reach(const struct ws_track_causes *causes, struct ws_gap_run *run,
                                    const struct ws_gap *gap)
{
    while (gap->place >= run->to)
        ws_gap_run_next(causes, run);
}

/* "7.1 gaps a step after waits, 1.04 ms of idle time"; of the whole recording where there are no steady steps. */
enum { WS_GAP_PHRASE = 160 };
void ws_gap_phrase(const struct ws_track_causes *causes, const struct ws_track_steps *steps,
                   const struct ws_gap_total *total, const char *which, char text[WS_GAP_PHRASE]);

/* Of a track; no section of its own. */
extern const struct ws_analysis ws_analysis_causes;

/* The part of a cause's or line's time and number that figures are about: of the steady steps, or of the whole
 * recording where there are none. */
static inline int64_t ws_gap_time(const struct ws_track_causes *causes, const struct ws_gap_total *total)
{
    return causes->per_step ? total->steady : total->total;
}

static inline uint64_t ws_gap_count(const struct ws_track_causes *causes, const struct ws_gap_total *total)
{
    return causes->per_step ? total->steady_count : total->count;
}

/* Where in the program a line is: "step (train.py:41)"; false and "" when the trace does not say. */
bool ws_gap_line_text(const struct ws_process *process, const struct ws_gap_line *line, char *text, size_t capacity);

/* The same, or else the function that the thread called there. */
bool ws_gap_line_where(const struct ws_process *process, const struct ws_gap_line *line, char *text, size_t capacity);

#endif
