/* What the trace lacks and what could change the verdict: time with queued work in which it shows nothing that ran,
 * operations and launches of which it has only one half. */
#ifndef WALLSHIM_ANALYSIS_VERDICT_MISSING_H
#define WALLSHIM_ANALYSIS_VERDICT_MISSING_H

#include "analysis/verdict/wall.h"

/* Decides whether the time that was not recorded could change the wall: it is larger than the wall, or the trace
 * holds only a sample of the operations. If so, writes why there is no verdict. Else writes "". */
void ws_missing_reason(const struct ws_report *report, size_t track, const struct ws_track_wall *wall,
                       char reason[WS_REASON_TEXT]);

/* Does only another recording help, since this one of another profiler lacks too much? */
bool ws_missing_needs_recording(const struct ws_report *report, size_t track, const struct ws_track_wall *wall);

/* Prints a line for each thing that is missing. */
void ws_missing_text(const struct ws_report *report, size_t track, const struct ws_track_wall *wall,
                     struct ws_page *page);

#endif
