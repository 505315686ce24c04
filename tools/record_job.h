/* Makes the folder of a job, and runs the collector of `wallshim record --job`: a process beside the command that
 * writes the traces of all of the command's processes into the folder. */
#ifndef WALLSHIM_TOOLS_RECORD_JOB_H
#define WALLSHIM_TOOLS_RECORD_JOB_H

#include <sys/types.h>

enum { TOOL_JOB_PATH = 4096 };

struct tool_job {
    char folder[TOOL_JOB_PATH]; /* path of the job's folder; "": no job was started */
    pid_t collector;            /* process id of the collector; 0: no collector runs */
    char socket[100];           /* path of the collector's socket */
    int input; /* write end of a pipe to the collector; once it is closed, the collector ends with the last program */
};

/* Makes the folder of a job and the folders above it. Stores the absolute path of the job's folder. Returns 0, or
 * TOOL_ERROR after a line on stderr. */
int tool_job_folder(const char *folder, char real[TOOL_JOB_PATH]);

/* Makes the folder, starts a collector for it, and passes its socket to the command in WALLSHIM_COLLECTOR. Also sets
 * WALLSHIM_OUTPUT, so that processes that do not reach the collector write their traces into the same folder. To be
 * called before LD_PRELOAD is set, or else the shim (the library that records) would be loaded into the collector,
 * too. `flight` and `slow_step` are values for the collector's switches of these names, or NULL. Returns 0, or
 * TOOL_ERROR after a line on stderr. */
int tool_job_start(struct tool_job *job, const char *folder, const char *flight, const char *slow_step);

/* Tells the collector to end, and waits a few seconds until it has ended. Does nothing if no job was started. */
void tool_job_end(struct tool_job *job);

#endif
