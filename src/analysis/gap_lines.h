/* Gaps by what made them: cause, thread, and the line of code, or the function called where the trace knows no
 * line. */
#ifndef WALLSHIM_ANALYSIS_GAP_LINES_H
#define WALLSHIM_ANALYSIS_GAP_LINES_H

#include "analysis/gaps.h"
#include "base/map.h"

struct ws_gap_lines {
    const struct ws_process *process;
    struct ws_vector *rows; /* struct ws_gap_line */
    uint8_t *known;         /* what names of ranges are; see ws_source_range */
    struct ws_map places;   /* key → place in rows + 1 */
    uint64_t last_key;      /* gaps that follow each other are mostly of one line */
    uint64_t last_place;
};

/* Returns 0 or -ENOMEM. */
int ws_gap_lines_init(struct ws_gap_lines *lines, const struct ws_process *process, struct ws_vector *rows);
void ws_gap_lines_finish(struct ws_gap_lines *lines);

/* The row for what a thread (place in ws_ops.threads) did at a time of the host, INT64_MIN: not known, when it
 * called a function, 0: none. NULL when memory is out. Valid until the next put. */
struct ws_gap_line *ws_gap_lines_put(struct ws_gap_lines *lines, enum ws_part cause, uint32_t thread, int64_t time,
                                     uint32_t function);

/* Puts rows in order, most time first, and their places by run with them. Returns 0 or -ENOMEM. */
int ws_gap_lines_sort(struct ws_track_causes *causes);

#endif
