/* The parts of the first section, which the default page (summary.h) shows too. */
#ifndef WALLSHIM_ANALYSIS_VERDICT_VERDICT_H
#define WALLSHIM_ANALYSIS_VERDICT_VERDICT_H

#include "analysis/verdict/wall.h"
#include "report/analysis.h"

/* Width of the labels in the first section, in characters. */
enum { WS_VERDICT_LABEL = 22 };

/* What a part of a step is spent on, worded as the end of a sentence. A program that does not train may be a server,
 * which waits for requests rather than for input. */
const char *ws_verdict_spent_on(const struct ws_track_wall *wall, enum ws_part part);

/* The idle time of a step, without time that was not recorded. */
int64_t ws_verdict_idle(const struct ws_track_wall *wall);

/* Prints a table of the job's devices, and the name of the device that the verdict is on. Prints nothing for a single
 * device (verdict_devices.c). `shown` is WS_NOWHERE if there is no verdict. `note` is added to the line that names
 * the device. */
void ws_verdict_devices(const struct ws_report *report, size_t shown, const char *note, struct ws_page *page);

/* Prints the wall. If waiting for input is the wall, also prints the wall of the rest of the step. */
void ws_verdict_wall(const struct ws_report *report, size_t track, struct ws_page *page);

/* Prints the answers to the four questions, and the reasons why the answers are uncertain. */
void ws_verdict_questions(const struct ws_report *report, size_t track, struct ws_page *page);

/* How many pieces of advice are worth showing, `most` at most. */
size_t ws_verdict_advice(const struct ws_report *report, size_t track, size_t most);

#endif
