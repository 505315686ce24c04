/* The steps of a device: the iterations of the program's main loop. The program's step markers give the steps. If
 * there are no markers, the steps are found in the device's operations (period.h).
 *
 * Each step begins where the previous step ends. Operations before the first step are in no step.
 *
 * Marked steps: on the host, an iteration lasts from the start of its marker to the start of the next marker. On the
 * device, a step begins when its work could begin: when the host has begun the step's marker, and the device has
 * ended all work launched before the marker. If the host runs ahead of the device, a step lasts as long as the
 * device's work for it. If the device waits for the host, a step lasts as long as the host's work for it, including
 * the host's work before the step's first launch. The last step ends when its marker and its device work have both
 * ended.
 * - A step begins no later than its first operation on the main stream. The main stream is the stream of the device
 *   with most kernels other than communication. Other streams do not count, because they may already work for later
 *   steps, for example copy later batches.
 * - If work without a recorded launch comes before all other work of its stream, it was launched before the
 *   recording. The first recorded operation of the main stream may have started later than its launch, although no
 *   recorded work delayed it. In that case this operation waited for work launched before the recording, and its step
 *   begins with this operation.
 * - The first step has no recorded step before it. So we assume that the first step begins as long after its marker
 *   as the second step begins after the second marker. If the first step began at its marker, it would last too long,
 *   because its device work overlaps with the host's work for the second step.
 *
 * Found steps: a step begins with its first operation on the main stream. The time at which the host began the step
 * is not known, so the idle time before this operation belongs to the previous step. The program's ranges may show
 * that found steps are only parts of an iteration (named_parts.h). In that case the ranges give the steps, which
 * begin and end as if the ranges were step markers. If the ranges do not tell when iterations begin, there are no
 * steps. An inference server sets a range around each of its iterations. These ranges also give the steps (phases.h).
 * Ranges that the program named after its iterations give the steps too, if these ranges come at even intervals
 * (even_steps.h).
 *
 * Every figure "per step" in a report is computed over the steady steps. Steps of the following kinds are left out:
 * - warm-up: the first steps, up to the first two successive steps that are at most 25 % longer than the median.
 *   First steps that are more than 25 % shorter than the median are warm-up too, if hardly any later step is that
 *   short. These steps are short because they use a stock, such as batches loaded beforehand;
 * - other: among found steps, segments with other work (evaluation, checkpoint); for an inference server, steps of
 *   all phases except the phase that takes most time (phases.h);
 * - cut: the last step, if its end is not certain because nothing runs after it or because there are gaps between
 *   markers. If there are fewer than four marked steps, an uncertain last step counts as steady;
 * - counted: steps with launches that were delayed while hardware counters were read; they are left out only if at
 * least three other steps remain;
 * - paused: steps during which recording was off for a time, for example between two bursts of recording.
 *
 * In a window of a recording (model/window.h) the steps are those of the whole recording that the host began and
 * ended in the window. Each step keeps the start, the end and the times that it has in the whole recording. It also
 * keeps its kind, except that some steps of warm-up and of other phases count as steady (given_steps.c).
 *
 * The step time is stable if its interquartile range is at most 10 % of the median, and its 95th percentile is at
 * most 25 % above the median. torch.utils.benchmark warns of fluctuation above the same 10 %. The 25 % are also the
 * limit for warm-up. Stability is not judged with fewer than three steps. A step is slow if it takes more than 1.5
 * times the median, as in nsys-ai. */
#ifndef WALLSHIM_ANALYSIS_STEPS_STEPS_H
#define WALLSHIM_ANALYSIS_STEPS_STEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/activity/split.h"
#include "analysis/steps/phases.h"
#include "base/vector.h"
#include "report/analysis.h"

enum { WS_STEPS_TO_JUDGE = 3, WS_STEPS_STABLE_P95 = 125 /* percent of the median */ };

enum ws_steps_source { WS_STEPS_NONE, WS_STEPS_MARKED, WS_STEPS_FOUND };

/* The evidence that found steps are iterations, and not parts of iterations such as layers (named_parts.h). Each
 * comment below starts with how certain it is that the steps are iterations. */
enum ws_steps_proof {
    WS_PROOF_STRUCTURE, /* doubtful: the only evidence is that each step contains repetitions, or many kernels */
    WS_PROOF_EXCHANGE,  /* likely: each step copies from or to the host, or launches a CUDA graph */
    WS_PROOF_UPDATE,    /* likely: each step has an optimizer's kernel, so it updates the model */
    WS_PROOF_RANGES,    /* confirmed: the names of the program's ranges repeat once per step */
    /* confirmed: the steps come from the program's ranges, which showed that the steps found first were only parts */
    WS_PROOF_NAMES,
    WS_PROOF_EVEN,   /* likely: the steps are ranges named after iterations ("batch"), at even intervals */
    WS_PROOF_SERVER, /* confirmed: an inference server sets a range around each iteration */
    /* likely: the only step is a piece of the recording that lasts as long as the names of ranges take to repeat */
    WS_PROOF_LENGTH,
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
    int64_t begin, end; /* begin and end on the device; `end` is the start of the next step; ns, host clock */

    /* Begin and end of the step on the host, ns on the host clock. Steps that come from step markers or from other
     * ranges: from the start of the range to the start of the next range. Steps that were found in the order of
     * operations: from the launch of the first operation to the launch of the next step's first operation. */
    int64_t host_begin, host_end;
    uint32_t first; /* index in ws_track.order of the first operation that begins in the step */
    uint32_t count;
    uint64_t number; /* number of the step marker; without step markers, index of the step */
    struct ws_split split;
    enum ws_step_kind kind;
    enum ws_phase phase; /* what an inference server did in the step: prefill, decode or both */
    bool slow;
};

/* Median and mean of a time (such as idle time) over the steady steps, in ns. */
struct ws_step_figure {
    int64_t median, mean;
};

/* X(field, key in JSON, name in a report): the parts of a step's time. The parts compute, comm and memory may
 * overlap. */
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
    enum ws_steps_proof proof;   /* for found steps: the evidence that they are iterations */
    const char *why_none;        /* if there are no steps: a sentence that tells why */
    struct ws_vector steps;      /* struct ws_step, in order of time */
    struct ws_phases phases;     /* the iterations of an inference server */
    struct ws_vector slow_steps; /* struct ws_slow_step, in order of time; only the first 256 slow steps */
    size_t kinds[WS_STEP_KIND_COUNT];
    int64_t lasted[WS_STEP_KIND_COUNT]; /* by kind: sum of the durations of all steps of the kind, ns */
    size_t slow;                        /* number of steady steps that are slow */
    int64_t least, most;                /* durations of the shortest and the longest steady step, ns */
    int64_t median, p95, mean;
    int64_t quartile_range; /* third quartile minus first quartile of the steady steps' durations, ns */
    double cov;             /* standard deviation of the steady steps' durations, divided by their mean */
    bool judged;            /* there are enough steady steps to judge whether the step time is stable */
    bool stable;
#define WS_STEP_FIGURE(field, key, label) struct ws_step_figure field;
    WS_STEP_PARTS(WS_STEP_FIGURE)
#undef WS_STEP_FIGURE
};

extern const struct ws_analysis ws_analysis_steps;

/* This analysis only finds the begin and end of steps. In its result (struct ws_track_steps), only source, why_none
 * and the steps' begin and end may be used. The analysis prints no section of the report. */
extern const struct ws_analysis ws_analysis_step_bounds;

/* Returns the step that contains this time, or NULL if no step does. */
const struct ws_step *ws_steps_at(const struct ws_track_steps *steps, int64_t time);

/* Like ws_steps_at, but faster. `time` must not decrease from call to call. The caller sets *cursor to 0 before the
 * first call. */
static inline const struct ws_step *ws_steps_next(const struct ws_track_steps *steps, size_t *cursor, int64_t time)
{
    const struct ws_step *list = steps->steps.data;
    while (*cursor < steps->steps.count && list[*cursor].end <= time)
        ++*cursor;
    return *cursor < steps->steps.count && list[*cursor].begin <= time ? &list[*cursor] : NULL;
}

/* Does this step count for figures per step? Returns false for NULL. */
static inline bool ws_step_is_steady(const struct ws_step *step)
{
    return step && step->kind == WS_STEP_STEADY;
}

/* State of ws_steady_at, which tells whether a time is in a steady step. The times that the caller passes must not
 * decrease from call to call, so the function need not search all steps. */
struct ws_steady_walk {
    /* the first step that ends after the time of the latest call; the end of the array of steps */
    const struct ws_step *next, *end;
    int64_t until; /* `steady` is valid for times before `until`; ns, host clock */
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

/* Returns the ns between `begin` and `end` that are in steady steps. `begin` must not decrease from call to call. */
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

/* Returns `total`, a sum over the steady steps, divided by the number of steady steps. Returns 0 if there are no
 * steady steps. */
static inline int64_t ws_steps_share(const struct ws_track_steps *steps, int64_t total)
{
    size_t count = steps->kinds[WS_STEP_STEADY];
    return count ? total / (int64_t)count : 0;
}

const char *ws_step_kind_name(enum ws_step_kind kind);

/* `part` is the index of a part of a step in WS_STEP_PARTS. ws_step_part returns the ns of the part in one step.
 * ws_steps_figure returns the median and mean of the part over the steady steps. */
enum { WS_STEP_PART_COUNT = 7 };
int64_t ws_step_part(const struct ws_step *step, size_t part);
const struct ws_step_figure *ws_steps_figure(const struct ws_track_steps *steps, size_t part);

/* Completes steps whose begin and end are set. Sets `split` of each step. Sets host_begin and host_end of steps that
 * were found in the order of operations; all other steps already have them. Steps in which the recording paused or
 * hardware counters were read get a kind that does not count (WS_STEP_PAUSED, WS_STEP_COUNTED). Returns 0 or
 * -ENOMEM. */
int ws_steps_prepare(const struct ws_report *report, const struct ws_track *track, struct ws_track_steps *result);

/* Returns a percentile by nearest rank: the smallest value that at least `percent` % of all values do not exceed. */
int64_t ws_steps_percentile(const int64_t *sorted, size_t count, unsigned percent);

/* defined in steps_report.c */
void ws_steps_text(const struct ws_report *report, size_t subject, const void *result, struct ws_page *page);
int ws_steps_json(const struct ws_report *report, size_t subject, const void *result, json_t *object);

#endif
