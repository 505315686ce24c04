/* Sums the work of a device over ranges, for the analyses of ranges, operators and modules. ranges.h defines the sums
 * (`busy`, `sum`, `idle` …). */
#ifndef WALLSHIM_ANALYSIS_STEPS_RANGE_SUMS_H
#define WALLSHIM_ANALYSIS_STEPS_RANGE_SUMS_H

#include <stdbool.h>
#include <stddef.h>

#include "analysis/steps/ranges.h"

/* At most this many nested levels of ranges are kept. Each operation is added to the ranges of all levels around it,
 * which would take too long without a limit. */
enum { WS_RANGES_DEEPEST = 64 };

/* Which ranges count, and how they form the rows of the result. */
struct ws_range_grouping {
    enum ws_range_kind kind; /* ranges of this kind count; if there are none, there are no rows */
    enum ws_range_kind also; /* ranges of this kind count too; equal to `kind` if only one kind of ranges counts */

    /* A flat list has a row for each name. A tree has a row for each path of names: a range's row is below the row of
     * the range that encloses it. In a tree, `operations` and `sum` of a row's `work` are computed by adding those of
     * the row's `own` and those of the `work` of its children. */
    bool tree;

    /* Finds the row's name in the text of a label. *name points to the text and is moved to the start of the row's
     * name. Returns the length of the row's name, or 0 if ranges with this label do not count. If the function is
     * NULL, all ranges count, and the row's name is the whole text. */
    size_t (*name)(const char **name);
};

/* Fills `result`, which must be all 0 before the call. Parent rows come before their children. Returns 0 or
 * -ENOMEM. */
int ws_ranges_sum(const struct ws_report *report, size_t subject, const struct ws_range_grouping *grouping,
                  struct ws_track_ranges *result);

void ws_ranges_finish_sums(struct ws_track_ranges *result);

#endif
