/* Why a device was idle: the causes of each gap, and totals by cause (advice.h lists the causes). A gap is a time in
 * which a device ran nothing between two operations.
 *
 * The operation that ended a gap was launched by a host call. The gap has up to three pieces: before this call,
 * during the call, and after the call returned. The host causes the first two pieces, because the operation cannot
 * begin before it is launched. In the third piece the operation was already queued, so the host did not cause this
 * piece; it is called the queued piece below. Most gaps have one cause. A gap has two causes if the queued piece is
 * longer than a launch takes to reach an idle device: one for the first two pieces, and one for the queued piece.
 *
 * The delay from a launch call to the start on an idle device is measured in the trace (launch_delay). This launch
 * delay is the median over kernels that were certainly launched while the device was idle. If there are too few such
 * kernels, the launch delay is the 5th percentile over all kernels that ended a gap. A queued piece of up to 20 µs
 * counts as launch delay. If the launch delay is the median, a queued piece of up to 1.5 times the median (at most
 * 1 ms) counts as launch delay too. In ten traces that we examined, the queued piece is below 10 µs for nearly all
 * kernels. If the call that launches a copy waits for the copy, the copy counts as queued from the call's start. A
 * copy from the host to the device counts as queued from the call's end (ws_op_queued_from says why).
 *
 * The host was late in three cases:
 * - the launch call began after the gap began;
 * - the launch call began shortly before the gap, and the operation began as soon as a launch can reach an idle
 *   device;
 * - the launch call was still running in the gap, and the gap is longer than 20 µs.
 * In all other cases the whole gap is a queued piece. The whole gap is also a queued piece if the operation was
 * launched before the recording began (recorded.h).
 *
 * Causes of the queued piece, in which work was queued and the device did not start it:
 * - `dispatch`: the piece is at most 20 µs long, the time that a device may take to start the next operation. The
 *   start usually takes 1 to 2 µs on one stream, 2 to 8 µs if another stream waits for an event, and 5 to 15 µs for
 *   the first node of a graph. In traces that may lack operations, the piece may also be as long as a launch delay
 *   (see above);
 * - `communication`: a collective ended or began at the gap, and the operation at the other end of the gap was on
 *   another stream. In traces that may lack operations, the piece must also be short enough for `dispatch`;
 * - `wait`: the piece is longer than 20 µs, and the trace shows what the operation waited for: a host function, a
 *   memory value, or an operation of another device (gap_waits.h). A complete trace by Wallshim holds everything that
 *   the process launched. In such a trace the cause is `wait` even if the reason is not in the trace;
 * - `unrecorded`: the trace does not show what the operation waited for, and the trace may lack operations. The
 *   device may have been busy with work from before the recording, with kernels of CUDA graphs, or with operations
 *   whose records were dropped. A whole gap of more than 20 µs gets this cause in two cases. First: a launch between
 *   the launches of the operations before and after the gap has no operation in the trace (recorded.h). Second: the
 *   trace holds only a sample of the operations. We assume a sample if more than a tenth of the idle time has this
 *   cause, and the correlation ids of consecutive calls differ by more than 25 (median, ws_recorded_apart).
 *
 * If the host was late, the cause is the main activity of the launching thread during the lateness. The lateness is
 * the time from the start of the gap to the start of the launch call. If this call began before the gap, or took more
 * than 20 µs of the gap, the lateness ends with the end of the call. If the calls of `sync` or of `allocation` took
 * at least a quarter of the lateness, they are the cause, even if another activity took longer:
 * - `sync`: the thread was in a call that waits for the device. When such a call returns, no work is queued, so the
 *   device is idle until the host launches more work. Without the wait, the host would have been ahead of the device
 *   by the length of the wait;
 * - `allocation`: the thread allocated or freed memory, loaded modules, or was in a kernel's first launch that took
 *   more than 0.5 ms (lazy loading);
 * - `communication`: the thread was in an NCCL call or in the range of a collective;
 * - `input`: the thread was outside calls, in a range named like a data loader. Two other cases count as `input` if
 *   the thread was outside calls for 0.1 ms or more at a time. First: the thread was in Python functions or
 *   operators, and the gap ends with a step's first operation, a copy of a batch (1 KiB or more) from host to device.
 *   Second: the trace does not show what the thread did, and the operation that ends the gap copies from host to
 *   device. These two cases count as `sync` or `allocation` if the calls of that cause took more than four times as
 *   long as the time outside calls;
 * - `launch`: the thread was in launch calls, or between calls less than 0.1 ms apart (5 to 30 µs are usual in eager
 *   frameworks). Longer times between calls also count as `launch` if the thread was in operators, functions or
 *   ranges, except those of a data loader. If a single launch call took 0.1 ms or more, the report names this call;
 * - `unexplained`: none of the above. The thread was outside calls, and the trace does not show what it did.
 *
 * If the launching thread was mostly outside calls, it may have waited for work from another thread, as autograd's
 * thread does. In this case, the thread that launched the operation before the gap is examined instead.
 *
 * A sync or an allocation can delay the host by more than the length of the gap that it causes. The rest of the delay
 * is called a debt. Later gaps of the causes `launch` and `unexplained` count as `sync` or `allocation` instead,
 * until their lengths add up to the debt.
 *
 * If a gap lies in two steps, each step counts its part of the gap.
 *
 * A gap that is no longer than the errors of its measured start and end may not exist, but still gets a cause. If
 * work was queued, the cause of such a gap is `dispatch` if the gap is at most 20 µs long, else `unexplained`. If the
 * trace lacks the launch call of the operation that ended a gap, the report calls the trace incomplete. The gap is
 * then `unexplained`, unless the operation was launched before the recording. Gaps before or after an operation are
 * also `unexplained` if Wallshim delayed its launch to read hardware counters. We chose the limits for which no
 * source is given.
 */
#ifndef WALLSHIM_ANALYSIS_GAPS_GAPS_H
#define WALLSHIM_ANALYSIS_GAPS_GAPS_H

#include "analysis/activity/activity.h"
#include "analysis/steps/steps.h"
#include "base/vector.h"
#include "model/source_code.h"
#include "report/advice.h"
#include "report/analysis.h"

struct ws_gap_total {
    uint64_t count;
    int64_t total;
    uint64_t steady_count; /* number of gaps that lie in steady steps, at least partly */
    int64_t steady;
};

/* Sums for a line (struct ws_gap_line) over the gaps that a call of the host caused. In each of these gaps, only its
 * longest call counts. */
struct ws_gap_calls {
    uint64_t count;
    int64_t length; /* ns: sum of the lengths of these calls */
    int64_t inside; /* ns: sum of the parts of these calls that lie in the gaps */
    int64_t gaps;   /* ns: sum of the lengths of all gaps of the line, including gaps without a call */
};

/* A line: all gaps with the same cause that one thread caused at the same place in the program. */
struct ws_gap_line {
    enum ws_part cause;
    uint32_t thread;         /* id of the thread that caused the gaps */
    struct ws_source source; /* place in the program that caused the line's first gap */
    /* id of the driver function whose call was the longest in the line's first gap; 0: no call */
    uint32_t function;
    struct ws_gap_total gaps;
    struct ws_gap_calls calls;
    int64_t longest;
};

/* Idle time of steps before the device's first operation in the recording, or after its last operation. This idle
 * time does not count as a gap, because it lies next to only one operation. It counts only in figures of steady
 * steps. */
struct ws_edge_gap {
    int64_t begin, end; /* ns, host clock; begin = end: no such idle time */
    int64_t steady;     /* ns of the idle time that lie in steady steps */
    enum ws_part cause;
};

struct ws_track_causes {
    /* Consecutive gaps mostly have the same line (the same cause and place in the program). A run is a series of
     * consecutive gaps with the same line. So the line is stored once per run, not once per gap. */
    uint32_t *run_lines; /* by run: index in `lines` of the line to which the run's gaps belong */
    size_t run_count;
    /* One bit per operation, by index in ws_track.order: it is set if the operation ended the first gap of a run. For
     * the very first run, no bit is set. */
    uint64_t *turns;
    size_t places;                              /* number of bits in `turns` */
    struct ws_gap_total totals[WS_CAUSE_COUNT]; /* a gap with two causes counts in the totals of both causes */
    struct ws_vector lines;                     /* elements: struct ws_gap_line, largest time in steady steps first */
    /* gaps that ended with an operation whose launch call is not in the trace; all gaps, if device and host clock are
     * not aligned; `totals` counts these gaps too */
    struct ws_gap_total hostless;
    struct ws_gap_total within_error; /* gaps that are no longer than the errors of their start and end times */
    struct ws_gap_total in_graphs;    /* gaps of cause `unrecorded` that ended with an operation of a CUDA graph */
    uint64_t graph_launches;          /* number of graph launches with gaps in `in_graphs` */
    bool is_sampled;                  /* the trace holds only a sample of the operations */
    /* if is_sampled: median difference of the correlation ids of consecutive calls */
    uint32_t apart;
    int64_t launch_delay; /* ns from a launch call to the start of the operation on an idle device */
    bool per_step;        /* there are steady steps, so reports show figures per step */
    /* [0]: idle time before the device's first operation; [1]: after its last one */
    struct ws_edge_gap edges[2];
    int64_t lead_input; /* ns: wait for input before the first operation of the first steady step */
};

/* A run of consecutive gaps with the same cause and place in the program (line). `to` is the index in ws_track.order
 * of the operation that ended the first gap of the next run. The struct must be zero before the first call of
 * ws_gap_run_next. */
struct ws_gap_run {
    size_t number, to;
    uint32_t line; /* index in ws_track_causes.lines */
    enum ws_part cause;
};

void ws_gap_run_next(const struct ws_track_causes *causes, struct ws_gap_run *run);

/* Moves `run` forward to the run that contains the gap. Gaps must come in order of time. */
static inline void ws_gap_run_reach(const struct ws_track_causes *causes, struct ws_gap_run *run,
                                    const struct ws_gap *gap)
{
    while (gap->place >= run->to)
        ws_gap_run_next(causes, run);
}

/* Writes the number of the gaps in `total` and their idle time, such as "7.1 gaps a step after waits, 1.04 ms of idle
 * time". Without steady steps, writes the figures of the whole recording. */
enum { WS_GAP_PHRASE = 160 };
void ws_gap_phrase(const struct ws_track_causes *causes, const struct ws_track_steps *steps,
                   const struct ws_gap_total *total, const char *which, char text[WS_GAP_PHRASE]);

/* Writes ", mostly in calls of cuLaunchKernel, 3.00 ms each" if calls of 1 ms or more caused at least half of the
 * time in gaps of cause `launch` or `allocation`. The figure is the mean length of these calls. A call this long
 * loaded a module, found a full queue, or waited for memory, so fewer launches would not make it shorter. Writes ""
 * if no such calls caused the gaps. Writes "" too if the verdict (the report's judgement of what limits the device)
 * leaves out idle time of this cause in first calls (module loads and the like, initialization.h), because the
 * longest calls may be those first calls. */
enum { WS_GAP_CALL = 160 };
void ws_gap_call_phrase(const struct ws_report *report, size_t track, enum ws_part cause, char text[WS_GAP_CALL]);

/* This analysis runs once per track (one device as used by one process). The analysis has no section of its own in
 * the report. */
extern const struct ws_analysis ws_analysis_causes;

/* ws_gap_time returns the idle time (ns) that reports show, and ws_gap_count the number of gaps. Both cover the
 * steady steps, or the whole recording if there are no steady steps. */
static inline int64_t ws_gap_time(const struct ws_track_causes *causes, const struct ws_gap_total *total)
{
    return causes->per_step ? total->steady : total->total;
}

static inline uint64_t ws_gap_count(const struct ws_track_causes *causes, const struct ws_gap_total *total)
{
    return causes->per_step ? total->steady_count : total->count;
}

/* Writes the place in the program that caused the gaps of `line`, such as "step (train.py:41)". Returns false and ""
 * if the trace does not name the place. */
bool ws_gap_line_text(const struct ws_process *process, const struct ws_gap_line *line, char *text, size_t capacity);

/* Writes the source code at the place that caused the gaps of `line` (model/source_code.h). Returns false and "" if
 * the source code is not known. */
bool ws_gap_line_code(const struct ws_process *process, const struct ws_gap_line *line, char text[WS_SOURCE_CODE]);

/* Like ws_gap_line_text, but if the trace does not name the place, writes the driver function that the thread
 * called. */
bool ws_gap_line_where(const struct ws_process *process, const struct ws_gap_line *line, char *text, size_t capacity);

/* The report's section on gaps: when the device was idle, and why. */
extern const struct ws_analysis ws_analysis_gaps;

enum { WS_GAP_DECADES = 10, WS_GAPS_LARGEST = 1000 };

/* One of the longest gaps, with its length (ns) and the line of code that caused it. */
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
    struct ws_gap_decade histogram[WS_GAP_DECADES]; /* gaps by length; [0]: below 1 µs; [i]: from 10^(i-1) µs */
    uint64_t count;
    int64_t total;
    struct ws_long_gap *largest; /* the longest gaps, longest first */
    size_t largest_count;
};

/* defined in gaps_report.c */
void ws_gaps_text(const struct ws_report *report, size_t subject, const void *memory, struct ws_page *page);
int ws_gaps_json(const struct ws_report *report, size_t subject, const void *memory, json_t *object);

#endif
