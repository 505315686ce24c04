/* A line on a terminal that shows the progress of long work. */
#ifndef WALLSHIM_TOOLS_PROGRESS_H
#define WALLSHIM_TOOLS_PROGRESS_H

#include <stdint.h>

struct tool_progress {
    int64_t started; /* when the work started, in ns; 0: stderr is not a terminal, and nothing is shown */
    int64_t shown;   /* when the line was last shown, in ns; 0: the line is not on the terminal */
};

void tool_progress_start(struct tool_progress *progress);

/* Shows "what 42 %". */
void tool_progress_say(struct tool_progress *progress, const char *what, uint64_t done, uint64_t total);

/* Shows "what 42 MB", for work whose total is not known. */
void tool_progress_count(struct tool_progress *progress, const char *what, uint64_t bytes);

/* A ws_progress callback that shows the progress of reading. */
void tool_progress_show(void *progress, uint64_t done, uint64_t total);

void tool_progress_end(struct tool_progress *progress);

/* Removes the line. Safe in a signal handler. */
void tool_progress_clear(void);

#endif
