/* Shows the causes of gaps, and the lines of code that caused the gaps. */
#ifndef WALLSHIM_ANALYSIS_GAPS_GAP_REPORT_H
#define WALLSHIM_ANALYSIS_GAPS_GAP_REPORT_H

#include "analysis/gaps/gaps.h"

/* ws_gap_mean returns the idle time in ns, and ws_gap_count_text writes the number of gaps. Both are means per steady
 * step (usual step of the main loop), or figures of the whole recording if there are no steady steps. */
int64_t ws_gap_mean(const struct ws_track_causes *causes, const struct ws_track_steps *steps,
                    const struct ws_gap_total *total);
const char *ws_gap_count_text(const struct ws_track_causes *causes, const struct ws_track_steps *steps,
                              const struct ws_gap_total *total, char text[WS_FORMAT_SIZE]);

/* Adds the keys count, total_ns and per_step_ns of a total to `row`. Returns 0, or another value if memory runs
 * out. */
int ws_gap_total_json(json_t *row, const struct ws_gap_total *total, const struct ws_track_causes *causes,
                      const struct ws_track_steps *steps);

/* Prints the causes of gaps, largest saving first, then the lines of code or calls that caused gaps, and up to three
 * of their stacks. */
void ws_gap_causes_text(const struct ws_report *report, size_t track, struct ws_page *page);

/* Adds the keys gap_causes, together_saving_ns, gaps_without_host_ns and gaps_within_error_ns to `object`. Returns 0,
 * or another value if memory runs out. */
int ws_gap_causes_json(const struct ws_report *report, size_t track, json_t *object);

/* Adds two keys to `row`: line (the place in the program that caused the gaps) and function (the driver function that
 * was called there). Returns 0, or another value if memory runs out. */
int ws_gap_line_json(json_t *row, const struct ws_process *process, const struct ws_gap_line *line);

#endif
