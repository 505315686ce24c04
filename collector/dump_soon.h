/* Delays a dump until all processes of the job have sent what they had recorded. So the dump holds everything that
 * was recorded before it was requested. Processes that do not answer within a few seconds are not waited for. */
#ifndef WALLSHIM_COLLECTOR_DUMP_SOON_H
#define WALLSHIM_COLLECTOR_DUMP_SOON_H

#include "collector/dump.h"

struct client;
struct clients;

/* Queues a dump. Later dump_soon_look calls dump_begin for this dump. If dump_begin fails, `done` gets the error.
 * Returns 0; -ENODATA: the collector has nothing of the job in memory; -EALREADY: a dump of the job is queued
 * already; or -ENOMEM. */
int dump_soon(struct clients *clients, struct job *job, const struct dump_cause *cause, dump_done done, void *data);

/* To be called once a second, and after each answer of a process. Begins the dumps whose processes have all answered,
 * and those that have waited for 3 seconds. */
void dump_soon_look(struct clients *clients);

/* Begins all queued dumps now. */
void dump_soon_end(struct clients *clients);

/* Prevents dumps that were queued with this `data` from calling `done`. */
void dump_soon_forget(struct clients *clients, const void *data);

/* To be called after each frame of the client's trace. If the frame ends a slow step, queues a dump. */
void dump_slow_step(struct client *client);

#endif
