/* A report stores each result in report->results[index of the analysis * stride + subject]. */
#ifndef WALLSHIM_REPORT_RESULTS_H
#define WALLSHIM_REPORT_RESULTS_H

#include "report/analysis.h"

/* The number of subjects of a scope: devices, processes, or 1 for the job. */
size_t results_subjects(const struct ws_report *report, enum ws_scope scope);

/* The number of subjects of the largest scope, at least 1. */
size_t results_stride(const struct ws_report *report);

/* The index of an analysis in the report's list of analyses. The list must contain the analysis. */
size_t results_place(const struct ws_report *report, const struct ws_analysis *analysis);

#endif
