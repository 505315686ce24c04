/* A report stores each result in report->results[index of the analysis * stride + subject]. A subject is what an
 * analysis looks at: a device, a process or the job (enum ws_scope). */
#ifndef WALLSHIM_REPORT_RESULTS_H
#define WALLSHIM_REPORT_RESULTS_H

#include "report/analysis.h"

/* Returns the number of subjects of a scope: the number of devices, the number of processes, or 1 for the job. */
size_t results_subjects(const struct ws_report *report, enum ws_scope scope);

/* Returns the number of subjects of the scope that has most subjects; at least 1. */
size_t results_stride(const struct ws_report *report);

/* Returns the index of an analysis in the report's list of analyses. The list must contain the analysis. */
size_t results_place(const struct ws_report *report, const struct ws_analysis *analysis);

#endif
