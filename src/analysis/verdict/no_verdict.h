/* Texts that tell why there is no verdict: device times are missing, or the trace has no device activity at all. */
#ifndef WALLSHIM_ANALYSIS_VERDICT_NO_VERDICT_H
#define WALLSHIM_ANALYSIS_VERDICT_NO_VERDICT_H

#include "report/analysis.h"

enum { WS_UNTIMED_TEXT = 120 };

/* Writes "25 of 1,000 operations have no device times (2.5 %)" if `verb` is "have no device times". Writes only the
 * numbers if `verb` is "". Writes "" if all operations have device times, or if none has. */
void ws_untimed_write(const struct ws_report *report, size_t track, const char *verb, char text[WS_UNTIMED_TEXT]);

/* Prints that there is no verdict on any device, and why. */
void ws_no_verdict_text(const struct ws_report *report, struct ws_page *page);

#endif
