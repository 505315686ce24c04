/* Shows GEMMs and attention by size, and the reasons for slow GEMMs. */
#ifndef WALLSHIM_ANALYSIS_ROOFLINE_GEMMS_REPORT_H
#define WALLSHIM_ANALYSIS_ROOFLINE_GEMMS_REPORT_H

#include "analysis/roofline/gemms.h"

void ws_gemms_text(const struct ws_track_roofline *result, struct ws_page *page);

/* Adds the lists `products` (GEMMs) and `attention` to the JSON object `roofline`. Returns 0 or -ENOMEM. */
int ws_gemms_json(const struct ws_report *report, const struct ws_track_roofline *result, json_t *roofline);

#endif
