/* Which recordings are of one job.
 *
 * Two belong together where something ties them and nothing speaks against it.
 * - They are tied by the id that the launcher gave the job (Slurm's), by a communicator of NCCL that both are in,
 *   by a world size of more than one with ranks that differ, as parent and child on one host, or by the same program
 *   (its name, and the script that it runs) at the same time.
 * - Against it are ids, or world sizes, that differ, the same rank twice, and times that do not overlap: clocks of
 *   hosts differ and ranks need not begin together, so that ranks may lie a minute apart.
 * What a recording does not say neither ties nor speaks against. The processes of one file are of one job.
 */
#ifndef WALLSHIM_MODEL_JOBS_H
#define WALLSHIM_MODEL_JOBS_H

#include "model/model.h"

/* Gives each process of the model the number of its job, from 0 on, in the order in which they are found. Returns how
 * many there are, or -ENOMEM. */
int ws_jobs_find(const struct ws_model *model, uint32_t *jobs);

/* When a process was recorded, from its first call or operation to its last; ns of CLOCK_REALTIME. False where the
 * recording does not say. */
bool ws_process_span(const struct ws_process *process, int64_t *first, int64_t *last);

#endif
