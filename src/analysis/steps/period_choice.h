/* Chooses the level of repetition whose segments are the steps. A level is a set of segments of operations that
 * resemble each other, such as layers, micro-batches or iterations (period.h). */
#ifndef WALLSHIM_ANALYSIS_STEPS_PERIOD_CHOICE_H
#define WALLSHIM_ANALYSIS_STEPS_PERIOD_CHOICE_H

#include "analysis/steps/period_level.h"

/* Returns one of the levels, or NULL if none can be the steps. Reorders the levels. Always sets *why_none. The report
 * shows this reason if no steps are found in the end. */
const struct ws_period_level *ws_period_choose(const struct ws_period_text *text, struct ws_period_level *levels,
                                               size_t count, const char **why_none);

#endif
