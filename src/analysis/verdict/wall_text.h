/* The lines of the first section on how a step divides. */
#ifndef WALLSHIM_ANALYSIS_VERDICT_WALL_TEXT_H
#define WALLSHIM_ANALYSIS_VERDICT_WALL_TEXT_H

#include "analysis/verdict/wall.h"
#include "report/page.h"

/* What a part of a step is spent on, worded as the end of a sentence. The second function knows the wall, too. */
const char *ws_part_spent(enum ws_part part);
const char *ws_wall_spent_on(const struct ws_track_wall *wall, enum ws_part part);

/* Prints the delays of the GPU that are no wall, but long enough for a warning. */
void ws_wall_print_beside(const struct ws_track_wall *wall, struct ws_page *page);

/* Prints the shares of the walls by the roofline, and what it does not know. */
void ws_wall_print_shares(const struct ws_track_wall *wall, struct ws_page *page);

#endif
