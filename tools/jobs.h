/* Of the recordings in a folder, those of one job. */
#ifndef WALLSHIM_TOOLS_JOBS_H
#define WALLSHIM_TOOLS_JOBS_H

#include "model/model.h"
#include "traces.h"

#define TOOL_JOBS_TEXT                                                                                         \
    "Recordings in a folder are taken for one job where they say so: the same job id of Slurm, a common "      \
    "communicator of NCCL, one world size with different ranks, parent and child, or the same program at the " \
    "same time; and nothing speaks against it: another id or world size, a rank twice, times that do not "     \
    "overlap. Of several jobs the newest is read; what is left out is named on stderr with how to read it. "   \
    "Recordings named one by one are one job whatever they say."

/* Leaves in the model only the newest of several jobs, where all traces were found in folders; says so on stderr, and
 * how the others are to be read. Returns 0, or TOOL_ERROR after a line on stderr. */
int tool_keep_one_job(struct ws_model *model, const struct tool_traces *traces);

#endif
