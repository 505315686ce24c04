/* Where steps begin, once it is known how often. */
#ifndef WALLSHIM_ANALYSIS_PERIOD_CUT_H
#define WALLSHIM_ANALYSIS_PERIOD_CUT_H

#include "analysis/period_level.h"

/* Fills the period's steps. Returns 0 or -ENOMEM. */
int ws_period_cut(const struct ws_period_text *text, const struct ws_period_level *level, struct ws_period *period);

#endif
