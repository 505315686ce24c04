/* The contents of the trace: the program and its devices, the number of operations of each kind, and the time from
 * the first host call to the last. */
#ifndef WALLSHIM_ANALYSIS_ACTIVITY_OVERVIEW_H
#define WALLSHIM_ANALYSIS_ACTIVITY_OVERVIEW_H

#include "analysis/activity/recording_cost.h"
#include "report/analysis.h"

struct ws_process_overview {
    int64_t first, last; /* earliest and latest host time of all operations and calls, ns; first > last: none */
    uint64_t by_kind[WS_OP_KIND_COUNT];
    uint64_t captured, failed;
    struct ws_recording_cost cost;
};

extern const struct ws_analysis ws_analysis_overview;

/* defined in overview_report.c */
void ws_overview_text(const struct ws_report *report, size_t subject, const void *memory, struct ws_page *page);
int ws_overview_json(const struct ws_report *report, size_t subject, const void *memory, json_t *object);

#endif
