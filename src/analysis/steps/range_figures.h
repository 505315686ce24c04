/* Scales and prints the figures of ranges (NVTX, operators, modules), such as their device times, for reports. */
#ifndef WALLSHIM_ANALYSIS_STEPS_RANGE_FIGURES_H
#define WALLSHIM_ANALYSIS_STEPS_RANGE_FIGURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/steps/ranges.h"
#include "analysis/steps/steps.h"

/* What the printed figures are for: an average steady step, or the whole recording. */
struct ws_range_scale {
    const struct ws_track_steps *steps;
    size_t count;    /* number of steady steps; 0: figures are for the whole recording */
    int64_t length;  /* mean duration of a steady step, or duration of the recording; ns */
    bool has_device; /* the trace holds device times */
};

struct ws_range_scale ws_range_scale_of(const struct ws_report *report, size_t subject);

static inline int64_t ws_range_scaled(const struct ws_range_scale *scale, int64_t total)
{
    return scale->count ? ws_steps_share(scale->steps, total) : total;
}

static inline const struct ws_range_amount *ws_range_amount_of(const struct ws_range_scale *scale,
                                                               const struct ws_range_work *work)
{
    return scale->count ? &work->steady : &work->all;
}

static inline const struct ws_range_stay *ws_range_stay_of(const struct ws_range_scale *scale,
                                                           const struct ws_range_row *row)
{
    return scale->count ? &row->steady : &row->all;
}

/* Does the report show this row? If the printed figures are for steady steps, the report leaves out rows whose ranges
 * and work are all outside steady steps. */
static inline bool ws_range_is_shown(const struct ws_range_scale *scale, const struct ws_range_row *row)
{
    return !scale->count || row->steady.count || row->work.steady.operations || row->work.steady.idle;
}

/* Returns a JSON object with the figures of a row (ranges of one name), or NULL if memory runs out. `steps`: number
 * of steady steps. */
json_t *ws_range_row_json(const char *name, const struct ws_range_row *row, size_t steps);

/* Adds the list of device work launched outside all ranges to the object, under `key`. Returns 0, or -1 if memory
 * runs out. */
int ws_ranges_outside_json(const struct ws_track_ranges *result, size_t steps, const char *key, json_t *object);

#endif
