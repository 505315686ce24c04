/* Traces of programs that were killed: what they had not written yet. */
#ifndef WALLSHIM_TOOLS_KILLED_H
#define WALLSHIM_TOOLS_KILLED_H

/* If the program that wrote the trace was killed, completes the trace from the program's live memory, and says so on
 * stderr. The link PATH.live names that memory. */
void tool_complete_killed(const char *path);

#endif
