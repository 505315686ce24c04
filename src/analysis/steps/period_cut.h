/* Cuts operations into steps. Each step begins with the same operation. */
#ifndef WALLSHIM_ANALYSIS_STEPS_PERIOD_CUT_H
#define WALLSHIM_ANALYSIS_STEPS_PERIOD_CUT_H

#include "analysis/steps/period_level.h"

/* Fills period->steps with the start of each step. Returns 0 or -ENOMEM. */
int ws_period_cut(const struct ws_period_text *text, const struct ws_period_level *level, struct ws_period *period);

#endif
