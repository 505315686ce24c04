/* Groups gaps by cause, thread and line of code. If the trace gives no line of code, gaps are grouped by called
 * function instead.
 */
#ifndef WALLSHIM_ANALYSIS_GAPS_GAP_LINES_H
#define WALLSHIM_ANALYSIS_GAPS_GAP_LINES_H

#include "analysis/gaps/gaps.h"
#include "base/map.h"

struct ws_gap_lines {
    const struct ws_process *process;
    struct ws_vector *rows; /* elements: struct ws_gap_line */
    /* cache for ws_source_at: by label, whether ranges with this label are functions of the program */
    uint8_t *known;
    struct ws_map places; /* maps a key (cause, thread, and line of code or function) to the index in `rows` + 1 */
    /* key of the last search, whose result is `last_place`; both are kept because consecutive gaps mostly have the
     * same key */
    uint64_t last_key;
    uint64_t last_place;
};

/* Returns 0 or -ENOMEM. */
int ws_gap_lines_init(struct ws_gap_lines *lines, const struct ws_process *process, struct ws_vector *rows);
void ws_gap_lines_finish(struct ws_gap_lines *lines);

/* Finds or adds the row for a cause, a thread (index in ws_ops.threads) and the place in the program where the thread
 * was. `time`: host time at which the thread caused the gap; INT64_MIN: not known. `reach`: maximum distance in ns
 * between `time` and a stack that shows this place. `function`: the function that the thread called at that time; 0:
 * none. Returns NULL if memory runs out. The returned row is valid until the next call of this function. */
struct ws_gap_line *ws_gap_lines_put(struct ws_gap_lines *lines, enum ws_part cause, uint32_t thread, int64_t time,
                                     int64_t reach, uint32_t function);

/* Sorts causes->lines by idle time in steady steps, largest first, and updates the indices in causes->run_lines.
 * Returns 0 or -ENOMEM. */
int ws_gap_lines_sort(struct ws_track_causes *causes);

#endif
