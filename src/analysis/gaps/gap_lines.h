/* Groups gaps by cause, thread and line of code. If the trace gives no line, the called function stands for the line.
 */
#ifndef WALLSHIM_ANALYSIS_GAPS_GAP_LINES_H
#define WALLSHIM_ANALYSIS_GAPS_GAP_LINES_H

#include "analysis/gaps/gaps.h"
#include "base/map.h"

struct ws_gap_lines {
    const struct ws_process *process;
    struct ws_vector *rows; /* struct ws_gap_line */
    uint8_t *known;         /* by label: whether ranges of this name are lines of code; see ws_source_at */
    struct ws_map places;   /* key → index in rows + 1 */
    uint64_t last_key;      /* last key, and its value in `places`: consecutive gaps mostly have the same line */
    uint64_t last_place;
};

/* Returns 0 or -ENOMEM. */
int ws_gap_lines_init(struct ws_gap_lines *lines, const struct ws_process *process, struct ws_vector *rows);
void ws_gap_lines_finish(struct ws_gap_lines *lines);

/* Finds or adds the row for a cause and a thread (index in ws_ops.threads). `time`: host time at which the thread
 * caused the gap; INT64_MIN: not known. `reach`: see ws_source_at. `function`: the function that the thread called at
 * that time; 0: none. Returns NULL if memory runs out. The row is valid until the next call. */
struct ws_gap_line *ws_gap_lines_put(struct ws_gap_lines *lines, enum ws_part cause, uint32_t thread, int64_t time,
                                     int64_t reach, uint32_t function);

/* Sorts the rows by time, largest first, and updates their indices in run_lines. Returns 0 or -ENOMEM. */
int ws_gap_lines_sort(struct ws_track_causes *causes);

#endif
