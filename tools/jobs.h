/* Selects the recordings of one job in a folder. */
#ifndef WALLSHIM_TOOLS_JOBS_H
#define WALLSHIM_TOOLS_JOBS_H

#include "model/model.h"
#include "traces.h"

#define TOOL_JOBS_TEXT                                                                                               \
    "Recordings in a folder count as one job where something ties them: the same Slurm job id, a common NCCL "       \
    "communicator, one world size with different ranks, parent and child, one attach --all, or the same program at " \
    "the same time. "                                                                                                \
    "Different job ids or world sizes, the same rank twice, or times that do not overlap keep them apart. Of "       \
    "several jobs the newest is read; stderr names the others. Recordings named one by one count as one job."

/* If all traces were found in folders and belong to several jobs, keeps only the newest job in the model. Lists the
 * other jobs on stderr, and says how to read them. Returns 0, or TOOL_ERROR after a line on stderr. */
int tool_keep_one_job(struct ws_model *model, const struct tool_traces *traces);

#endif
