/* The steps of a device: the iterations of the program's main loop. They come from the program's step markers. If
 * there are no markers, they are found in the device's operations (period.h).
 *
 * Each step begins where the previous step ends. Operations before the first step are in no step.
 *
 * Marked steps: on the host, an iteration lasts from marker to marker. On the device, it begins when its work could
 * begin. So a step begins as soon as the host has begun its marker and the device has ended all work launched before
 * the marker. If the host runs ahead, a step lasts as long as the device's work. If the device waits, a step lasts as
 * long as the host's work, including the work before its first launch. The last step ends when both its marker and
 * its work have ended.
 * - A step begins no later than its first operation on the main stream. The main stream is the stream of the device
 * with most kernels other than communication. Other streams do not count, because they may run ahead, for example
 * with copies of later batches.
 * - Work without a recorded launch was launched before the recording if it comes before all other work of its stream.
 * The main stream's first operation may have waited although no recorded work delayed it. In that case it waited for
 * work launched before the recording, and the step begins with this operation.
 * - The first step has no recorded step before it. So it gets the delay of the second step: both begin equally long
 * after their markers. Otherwise the first step would last too long, because its device work overlaps with the host's
 * work for the second step.
 *
 * Found steps: a step begins with its first operation on the main stream. The time at which the host began the step
 * is not known, so the idle time before this operation belongs to the previous step. The program's ranges may show
 * that found steps are only parts of an iteration (named_parts.h). In that case the ranges give the steps, which
 * begin and end like marked steps. If the ranges do not tell when iterations begin, there are no steps. An inference
 * server sets a range around each of its iterations. These ranges also give the steps (phases.h).
 *
 * Every figure "per step" in a report is taken over the steady steps. Steps of the following kinds are left out:
 * - warm-up: leading steps. Warm-up ends at the first two successive steps that are at most 25 % longer than the
 * median. Leading steps that are more than 25 % shorter than the median are warm-up too, if hardly any later step is
 * that short: they use up a stock, such as batches loaded beforehand;
 * - other: among found steps, segments with other work (evaluation, checkpoint); for an inference server, steps of
 * all phases except the phase that takes most time (phases.h);
 * - cut: the last step, if its end is not certain because nothing runs after it or because there are gaps between
 * markers. If there are fewer than four marked steps, the last step counts as steady;
 * - counted: steps with launches that were delayed while hardware counters were read; they are left out only if at
 * least three other steps remain;
 * - paused: steps during which recording was off for a time, for example between two bursts of recording.
 *
 * In a window of a recording (model/window.h) the steps are those of the whole recording that the host began and
 * ended in the window. Each keeps its place, its parts and its kind (given_steps.h).
 *
 * The step time is stable if the interquartile range is at most 10 % of the median and at most one step in twenty is
 * slow. Above the same 10 %, torch.utils.benchmark warns of fluctuation. Stability is not judged with fewer than
 * three steps. A slow step takes more than 1.5 times the median, as in nsys-ai.
 */
#ifndef WALLSHIM_ANALYSIS_STEPS_STEPS_H
#define WALLSHIM_ANALYSIS_STEPS_STEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/activity/split.h"
#include "analysis/steps/phases.h"
#include "base/vector.h"
#include "report/analysis.h"

enum { WS_STEPS_TO_JUDGE = 3 };

enum ws_steps_source { WS_STEPS_NONE, WS_STEPS_MARKED, WS_STEPS_FOUND };

/* The evidence that found steps are iterations, and not parts such as layers (named_parts.h). */
enum ws_steps_proof {
    WS_PROOF_STRUCTURE, /* each step only contains inner repetitions, or many kernels: doubtful */
    WS_PROOF_EXCHANGE,  /* each step copies from or to the host, or launches a graph: likely */
    WS_PROOF_UPDATE,    /* each step updates the model: likely */
    WS_PROOF_RANGES,    /* ranges of the program repeat once per step: confirmed */
    WS_PROOF_NAMES,     /* the steps are the periods of the program's ranges: confirmed */
    WS_PROOF_SERVER,    /* an inference server sets a range around each iteration: confirmed */
    WS_PROOF_LENGTH,    /* the only step is a piece of the recording, as long as the period of the ranges: likely */
    WS_PROOF_COUNT
};

enum ws_step_kind {
    WS_STEP_STEADY,
    WS_STEP_WARM_UP,
    WS_STEP_OTHER,
    WS_STEP_CUT,
    WS_STEP_COUNTED,
    WS_STEP_PAUSED,
    WS_STEP_KIND_COUNT
};

struct ws_step {
    int64_t begin, end; /* ns, host clock; end is the begin of the next step */

    /* When the host ran the step, ns on the host clock. Marked steps: from the begin of the step marker to the begin
     * of the next marker. Other steps: from the launch of the first operation to the launch of the next step's first
     * operation. */
    int64_t host_begin, host_end;
    uint32_t first; /* index in ws_track.order of the first operation that begins in the step */
    uint32_t count;
    uint64_t number; /* number of the step marker; without step markers, index of the step */
    struct ws_split split;
    enum ws_step_kind kind;
    enum ws_phase phase; /* of an inference server */
    bool slow;
};

/* A figure over the steady steps, in ns. */
struct ws_step_figure {
    int64_t median, mean;
};

/* X(field, key in JSON, name in a report): the parts of a step. compute, comm and memory may overlap. */
#define WS_STEP_PARTS(X)                                \
    X(busy, "busy_ns", "busy")                          \
    X(compute, "compute_ns", "compute")                 \
    X(comm, "comm_ns", "communication")                 \
    X(exposed_comm, "exposed_comm_ns", "  exposed")     \
    X(memory, "memory_ns", "memory")                    \
    X(exposed_memory, "exposed_memory_ns", "  exposed") \
    X(idle, "idle_ns", "idle")

struct ws_track_steps {
    enum ws_steps_source source;
    enum ws_steps_proof proof;   /* the evidence for found steps */
    const char *why_none;        /* a sentence, if there are no steps */
    struct ws_vector steps;      /* struct ws_step, in order of time */
    struct ws_phases phases;     /* the iterations of an inference server */
    struct ws_vector slow_steps; /* struct ws_slow_step, in order of time; up to a limit */
    size_t kinds[WS_STEP_KIND_COUNT];
    int64_t lasted[WS_STEP_KIND_COUNT]; /* ns: sum of the lengths of all steps of a kind */
    size_t slow;                        /* number of slow steps among the steady ones */
    int64_t least, most;                /* shortest and longest steady step, ns */
    int64_t median, p95, mean;
    int64_t quartile_range; /* third quartile minus first, ns */
    double cov;             /* standard deviation / mean */
    bool judged;            /* there are enough steps to judge stability */
    bool stable;
#define WS_STEP_FIGURE(field, key, label) struct ws_step_figure field;
    WS_STEP_PARTS(WS_STEP_FIGURE)
#undef WS_STEP_FIGURE
};

extern const struct ws_analysis ws_analysis_steps;

/* This analysis only finds the steps. In its result (struct ws_track_steps), only source, why_none and the begins and
 * ends of the steps may be used. The report has no section for it. */
extern const struct ws_analysis ws_analysis_step_bounds;

/* The step at this time, or NULL. */
const struct ws_step *ws_steps_at(const struct ws_track_steps *steps, int64_t time);

/* Like ws_steps_at, but faster, for times that ascend from call to call. *cursor is 0 before the first call. */
static inline const struct ws_step *ws_steps_next(const struct ws_track_steps *steps, size_t *cursor, int64_t time)
{
    const struct ws_step *list = steps->steps.data;
    while (*cursor < steps->steps.count && list[*cursor].end <= time)
        ++*cursor;
    return *cursor < steps->steps.count && list[*cursor].begin <= time ? &list[*cursor] : NULL;
}

/* Does this step count for figures per step? NULL does not count. */
static inline bool ws_step_is_steady(const struct ws_step *step)
{
    return step && step->kind == WS_STEP_STEADY;
}

/* State of ws_steady_at, which tells whether a time is in a steady step. ws_steady_at is fast for millions of times
 * in ascending order. */
struct ws_steady_walk {
    const struct ws_step *next, *end; /* next step and end of the array */
    int64_t until;                    /* `steady` is valid for times before this */
    bool steady;
};

static inline struct ws_steady_walk ws_steady_walk(const struct ws_track_steps *steps)
{
    const struct ws_step *list = steps->steps.data;
    return (struct ws_steady_walk){ list, list ? list + steps->steps.count : NULL, INT64_MIN, false };
}

static inline bool ws_steady_at(struct ws_steady_walk *walk, int64_t time)
{
    if (time < walk->until)
        return walk->steady;
    while (walk->next < walk->end && walk->next->end <= time)
        walk->next++;
    bool within = walk->next < walk->end && walk->next->begin <= time;
    walk->steady = within && ws_step_is_steady(walk->next);
    walk->until = within ? walk->next->end : walk->next < walk->end ? walk->next->begin : INT64_MAX;
    return walk->steady;
}

/* The part of the time from `begin` to `end` that lies in steady steps, ns. Begins must ascend from call to call. */
static inline int64_t ws_steady_part(struct ws_steady_walk *walk, int64_t begin, int64_t end)
{
    bool steady = ws_steady_at(walk, begin);
    if (end <= walk->until)
        return steady ? end - begin : 0;
    int64_t part = 0;
    for (struct ws_steady_walk ahead = *walk; begin < end; begin = ahead.until) {
        steady = ws_steady_at(&ahead, begin);
        part += steady ? ws_min(end, ahead.until) - begin : 0;
    }
    return part;
}

/* A total over the steady steps divided by their number; 0 if there are none. */
static inline int64_t ws_steps_share(const struct ws_track_steps *steps, int64_t total)
{
    size_t count = steps->kinds[WS_STEP_STEADY];
    return count ? total / (int64_t)count : 0;
}

const char *ws_step_kind_name(enum ws_step_kind kind);

/* The parts of WS_STEP_PARTS by index. ws_step_part returns a part of one step, ws_steps_figure its figure over the
 * steady steps. */
enum { WS_STEP_PART_COUNT = 7 };
int64_t ws_step_part(const struct ws_step *step, size_t part);
const struct ws_step_figure *ws_steps_figure(const struct ws_track_steps *steps, size_t part);

/* Completes steps whose begins and ends are known: sets their splits and their host times, and leaves out steps in
 * which the recording paused or hardware counters were read. Returns 0 or -ENOMEM. */
int ws_steps_prepare(const struct ws_report *report, const struct ws_track *track, struct ws_track_steps *result);

/* The percentile by nearest rank: the smallest value such that at least `percent` % of all values are not larger. */
int64_t ws_steps_percentile(const int64_t *sorted, size_t count, unsigned percent);

/* defined in steps_report.c */
void ws_steps_text(const struct ws_report *report, size_t subject, const void *result, struct ws_page *page);
int ws_steps_json(const struct ws_report *report, size_t subject, const void *result, json_t *object);

#endif
