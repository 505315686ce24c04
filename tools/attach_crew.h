/* The crew: the launcher that `wallshim attach --all` names and its descendants, as far as they use CUDA. A worker (a
 * child process, attach_worker.h) records each of these processes. */
#ifndef WALLSHIM_TOOLS_ATTACH_CREW_H
#define WALLSHIM_TOOLS_ATTACH_CREW_H

#include "attach_worker.h"
#include "base/vector.h"
#include "record_job.h"

struct tool_member {
    struct ws_process_facts process;
    uint64_t start_time; /* distinguishes the process from later ones: the system uses process ids again */
    bool refused;        /* the process cannot be attached to, and was not touched */
    bool announced;      /* the user was told that the process is recorded */
    struct tool_worker worker;
    enum tool_worker_state state;
    struct tool_trace_file file;
};

struct tool_crew {
    const struct ws_process_facts *launcher;
    struct ws_attach_message wish; /* holds the value of the option `overhead` to record with */
    const char *wanted; /* path of the folder from --job; NULL: the folder is named NAME-PID after the launcher */
    char folder[TOOL_JOB_PATH]; /* absolute path of the folder; "": not made yet */
    bool made;     /* tool_crew_find has made the folder; false: the folder existed before, or is not made yet */
    sigset_t mask; /* signal mask of the workers */
    struct ws_vector members; /* elements: struct tool_member */
};

/* Looks at the launcher and all of its descendants. Starts a worker for each process that uses CUDA and has no
 * worker. Makes the folder before the first worker. Prints once why a process cannot be attached to. Returns 0, or
 * TOOL_ERROR after a line on stderr. */
int tool_crew_find(struct tool_crew *crew);

struct tool_member *tool_crew_member(const struct tool_crew *crew, size_t index);

/* Returns how many members that were not refused are in one of the states from `first` to `last`. */
size_t tool_crew_count(const struct tool_crew *crew, enum tool_worker_state first, enum tool_worker_state last);

/* Receives a message of the member's worker, or notices that the worker has ended. If the message says that the
 * recording has ended, returns the reason, in a static buffer; else NULL. Removes the trace's file if the worker ends
 * without a recording. */
const char *tool_crew_hear(struct tool_member *member);

/* Ends all workers' recordings. */
void tool_crew_end(const struct tool_crew *crew);

/* Frees the members. Removes the folder if tool_crew_find made it and nothing was recorded. */
void tool_crew_finish(struct tool_crew *crew);

#endif
