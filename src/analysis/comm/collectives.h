/* Reports the cost of communication on a device, and gives advice on it. */
#ifndef WALLSHIM_ANALYSIS_COMM_COLLECTIVES_H
#define WALLSHIM_ANALYSIS_COMM_COLLECTIVES_H

#include "report/analysis.h"

/* defined in collectives_report.c */
void ws_comm_collectives_text(const struct ws_report *report, size_t subject, const void *memory,
                              struct ws_page *page);
int ws_comm_collectives_advise(const struct ws_report *report, size_t subject, const void *memory,
                               struct ws_advice_list *list);
int ws_comm_collectives_json(const struct ws_report *report, size_t subject, const void *memory, json_t *object);

#endif
