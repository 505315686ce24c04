/* Chooses the level of repetition that is the steps'. */
#ifndef WALLSHIM_ANALYSIS_STEPS_PERIOD_CHOICE_H
#define WALLSHIM_ANALYSIS_STEPS_PERIOD_CHOICE_H

#include "analysis/steps/period_level.h"

/* Returns one of the levels, or NULL. Reorders the levels. Sets *why_none to the reason to give if no steps are
 * found. */
const struct ws_period_level *ws_period_choose(const struct ws_period_text *text, struct ws_period_level *levels,
                                               size_t count, const char **why_none);

#endif
