/* The report that the command prints by default, on one page. It shows facts about the recording, the wall (what
 * limits the device most), advice, and the kernels that take most time.
 *
 * The report has at most WS_SUMMARY_LINES lines on a page of 100 columns. If the report would be longer, it shows
 * fewer kernels and less advice, and then fewer devices. */
#ifndef WALLSHIM_ANALYSIS_VERDICT_SUMMARY_H
#define WALLSHIM_ANALYSIS_VERDICT_SUMMARY_H

#include "report/analysis.h"

enum { WS_SUMMARY_LINES = 40 };

void ws_summary_print(const struct ws_report *report, struct ws_page *page);

#endif
