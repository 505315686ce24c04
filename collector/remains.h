/* What a process leaves when its connection ends without GOODBYE: its live memory (record/live.h). Once the process
 * has ended, the collector completes the trace from it. */
#ifndef WALLSHIM_COLLECTOR_REMAINS_H
#define WALLSHIM_COLLECTOR_REMAINS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <uv.h>

#include "collector/job.h"
#include "collector/figures.h"

struct remains;

/* All of them. */
struct remains_list {
    struct remains *first;
    uv_loop_t *loop;
    struct figures *figures; /* counts what is salvaged; NULL: nobody asks */
};

/* Takes the descriptor that came with HELLO. Returns it; or -1, with the descriptor closed, if it is no live memory
 * that could be read safely. */
int remains_check(int memory);

/* Has the process left something in its live memory? */
bool remains_are_due(int memory);

/* Takes over the descriptor. The recording counts as open until the trace is complete. Returns false if there is no
 * memory for it. */
bool remains_keep(struct remains_list *list, int memory, pid_t pid, struct job *job, struct recording *recording);

/* The process has connected again. Returns false if its trace is being completed. */
bool remains_drop(struct remains_list *list, const struct recording *recording);

/* Called once a second: some processes live on, but have left the trace, by exec. */
void remains_tick(struct remains_list *list);

/* Completes the traces of processes that have ended, now; forgets the others. */
void remains_end(struct remains_list *list);

#endif
