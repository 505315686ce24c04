/* The collector that `wallshim record --job` runs beside the command. */
#ifndef WALLSHIM_TOOLS_RECORD_JOB_H
#define WALLSHIM_TOOLS_RECORD_JOB_H

#include <sys/types.h>

struct tool_job {
    char folder[4096]; /* of the job; "": there is none */
    pid_t collector;   /* 0: none runs */
    char socket[100];  /* path */
    int input;         /* the collector ends when this is closed, and the last program has gone */
};

/* Makes the folder, starts a collector for it, and passes its socket to the command in WALLSHIM_COLLECTOR. Sets
 * WALLSHIM_OUTPUT as well, so that traces that do not reach the collector go to the same folder. To be called before
 * LD_PRELOAD is set. Returns 0, or TOOL_ERROR after a line on stderr. */
int tool_job_start(struct tool_job *job, const char *folder);

/* Lets the collector end, and waits a while for that. Accepts a job that was not started. */
void tool_job_end(struct tool_job *job);

#endif
