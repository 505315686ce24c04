/* The lines of the first section on how a step divides. */
#ifndef WALLSHIM_ANALYSIS_VERDICT_WALL_TEXT_H
#define WALLSHIM_ANALYSIS_VERDICT_WALL_TEXT_H

#include "analysis/verdict/wall.h"
#include "report/page.h"

/* What a part of a step is spent on, worded as the end of a sentence, whatever the wall (ws_verdict_spent_on knows
 * it). */
const char *ws_part_spent(enum ws_part part);

/* What the figures are of: "an average step", "the only whole step" or "the recording". */
const char *ws_wall_unit(const struct ws_track_wall *wall);

/* The wall's time without that of kernels which only their names put there. */
int64_t ws_wall_sure(const struct ws_track_wall *wall, enum ws_wall of);

/* The time whose wall the roofline does not know. */
int64_t ws_wall_unknown(const struct ws_track_wall *wall);

/* Writes ", where names suggest compute 25.0 %, bandwidth 5.1 %"; "" for less than 1 % of a step. */
void ws_wall_write_suggested(const struct ws_track_wall *wall, char *text, size_t capacity);

/* Prints the delays of the GPU that are no wall, but long enough for a warning. */
void ws_wall_print_beside(const struct ws_track_wall *wall, struct ws_page *page);

/* Prints the shares of the walls by the roofline, and what it does not know. */
void ws_wall_print_shares(const struct ws_track_wall *wall, struct ws_page *page);

#endif
