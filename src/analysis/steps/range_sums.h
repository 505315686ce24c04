/* Sums the work of a device over ranges, for the analyses of ranges, operators and modules. ranges.h says what the
 * figures mean. */
#ifndef WALLSHIM_ANALYSIS_STEPS_RANGE_SUMS_H
#define WALLSHIM_ANALYSIS_STEPS_RANGE_SUMS_H

#include <stdbool.h>
#include <stddef.h>

#include "analysis/steps/ranges.h"

/* The deepest level of nesting that is kept. There is a limit because each operation is counted once per level. */
enum { WS_RANGES_DEEPEST = 64 };

/* Which ranges count, and how they form rows. */
struct ws_range_grouping {
    enum ws_range_kind kind; /* without a range of this kind there are no rows */
    enum ws_range_kind also; /* another kind that counts, or the same */

    /* A flat list has a row for each name. A tree has a row for each path of names: a range's row is below the row of
     * the range that encloses it. A row's `work` has the operations and the sum of its `own` and of its children's
     * `work` together. */
    bool tree;

    /* Returns the length of the row's name, and moves *name, which points to a label's text, to its begin. Returns 0
     * if ranges with this label do not count. NULL: all count, and the whole label is the name. */
    size_t (*name)(const char **name);
};

/* Fills a result that is all 0. Parents come before their children. Returns 0 or -ENOMEM. */
int ws_ranges_sum(const struct ws_report *report, size_t subject, const struct ws_range_grouping *grouping,
                  struct ws_track_ranges *result);

void ws_ranges_finish_sums(struct ws_track_ranges *result);

#endif
