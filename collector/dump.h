/* A dump is a folder within a job's folder. It holds a trace of each process of the job, made of the last frames that
 * the collector had in memory (the flight recorder, flight.h). */
#ifndef WALLSHIM_COLLECTOR_DUMP_H
#define WALLSHIM_COLLECTOR_DUMP_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "collector/flight.h"
#include "collector/job.h"

enum { DUMPS_AN_HOUR = 6 }; /* most dumps of each kind in an hour; DUMP_REQUEST has no limit */

/* Why dumps are written. X(NAME, "word"): the word is a part of the folder's name. */
#define DUMP_KINDS(X)     \
    X(REQUEST, "request") \
    X(HANG, "hang")       \
    X(SLOW_STEP, "slow-step")

enum dump_kind {
#define DUMP_KIND(name, word) DUMP_##name,
    DUMP_KINDS(DUMP_KIND)
#undef DUMP_KIND
        DUMP_KIND_COUNT
};

/* Returns the kind's word in DUMP_KINDS. */
const char *dump_word(enum dump_kind kind);

struct dump;
struct dump_wait;

struct dumps {
    uv_loop_t *loop;
    struct flight_memory flights; /* without --flight, its window_ms is 0 and traces go to files */
    struct dump *first;           /* list of the dumps that are being written */
    struct dump_wait *waiting;    /* list of the dumps that wait for answers of processes (dump_soon.h) */
    uint64_t hour_ms; /* start of the hour in which in_hour counts dumps, in ms of uv_now(); 0: no dump yet */
    unsigned in_hour[DUMP_KIND_COUNT];
    uint64_t written[DUMP_KIND_COUNT];
};

struct dump_cause {
    enum dump_kind kind;
    const char *text; /* the cause, in one sentence */
    const char *more; /* content of a text file hang.txt; NULL: there is none */
};

struct dump_result {
    const char *folder; /* path of the dump's folder; only the job's name if the dump could not be started */
    unsigned traces;
    uint64_t bytes;
    int error; /* 0, or the -errno of the first failure */
};

/* Called when the dump is written, or when writing it has failed. */
typedef void (*dump_done)(void *data, const struct dump_result *result);

/* Starts to write a dump in another thread. `done` may be NULL. Returns 0; -ENODATA: the collector has nothing of the
 * job in memory; -EALREADY: a dump of the job is being written; -EDQUOT: there were too many dumps of this kind this
 * hour; or -errno. */
int dump_begin(struct dumps *dumps, struct job *job, const struct dump_cause *cause, dump_done done, void *data);

/* Prevents dumps that were begun with this `data` from calling `done`. */
void dumps_forget(struct dumps *dumps, const void *data);

/* To be called once a second. Drops frames that came more than flights.window_ms before the newest frame of their
 * family, and all frames of processes that ended minutes ago. */
void dumps_tick(struct dumps *dumps, struct jobs *jobs);

/* Waits until all dumps are written. */
void dumps_end(struct dumps *dumps);

#endif
