/* Functions that print the parts of the report's first section. The default page (summary.h) shows these parts
 * too. */
#ifndef WALLSHIM_ANALYSIS_VERDICT_VERDICT_H
#define WALLSHIM_ANALYSIS_VERDICT_VERDICT_H

#include "analysis/verdict/wall.h"
#include "report/analysis.h"

/* Width of the labels in the report's first section, in characters. */
enum { WS_VERDICT_LABEL = 22 };

/* Percent of a step. The report names exposed copies and exposed communication if they take at least this share, even
 * if another part of the step takes more. */
enum { WS_VERDICT_MOVING = 15 };

/* Per mille of a step, or of the recording. The report shows only advice that saves more than WS_ADVICE_PER_MILLE.
 * The default page has less room, so its limit WS_ADVICE_PER_MILLE_OF_PAGE is higher. */
enum { WS_ADVICE_PER_MILLE = 10, WS_ADVICE_PER_MILLE_OF_PAGE = 20 };

/* Returns what a part of a step is spent on, as the end of a sentence ("waiting for input"). If the program does not
 * train, it may be a server, so the text for waits for input also mentions requests. */
const char *ws_verdict_spent_on(const struct ws_track_wall *wall, enum ws_part part);

/* Returns the idle time of a step in ns, without time that was not recorded. */
int64_t ws_verdict_idle(const struct ws_track_wall *wall);

/* Prints a table of the job's devices, and the name of the device that the verdict is on. Prints nothing if the job
 * has one device (verdict_devices.c). `shown` is the index of the device that the verdict is on, or WS_NOWHERE.
 * `note` is added to the line that names the device. */
void ws_verdict_devices(const struct ws_report *report, size_t shown, const char *note, struct ws_page *page);

/* Prints the wall (what limits the device most). If waiting for input is the wall, also prints the wall of the rest
 * of the step. */
void ws_verdict_wall(const struct ws_report *report, size_t track, struct ws_page *page);

/* Prints the answers to the four questions of the first section, and the reasons why the answers are uncertain
 * (questions.c). */
void ws_verdict_questions(const struct ws_report *report, size_t track, struct ws_page *page);

/* Returns the number of pieces of advice that save more than `per_mille` of a step, but at most `most`. */
size_t ws_verdict_advice(const struct ws_report *report, size_t track, int per_mille, size_t most);

#endif
