/* Prints the section Roofline, writes it to JSON, and gives advice on GEMMs. */
#ifndef WALLSHIM_ANALYSIS_ROOFLINE_ROOFLINE_REPORT_H
#define WALLSHIM_ANALYSIS_ROOFLINE_ROOFLINE_REPORT_H

#include "report/analysis.h"

void ws_roofline_text(const struct ws_report *report, size_t subject, const void *memory, struct ws_page *page);
int ws_roofline_advise(const struct ws_report *report, size_t subject, const void *memory,
                       struct ws_advice_list *list);
int ws_roofline_json(const struct ws_report *report, size_t subject, const void *memory, json_t *object);

#endif
