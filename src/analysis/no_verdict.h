/* What a verdict lacks: times of operations, or all that it would be of. */
#ifndef WALLSHIM_ANALYSIS_NO_VERDICT_H
#define WALLSHIM_ANALYSIS_NO_VERDICT_H

#include "analysis/registry.h"

enum { WS_UNTIMED_TEXT = 120 };

/* "25 of 1,000 operations have no device times (2.5 %)", with "have no device times" for the verb, or with "" only
 * the numbers; empty where all have times, or none has. */
void ws_untimed_write(const struct ws_report *report, size_t track, const char *verb, char text[WS_UNTIMED_TEXT]);

/* Says that there is no verdict on any device, and why. */
void ws_no_verdict_text(const struct ws_report *report, struct ws_page *page);

#endif
