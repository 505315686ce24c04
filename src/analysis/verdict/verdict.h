/* The parts of the first section, which the default page (summary.h) shows too. */
#ifndef WALLSHIM_ANALYSIS_VERDICT_VERDICT_H
#define WALLSHIM_ANALYSIS_VERDICT_VERDICT_H

#include "report/analysis.h"
#include "report/page.h"

/* Widths of the labels of facts, which the page keeps meanwhile. */
enum { WS_VERDICT_LABEL = 22 };

/* Prints a table of the job's devices, and which of them the verdict is on. Prints nothing for a single device.
 * `shown` is WS_NOWHERE if there is no verdict. */
void ws_verdict_devices(const struct ws_report *report, size_t shown, struct ws_page *page);

/* Prints the wall, and the wall behind it. */
void ws_verdict_wall(const struct ws_report *report, size_t track, struct ws_page *page);

/* Prints the answers to the four questions, and what makes them uncertain. */
void ws_verdict_questions(const struct ws_report *report, size_t track, struct ws_page *page);

/* How many pieces of advice are worth showing, `most` at most. */
size_t ws_verdict_advice(const struct ws_report *report, size_t track, size_t most);

#endif
