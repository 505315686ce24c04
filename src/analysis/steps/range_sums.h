/* Sums the work of a device over ranges, for the analyses of ranges, operators and modules. ranges.h defines the
 * figures. */
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
    enum ws_range_kind also; /* a second kind that counts, or the same kind again */

    /* A flat list has a row for each name. A tree has a row for each path of names: a range's row is below the row of
     * the range that encloses it. The operations and the `sum` of a row's `work` are those of its `own` plus those of
     * its children's `work`. */
    bool tree;

    /* Finds the row's name in the text of a label. *name points to the text and is moved to the begin of the row's
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
