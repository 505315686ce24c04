/* The steps of a device: the iterations of the program's repeating work, taken from the program's own
 * markers where there are any, else found in what runs on the device (period.h).
 *
 * Steps tile the time from the first boundary to the last. A boundary is the begin, on the device, of the
 * first operation of a step on the stream that has most kernels (but communication); a marker's is the first of these
 * launched after the marker's begin. (Other streams run ahead: a copy of the batch after next says nothing of the
 * step that the device is at.) What comes before the first boundary is in no step.
 *
 * Every figure "per step" of a report is taken over the steady steps. Left out are
 * - warm-up: the leading steps before the first two in a row that are at most 25 % longer than the median, and
 * leading ones more than 25 % shorter where hardly any later one is (they live on a stock, as of batches made
 * beforehand);
 * - other: what repeats with the steps but is not like them (evaluation, checkpoint), only where steps
 *   were found rather than marked;
 * - cut: the last step, where the recording does not show its end;
 * - counted: those in which launches were held up for hardware counters, where three others are left;
 * - paused: those in which nothing was recorded for a time, as between bursts.
 *
 * The step time is stable where the middle half of the steps lies within 10 % of the median (the limit
 * from which torch.utils.benchmark warns of fluctuation) and no more than one in twenty is slow; of fewer
 * than three steps nothing is said. A slow step takes more than 1.5 times the median, as nsys-ai has it.
 */
#ifndef WALLSHIM_ANALYSIS_STEPS_H
#define WALLSHIM_ANALYSIS_STEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/registry.h"
#include "analysis/split.h"
#include "base/vector.h"

enum { WS_STEPS_TO_JUDGE = 3 };

enum ws_steps_source { WS_STEPS_NONE, WS_STEPS_MARKED, WS_STEPS_FOUND };

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
    int64_t begin, end; /* host clock; end is the begin of the next */

    /* When the host was at it: where steps were marked from its marker's begin to the next one's, else from the
     * launch of its first operation to that of the next step's. */
    int64_t host_begin, host_end;
    uint32_t first; /* operations: places in ws_track.order, from the first to begin in it */
    uint32_t count;
    uint64_t number; /* its marker's, else its place */
    struct ws_split split;
    enum ws_step_kind kind;
    bool slow;
};

/* A figure of the steady steps. */
struct ws_step_figure {
    int64_t median, mean;
};

/* X(field, key in JSON, what a report calls it): the parts of a step. compute, comm and memory may overlap. */
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
    const char *why_none;        /* a sentence, where there are none */
    struct ws_vector steps;      /* struct ws_step, in order of time */
    struct ws_vector slow_steps; /* struct ws_slow_step, in order of time; the first ones of "slow" */
    size_t kinds[WS_STEP_KIND_COUNT];
    int64_t lasted[WS_STEP_KIND_COUNT]; /* all of a kind together */
    size_t slow;                        /* of the steady ones */
    int64_t least, most;                /* length of a steady step */
    int64_t median, p95, mean;
    int64_t quartile_range; /* between the first and the third quartile */
    double cov;             /* standard deviation / mean */
    bool judged;            /* there are enough steps to say whether the step time is stable */
    bool stable;
#define WS_STEP_FIGURE(field, key, label) struct ws_step_figure field;
    WS_STEP_PARTS(WS_STEP_FIGURE)
#undef WS_STEP_FIGURE
};

extern const struct ws_analysis ws_analysis_steps;

/* The same with no more than source, why_none and where the steps begin and end; no section of its own. */
extern const struct ws_analysis ws_analysis_step_bounds;

/* The step that holds a time, or NULL. */
const struct ws_step *ws_steps_at(const struct ws_track_steps *steps, int64_t time);

/* The same for times that ascend from call to call; *cursor is 0 before the first. */
static inline const struct ws_step *ws_steps_next(const struct ws_track_steps *steps, size_t *cursor, int64_t time)
{
    const struct ws_step *list = steps->steps.data;
    while (*cursor < steps->steps.count && list[*cursor].end <= time)
        ++*cursor;
    return *cursor < steps->steps.count && list[*cursor].begin <= time ? &list[*cursor] : NULL;
}

/* Does what happens in this step, or in no step, count for figures per step? */
static inline bool ws_step_is_steady(const struct ws_step *step)
{
    return step && step->kind == WS_STEP_STEADY;
}

/* Whether times that ascend from call to call are in steady steps: asked for millions of them. */
struct ws_steady_walk {
    const struct ws_step *next, *end; /* steps */
    int64_t until;                    /* before that it is as said last */
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

/* A total over the steady steps as a figure of one of them; 0 where there is none. */
static inline int64_t ws_steps_share(const struct ws_track_steps *steps, int64_t total)
{
    size_t count = steps->kinds[WS_STEP_STEADY];
    return count ? total / (int64_t)count : 0;
}

const char *ws_step_kind_name(enum ws_step_kind kind);

/* The parts of WS_STEP_PARTS by number: of a step, and as a figure of the steady ones. */
enum { WS_STEP_PART_COUNT = 7 };
int64_t ws_step_part(const struct ws_step *step, size_t part);
const struct ws_step_figure *ws_steps_figure(const struct ws_track_steps *steps, size_t part);

/* The section and the keys of the report. */
void ws_steps_text(const struct ws_report *report, size_t subject, const void *result, struct ws_page *page);
int ws_steps_json(const struct ws_report *report, size_t subject, const void *result, json_t *object);

#endif
