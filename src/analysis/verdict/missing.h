/* Data that the trace lacks and that could change the verdict. Three kinds of data can be missing: operations during
 * a time in which work was queued, operations of recorded launches, and launches of recorded operations. */
#ifndef WALLSHIM_ANALYSIS_VERDICT_MISSING_H
#define WALLSHIM_ANALYSIS_VERDICT_MISSING_H

#include "analysis/verdict/wall.h"

/* Decides whether data that was not recorded could change the wall. This is possible if the time that was not
 * recorded is longer than the time of the wall, or if the trace holds only a sample of the operations. If it is
 * possible, writes why there is no verdict. Otherwise writes "". */
void ws_missing_reason(const struct ws_report *report, size_t track, const struct ws_track_wall *wall,
                       char reason[WS_REASON_TEXT]);

/* Does the user need another recording, because this recording by another profiler lacks too much? */
bool ws_missing_needs_recording(const struct ws_report *report, size_t track, const struct ws_track_wall *wall);

/* Prints a line for each kind of data that is missing. */
void ws_missing_text(const struct ws_report *report, size_t track, const struct ws_track_wall *wall,
                     struct ws_page *page);

#endif
