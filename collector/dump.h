/* Dumps: what the flight recorders of a job (flight.h) hold, written into a folder within the job's folder. */
#ifndef WALLSHIM_COLLECTOR_DUMP_H
#define WALLSHIM_COLLECTOR_DUMP_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "collector/flight.h"
#include "collector/job.h"

enum { DUMPS_AN_HOUR = 6 }; /* that nobody asked for */

struct dump;

struct dumps {
    uv_loop_t *loop;
    struct flight_memory flights; /* window_ms 0: there is no flight recorder, and traces go to files */
    struct dump *first;           /* those that are being written */
    uint64_t hour_ms;             /* when the hour began, in ms of the loop */
    unsigned in_hour;
    uint64_t written;
};

struct dump_cause {
    const char *word; /* "request", "slow-step" or "hang": a part of the folder's name */
    const char *text; /* why, in one sentence */
    bool automatic;   /* counts for DUMPS_AN_HOUR */
    const char *more; /* content of a text file hang.txt; NULL: there is none */
};

struct dump_result {
    const char *folder; /* its path */
    unsigned traces;
    uint64_t bytes;
    int error; /* -errno of the first trace that could not be written */
};

/* Called when all is written. */
typedef void (*dump_done)(void *data, const struct dump_result *result);

/* Begins to write. Another thread does the work. `done` may be NULL. Returns 0; -ENODATA: the job has nothing in
 * memory; -EALREADY: a dump of the job is being written; -EDQUOT: there were too many dumps this hour; or -errno. */
int dump_begin(struct dumps *dumps, struct job *job, const struct dump_cause *cause, dump_done done, void *data);

/* Nobody is to be told of dumps that this data was given for. */
void dumps_forget(struct dumps *dumps, const void *data);

/* To be called once a second: forgets what is older than the window, and what processes left that ended long ago. */
void dumps_tick(struct dumps *dumps, struct jobs *jobs);

/* Waits until all are written. */
void dumps_end(struct dumps *dumps);

#endif
