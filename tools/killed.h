/* Completes traces of programs that were killed before they had written everything. */
#ifndef WALLSHIM_TOOLS_KILLED_H
#define WALLSHIM_TOOLS_KILLED_H

/* If the program that wrote the trace was killed, completes the trace from the program's live memory (a file in which
 * it kept what the trace lacks), and says so on stderr. The link PATH.live points to that memory. */
void tool_complete_killed(const char *path);

#endif
