/* The lines of the first section that show the walls' shares of a step. */
#ifndef WALLSHIM_ANALYSIS_VERDICT_WALL_TEXT_H
#define WALLSHIM_ANALYSIS_VERDICT_WALL_TEXT_H

#include "analysis/verdict/wall.h"
#include "report/page.h"

/* What a part of a step is spent on, worded as the end of a sentence. The words do not depend on the wall; those of
 * ws_verdict_spent_on do. */
const char *ws_part_spent(enum ws_part part);

/* Returns the time span of the figures: "an average step", "the only whole step" or "the recording". */
const char *ws_wall_unit(const struct ws_track_wall *wall);

/* The wall's time without the kernels that count for the wall only because of their names. */
int64_t ws_wall_sure(const struct ws_track_wall *wall, enum ws_wall of);

/* The part of a step whose wall the roofline does not know. */
int64_t ws_wall_unknown(const struct ws_track_wall *wall);

/* Writes ", where names suggest compute 25.0 %, bandwidth 5.1 %"; "" for less than 1 % of a step. */
void ws_wall_write_suggested(const struct ws_track_wall *wall, char *text, size_t capacity);

/* Prints the delays of the GPU that are not the wall but deserve a warning. */
void ws_wall_print_beside(const struct ws_track_wall *wall, struct ws_page *page);

/* Prints the shares of the walls according to the roofline, and the share that the roofline does not know. */
void ws_wall_print_shares(const struct ws_track_wall *wall, struct ws_page *page);

#endif
