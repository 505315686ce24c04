#include "check/figure.h"

#include <string.h>

#include "check/find.h"
#include "report/advice.h"

#define SHARE .unit = WS_UNIT_SHARE
#define COUNT .unit = WS_UNIT_NONE
#define TIME .unit = WS_UNIT_TIME
#define BYTES .unit = WS_UNIT_BYTES
#define TEXT .unit = WS_UNIT_TEXT

/* OF_TIME: the value is a share of the recorded time, which is the trace's span without the times in which nothing
 * was recorded. */
#define OF_TIME .of = "span_ns", .except = "unrecorded_ns", .whole = true
#define OF_STEPS .reason = "step_time.why_none"
#define OF_VERDICT .reason = "wall_reason", .whole = true
#define OF_STEP .of = "wall.step_ns", .per_step = true, OF_VERDICT

#define GAP(name, key, wall, text) { "gaps." key, "idle time of a step: " text, TIME, "wall.parts." key, OF_STEP },
#define PART(name, key, wall, text) { "parts." key, "part of a step: " text, TIME, "wall.parts." key, OF_STEP },

/* clang-format off */
const struct ws_figure ws_figures[] = {
    { "busy", "time in which the device runs something", SHARE, "busy_ns", OF_TIME, .error = "busy_error_ns" },
    { "idle", "time in which it runs nothing", SHARE, "idle_ns", OF_TIME, .error = "busy_error_ns" },
    { "compute", "time in which kernels other than communication run", SHARE, "compute_ns", OF_TIME },
    { "comm", "time in which communication runs", SHARE, "comm_ns", OF_TIME },
    { "memory", "time in which copies or memsets run", SHARE, "memory_ns", OF_TIME },
    { "exposed_comm", "communication outside compute", SHARE, "exposed_comm_ns", OF_TIME },
    { "exposed_memory", "copies and memsets outside compute and communication", SHARE, "exposed_memory_ns", OF_TIME },
    { "comm_overlap", "part of communication that compute hides", SHARE, "comm_overlap_ns", .of = "comm_ns",
      .whole = true },
    { "steps", "steady steps", COUNT, "step_time.steady", OF_STEPS },
    { "slow_steps", "steady steps of more than 1.5 times the median", COUNT, "step_time.slow", OF_STEPS },
    { "step_time", "median of the steady steps", TIME, "step_time.median_ns", OF_STEPS },
    { "step_time.mean", "mean of the steady steps", TIME, "step_time.mean_ns", OF_STEPS },
    { "step_time.p95", "95th percentile of the steady steps", TIME, "step_time.p95_ns", OF_STEPS },
    { "step_time.max", "the longest steady step", TIME, "step_time.max_ns", OF_STEPS },
    { "step_time.cov", "standard deviation of the steady steps / mean", SHARE, "step_time.cov", OF_STEPS },
    { "step_time.stable", "true or false", TEXT, "step_time.stable", OF_STEPS },
    { "wall", "compute, bandwidth, communication or overhead", TEXT, "wall.name", OF_VERDICT },
    { "wall.cause", "the largest part of the wall", TEXT, "wall.cause", OF_VERDICT },
    { "wall.saving", "what all advice together may save in a step", TIME, "wall.saving_ns", OF_STEP },
    WS_CAUSES(GAP)
    WS_BUSY_PARTS(PART)
    { "matmul", "share of kernel time in matrix work", SHARE, "roofline.matmul_ns",
      .of = "roofline.kernel_ns" },
    { "mfu", "known FLOPs / FLOPs that the GPU could do in that time", SHARE, "roofline.mfu" },
    { "memory.device", "most bytes allocated from the driver at once", BYTES, "memory_use.device.peak_bytes" },
    { "memory.framework", "most bytes allocated from the framework at once", BYTES,
      "memory_use.framework.peak_bytes" },
    { "pageable_copies", "copies from or to pageable host memory", COUNT, "copies[\"Pageable\"].count",
      .none_is_zero = true },
    { "losses", "operations, calls and ranges that are not in the trace", COUNT, "losses[*].count" },
};
/* clang-format on */
const size_t ws_figure_count = sizeof(ws_figures) / sizeof(ws_figures[0]);

const struct ws_figure *ws_figure_find(const char *name)
{
    if (!strcmp(name, "gaps.dependency")) /* the figure's name in earlier versions of wallshim; see ws_word_now */
        name = "gaps.wait";
    for (size_t i = 0; i < ws_figure_count; i++)
        if (!strcmp(ws_figures[i].name, name))
            return &ws_figures[i];
    return NULL;
}

const char *ws_figure_nearest(const char *name)
{
    size_t least = SIZE_MAX, nearest = 0;
    for (size_t i = 0; i < ws_figure_count; i++) {
        size_t distance = ws_edit_distance(name, ws_figures[i].name);
        if (distance < least) {
            least = distance;
            nearest = i;
        }
    }
    return ws_is_near(least, strlen(name)) ? ws_figures[nearest].name : NULL;
}

const char *ws_unit_name(enum ws_unit unit)
{
    switch (unit) {
    case WS_UNIT_SHARE:
        return "share";
    case WS_UNIT_TIME:
        return "time";
    case WS_UNIT_BYTES:
        return "bytes";
    case WS_UNIT_TEXT:
        return "word";
    case WS_UNIT_NONE:
        break;
    }
    return "number";
}
