/* Remains are what a process leaves when its connection ends without GOODBYE: its live memory, which it shares with
 * the collector and which holds the records that it had not sent (record/live.h). Once the process has ended, the
 * collector completes the process's trace from that memory. */
#ifndef WALLSHIM_COLLECTOR_REMAINS_H
#define WALLSHIM_COLLECTOR_REMAINS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <uv.h>

#include "collector/job.h"
#include "collector/figures.h"

struct remains;

/* The remains of all processes whose connections ended without GOODBYE. */
struct remains_list {
    struct remains *first;
    uv_loop_t *loop;
    struct figures *figures; /* counts salvaged records; may be NULL */
};

/* Checks the descriptor that came with HELLO. Returns it; or closes it and returns -1 if it cannot be read safely. */
int remains_check(int memory);

/* Does the live memory `memory` (a descriptor) hold data that the trace may lack? `memory` may be -1. */
bool remains_are_due(int memory);

/* Keeps the live memory until the process has ended, and then completes the trace. The recording counts as open until
 * the trace is completed. Takes over `memory`, unless it returns false because memory has run out. */
bool remains_keep(struct remains_list *list, int memory, pid_t pid, struct job *job, struct recording *recording);

/* To be called when the process reconnects and so sends the rest of its trace itself: drops its live memory. Returns
 * false if its trace is just being completed. */
bool remains_drop(struct remains_list *list, const struct recording *recording);

/* To be called once a second. Completes the traces of processes that have ended, or that have called exec and live
 * on as another program. */
void remains_tick(struct remains_list *list);

/* To be called when the collector ends. Completes the traces of processes that have ended. Drops the live memory of
 * the other processes. */
void remains_end(struct remains_list *list);

#endif
