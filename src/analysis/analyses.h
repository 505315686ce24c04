/* The list of all analyses. It is an argument of ws_report_create. */
#ifndef WALLSHIM_ANALYSIS_ANALYSES_H
#define WALLSHIM_ANALYSIS_ANALYSES_H

#include "report/report.h"

extern const struct ws_analyses ws_all_analyses;

#endif
