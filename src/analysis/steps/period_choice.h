/* Chooses the level of repetition whose segments are the steps. */
#ifndef WALLSHIM_ANALYSIS_STEPS_PERIOD_CHOICE_H
#define WALLSHIM_ANALYSIS_STEPS_PERIOD_CHOICE_H

#include "analysis/steps/period_level.h"

/* Returns one of the levels, or NULL. Reorders the levels. Always sets *why_none: the reason that the report gives if
 * no steps are found later. */
const struct ws_period_level *ws_period_choose(const struct ws_period_text *text, struct ws_period_level *levels,
                                               size_t count, const char **why_none);

#endif
