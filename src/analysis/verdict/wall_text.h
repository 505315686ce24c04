/* Texts about walls (what can limit the device; wall.h), and the lines of the report's first section that show each
 * wall's share of a step. */
#ifndef WALLSHIM_ANALYSIS_VERDICT_WALL_TEXT_H
#define WALLSHIM_ANALYSIS_VERDICT_WALL_TEXT_H

#include "analysis/verdict/wall.h"
#include "report/page.h"

/* Returns what a part of a step is spent on, as the end of a sentence ("waiting for input"). Unlike the text of
 * ws_verdict_spent_on, this text is the same for all programs. */
const char *ws_part_spent(enum ws_part part);

/* Returns the period of time that the times in `wall` cover: "an average step", "the only whole step" or "the
 * recording". */
const char *ws_wall_unit(const struct ws_track_wall *wall);

/* Like ws_wall_unit, but if the verdict leaves out the idle time of first-call initialization, returns "the rest of
 * an average step", "the rest of the only whole step" or "the rest of the recording". */
const char *ws_wall_judged(const struct ws_track_wall *wall);

/* Returns a short name of the time that the printed shares refer to: "a step", "the recording", or "the rest" if idle
 * time of first-call initialization is left out. */
const char *ws_wall_base(const struct ws_track_wall *wall);

/* Returns the ns of the wall `of`, without the kernels that count for this wall only because of their names. */
int64_t ws_wall_sure(const struct ws_track_wall *wall, enum ws_wall of);

/* Returns the ns of those kernels and CUDA graphs in a step for which the roofline gives no wall. */
int64_t ws_wall_unknown(const struct ws_track_wall *wall);

/* Writes ", where names suggest compute 25.0 %, bandwidth 5.1 %". Writes "" if the kernels that only their names
 * assign to a wall take 1 % of a step or less. */
void ws_wall_write_suggested(const struct ws_track_wall *wall, char *text, size_t capacity);

/* Prints the delays of the GPU (overhead, communication) that are not the verdict but are long enough for a
 * warning. */
void ws_wall_print_beside(const struct ws_track_wall *wall, struct ws_page *page);

/* Prints each wall's share of a step according to the roofline, and the share for which the roofline gives no
 * wall. */
void ws_wall_print_shares(const struct ws_track_wall *wall, struct ws_page *page);

#endif
