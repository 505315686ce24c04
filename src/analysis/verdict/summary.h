/* The report that is shown by default. It shows the recording, the wall, the advice and the heaviest kernels on one
 * page.
 *
 * The report has at most WS_SUMMARY_LINES lines on a page of 100 columns. If the report would be longer, it shows
 * fewer kernels and devices, and then less advice. */
#ifndef WALLSHIM_ANALYSIS_VERDICT_SUMMARY_H
#define WALLSHIM_ANALYSIS_VERDICT_SUMMARY_H

#include "report/analysis.h"

enum { WS_SUMMARY_LINES = 40 };

void ws_summary_print(const struct ws_report *report, struct ws_page *page);

#endif
