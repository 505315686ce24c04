#include "analysis/steps/ranges.h"

#include <stdlib.h>

#include "analysis/activity/activity.h"
#include "analysis/steps/range_sums.h"
#include "analysis/steps/steps.h"

static int steps_ranges_most_first(const void *a, const void *b)
{
    const struct ws_range_row *x = a, *y = b;
    int64_t of_x = ws_max(x->work.all.busy, x->all.host), of_y = ws_max(y->work.all.busy, y->all.host);
    if (of_x != of_y)
        return of_x < of_y ? 1 : -1;
    return (x->label > y->label) - (x->label < y->label);
}

static int busiest_first(const void *a, const void *b)
{
    const struct ws_range_outside *x = a, *y = b;
    if (x->work.all.busy != y->work.all.busy)
        return x->work.all.busy < y->work.all.busy ? 1 : -1;
    return (x->thread > y->thread) - (x->thread < y->thread);
}

static int run_flat(const struct ws_report *report, size_t subject, enum ws_range_kind kind,
                    struct ws_track_ranges *result)
{
    int status = ws_ranges_sum(report, subject, &(struct ws_range_grouping){ .kind = kind, .also = kind }, result);
    if (!status && result->rows.count)
        qsort(result->rows.data, result->rows.count, sizeof(struct ws_range_row), steps_ranges_most_first);
    if (!status && result->outside.count)
        qsort(result->outside.data, result->outside.count, sizeof(struct ws_range_outside), busiest_first);
    return status;
}

static int ranges_run(const struct ws_report *report, size_t subject, void *memory)
{
    return run_flat(report, subject, WS_RANGE_ANNOTATION, memory);
}

static int operators_run(const struct ws_report *report, size_t subject, void *memory)
{
    return run_flat(report, subject, WS_RANGE_OPERATOR, memory);
}

static void steps_ranges_finish(void *memory)
{
    ws_ranges_finish_sums(memory);
}

static bool has_section(const void *memory)
{
    const struct ws_track_ranges *result = memory;
    return result->rows.count > 0;
}

const struct ws_analysis ws_analysis_ranges = {
    .name = "ranges",
    .title = "Ranges of the program",
    .host_times = true,
    .scope = WS_SCOPE_TRACK,
    .result_size = sizeof(struct ws_track_ranges),
    .needs = { &ws_analysis_activity, &ws_analysis_steps },
    .run = ranges_run,
    .finish = steps_ranges_finish,
    .has_section = has_section,
    .text = ws_ranges_text,
    .json = ws_ranges_json,
};

const struct ws_analysis ws_analysis_operators = {
    .name = "operators",
    .title = "Operators of the framework",
    .host_times = true,
    .scope = WS_SCOPE_TRACK,
    .result_size = sizeof(struct ws_track_ranges),
    .needs = { &ws_analysis_activity, &ws_analysis_steps },
    .run = operators_run,
    .finish = steps_ranges_finish,
    .has_section = has_section,
    .text = ws_operators_text,
    .json = ws_operators_json,
};
