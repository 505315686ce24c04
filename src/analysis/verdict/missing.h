/* Tells which data the trace lacks that could change the verdict. The trace can lack three kinds of data: operations
 * that may have run in gaps with queued work, the operations of recorded launches, and the launches of recorded
 * operations. */
#ifndef WALLSHIM_ANALYSIS_VERDICT_MISSING_H
#define WALLSHIM_ANALYSIS_VERDICT_MISSING_H

#include "analysis/verdict/wall.h"

/* Decides whether data that was not recorded could change the wall (what limits the device most, wall.h). The wall
 * could change if the time that was not recorded is longer than the time of the wall, or if the trace holds only a
 * sample of the operations. If the wall could change, writes why there is no verdict. If not, writes "". */
void ws_missing_reason(const struct ws_report *report, size_t track, const struct ws_track_wall *wall,
                       char reason[WS_REASON_TEXT]);

/* Returns true if another profiler wrote the trace, and the trace lacks so much that the user must record again with
 * wallshim. */
bool ws_missing_needs_recording(const struct ws_report *report, size_t track, const struct ws_track_wall *wall);

/* The text of the report's first advice if ws_missing_needs_recording returns true. */
#define WS_RECORD_AGAIN "record again, with all operations: wallshim record -- COMMAND"

/* Prints how many operations were launched before the recording began, if there are many of them. The default page
 * (summary.h) does not call this function, because its first line already gives this number. */
void ws_missing_before_text(const struct ws_report *report, size_t track, struct ws_page *page);

/* Prints a line for each kind of missing data, except operations that were launched before the recording. */
void ws_missing_text(const struct ws_report *report, size_t track, const struct ws_track_wall *wall,
                     struct ws_page *page);

#endif
