/* Groups recordings into jobs.
 *
 * Two recordings belong to one job if at least one tie connects them and no refutation separates them.
 * - Ties: the same job id of the launcher (Slurm); a common NCCL communicator; the same world size above 1 with
 *   different ranks; parent and child on one host; the same program and script at the same time; a manifest that says
 *   that `wallshim attach --all` recorded both (then times need not overlap).
 * - Refutations: different job ids or world sizes; the same rank; times that do not overlap. Between different ranks
 *   or hosts a gap of up to a minute is allowed, because clocks differ between hosts and ranks may start late.
 * A fact that a recording lacks is ignored. All processes of one file belong to one job. */
#ifndef WALLSHIM_MODEL_JOBS_H
#define WALLSHIM_MODEL_JOBS_H

#include "model/model.h"

/* Stores the number of each process's job in `jobs`. Jobs are numbered from 0 in order of discovery. Returns the
 * number of jobs, or -ENOMEM. */
int ws_jobs_find(const struct ws_model *model, uint32_t *jobs);

/* Stores CLOCK_REALTIME minus CLOCK_MONOTONIC at the recording's start, in ns. Returns false if the difference is not
 * known. */
bool ws_process_realtime(const struct ws_process *process, int64_t *offset);

/* Stores the times of the recording's first and last call or operation, in ns of CLOCK_REALTIME. Returns false if the
 * recording lacks these times. */
bool ws_process_span(const struct ws_process *process, int64_t *first, int64_t *last);

#endif
