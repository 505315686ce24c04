/* Runs the analyses of a report in parallel, each as soon as the analyses that it needs have finished. */
#ifndef WALLSHIM_REPORT_RUN_H
#define WALLSHIM_REPORT_RUN_H

#include "report/analysis.h"

/* Fills report->results with this many threads, but at most 17. Returns 0 or -errno. */
int ws_report_run(struct ws_report *report, unsigned threads);

#endif
