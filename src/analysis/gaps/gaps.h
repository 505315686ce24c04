/* Why a device was idle: the causes of each gap (advice.h lists them), and totals.
 *
 * The operation that ended a gap was launched by a call. The gap has up to three pieces: before that call, inside it,
 * and after it returned. The first two are the host's. In the third the operation was queued, and the host had no
 * part in it. A gap mostly has one cause. It has two, one for the host's pieces and one for the third, if the third
 * is longer than a launch takes to reach an idle device.
 *
 * The delay from a launch call to the begin on an idle device is measured in the trace (launch_delay). It is the
 * median over kernels that were certainly launched while the device was idle. If there are too few such kernels, it
 * is the 5th percentile over all kernels that ended a gap. The third piece may take 1.5 times as long, and 20 µs in
 * any case: in ten traces it is below 10 µs for nearly all kernels. A copy whose call waited for it was queued from
 * the call's begin, unless it copies from the host (ws_op_queued_from).
 *
 * The host was late if the call began after the gap began, or shortly before the gap, and the operation began as soon
 * as a launch can reach an idle device, or if the call was still running in a gap of more than 20 µs. Otherwise the
 * whole gap is the third piece. For operations that were launched before the recording began it is, too (recorded.h).
 *
 * The causes of the third piece, in which work was queued and the device did not begin it:
 * - dispatch: up to 20 µs, the time a device takes to begin the next operation: 1 to 2 µs on one stream, 2 to 8
 * µs if another stream waits for an event, 5 to 15 µs for the first node of a graph. In traces of other profilers, also
 * as long as the third piece may take;
 * - communication: a collective on another stream ended or began at the gap;
 * - wait: longer than 20 µs, and the trace shows for what: a host function, a memory value, an operation of another
 * device (gap_waits.h). A recording of ours holds all that its process gave to the device. There, the operation
 * waited for something even if the trace does not show for what;
 * - unrecorded: the trace does not show for what, and may lack operations, as those of other profilers do: work from
 * before the recording, kernels of CUDA graphs, dropped records. The device may have been busy. Any gap above 20 µs
 * is of this cause as a whole, if a launch between those of the operations before and after it has no operation in
 * the trace (recorded.h), or if the trace holds only a sample of the operations. We assume a sample where a tenth of
 * the idle time is of this cause, and neighbouring calls are numbered more than 25 apart (ws_recorded_apart).
 *
 * If the host was late, the cause is what the launching thread mostly did from the gap's begin to the call, or to the
 * call's end if the call took more than 20 µs of the gap. The time between the two is the lateness. For sync and
 * allocation a quarter of it is enough:
 * - sync: it was in a call that waits for the device. The queue is empty when such a call returns, so the device
 * idles during whatever the host does next. Without the wait the host would have been ahead by the length of the
 * wait;
 * - allocation: it allocated or freed memory, loaded modules, or was in a kernel's first launch that took more than
 * 0.5 ms (lazy loading);
 * - communication: it was in an NCCL call or in the range of a collective;
 * - input: it was outside calls, in a range named like a data loader. Or the trace names nothing that the thread did,
 * it was outside calls for 0.1 ms or more at a time, and the operation that ends the gap copies from host to device.
 * This second case counts as sync or allocation if such a call took more than four times as long as the time outside
 * calls;
 * - launch: it was in launch calls (a single call of 0.1 ms or more is named), or between calls less than 0.1 ms
 * apart (5 to 30 µs are usual in eager frameworks), or for longer in operators, functions and ranges other than a
 * data loader's;
 * - unexplained: none of the above. The thread was outside calls, and nothing tells what it did.
 *
 * A thread that is outside calls may be waiting for work from another thread, as autograd's thread does. In that case
 * the thread that launched the operation before the gap is examined.
 *
 * Lateness is carried over as a debt. A sync or an allocation can delay the host by more than the gap it causes. The
 * rest of the delay causes the launch and unexplained gaps that follow. These gaps count for the same cause until the
 * debt is used up.
 *
 * A gap that is no longer than the errors of its two times may not exist. It gets the cause that it would have if it
 * existed. If work was queued, that is dispatch for a gap of up to 20 µs, and unexplained for a longer one. If the
 * trace does not hold the launch of the ending operation, nor shows that it was before the recording, the gap is
 * unexplained and the report calls the trace incomplete. Gaps next to launches that were delayed while hardware
 * counters were read are unexplained, too. Limits without a source are our choice.
 */
#ifndef WALLSHIM_ANALYSIS_GAPS_GAPS_H
#define WALLSHIM_ANALYSIS_GAPS_GAPS_H

#include "analysis/activity/activity.h"
#include "analysis/steps/steps.h"
#include "base/vector.h"
#include "report/advice.h"
#include "report/analysis.h"

struct ws_gap_total {
    uint64_t count;
    int64_t total;
    uint64_t steady_count; /* in steady steps */
    int64_t steady;
};

/* Gaps of one cause, caused by one place in the program. */
struct ws_gap_line {
    enum ws_part cause;
    uint32_t thread;   /* id of the thread that caused the gaps */
    uint32_t range;    /* index in ws_process.ranges: the line that caused the first gap; WS_NO_RANGE: not known */
    uint32_t function; /* the longest call: id of family driver_function; 0: none */
    struct ws_gap_total gaps;
    int64_t longest;
};

struct ws_track_causes {
    /* Consecutive gaps mostly have the same line, so the lines are stored once per run of such gaps. */
    uint32_t *run_lines; /* by run: index in `lines` */
    size_t run_count;
    /* Bits by index in ws_track.order. A set bit: the gap that the operation at this index ended begins a new
     * run. The first run has no bit. */
    uint64_t *turns;
    size_t places;                              /* number of bits in turns */
    struct ws_gap_total totals[WS_CAUSE_COUNT]; /* a gap of two pieces counts twice */
    struct ws_vector lines;                     /* struct ws_gap_line, largest time in steady steps first */
    struct ws_gap_total hostless; /* the launch is not in the trace, or clocks are not aligned. Part of unexplained;
                                     of dispatch and unrecorded, if the launch was before the recording */
    struct ws_gap_total within_error; /* gaps no longer than their error */
    struct ws_gap_total in_graphs;    /* part of unrecorded: an operation that a graph launch made ended it */
    uint64_t graph_launches;          /* such launches */
    bool is_sampled;                  /* the trace holds only a sample of the operations */
    uint32_t apart;                   /* if it is sampled: ws_recorded_apart */
    int64_t launch_delay;             /* ns from a launch call to the begin on an idle device */
    bool per_step;                    /* there are steady steps */
};

/* A run of gaps with the same line. The gap that ended at index `to` is the first of the next run. Zero the struct
 * before the first call. */
struct ws_gap_run {
    size_t number, to;
    uint32_t line; /* index in `lines` */
    enum ws_part cause;
};

void ws_gap_run_next(const struct ws_track_causes *causes, struct ws_gap_run *run);

/* Moves to the run that contains the gap. Gaps must come in order of time. */
static inline void ws_gap_run_reach(const struct ws_track_causes *causes, struct ws_gap_run *run,
                                    const struct ws_gap *gap)
{
    while (gap->place >= run->to)
        ws_gap_run_next(causes, run);
}

/* Writes "7.1 gaps a step after waits, 1.04 ms of idle time". Without steady steps, writes the figures of the whole
 * recording. */
enum { WS_GAP_PHRASE = 160 };
void ws_gap_phrase(const struct ws_track_causes *causes, const struct ws_track_steps *steps,
                   const struct ws_gap_total *total, const char *which, char text[WS_GAP_PHRASE]);

/* Writes ", mostly in calls of cuLaunchKernel, 3.00 ms each", if single calls of 1 ms or more made most of the gaps
 * of cause launch or allocation, else "". Such a call loaded a module, found a full queue, or waited for memory: it
 * is not one launch too many. */
enum { WS_GAP_CALL = 160 };
void ws_gap_call_phrase(const struct ws_report *report, size_t track, enum ws_part cause, char text[WS_GAP_CALL]);

/* Scope: track. It has no section in the report. */
extern const struct ws_analysis ws_analysis_causes;

/* Return the time (ns) and the number of gaps that reports show: those in steady steps, or in the whole recording if
 * there are no steady steps. */
static inline int64_t ws_gap_time(const struct ws_track_causes *causes, const struct ws_gap_total *total)
{
    return causes->per_step ? total->steady : total->total;
}

static inline uint64_t ws_gap_count(const struct ws_track_causes *causes, const struct ws_gap_total *total)
{
    return causes->per_step ? total->steady_count : total->count;
}

/* Writes a line as text: "step (train.py:41)". Returns false and "" if the trace does not name the line. */
bool ws_gap_line_text(const struct ws_process *process, const struct ws_gap_line *line, char *text, size_t capacity);

/* Like ws_gap_line_text. But if the trace does not name the line, writes the function that the thread called. */
bool ws_gap_line_where(const struct ws_process *process, const struct ws_gap_line *line, char *text, size_t capacity);

/* The section on gaps: when the device was idle, and why. */
extern const struct ws_analysis ws_analysis_gaps;

enum { WS_GAP_DECADES = 10, WS_GAPS_LARGEST = 1000 };

/* A gap with its length and line. */
struct ws_long_gap {
    struct ws_gap gap;
    int64_t length;
    uint32_t line; /* index in ws_track_causes.lines */
};

struct ws_gap_decade {
    uint64_t count;
    int64_t total;
};

struct ws_track_gaps {
    struct ws_gap_decade histogram[WS_GAP_DECADES]; /* [0]: below 1 µs; [i]: from 10^(i-1) µs */
    uint64_t count;
    int64_t total;
    struct ws_long_gap *largest; /* longest first */
    size_t largest_count;
};

/* defined in gaps_report.c */
void ws_gaps_text(const struct ws_report *report, size_t subject, const void *memory, struct ws_page *page);
int ws_gaps_json(const struct ws_report *report, size_t subject, const void *memory, json_t *object);

#endif
