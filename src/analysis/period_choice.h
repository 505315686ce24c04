/* Which of several levels of repetition is that of the steps. */
#ifndef WALLSHIM_ANALYSIS_PERIOD_CHOICE_H
#define WALLSHIM_ANALYSIS_PERIOD_CHOICE_H

#include "analysis/period_level.h"

/* One of the levels, which are put in another order; or NULL. Says why, were there to be no steps after all. */
const struct ws_period_level *ws_period_choose(const struct ws_period_text *text, struct ws_period_level *levels,
                                               size_t count, const char **why_none);

#endif
