/* Advice on PyTorch's DistributedDataParallel if it broadcasts the model's buffers in each step.
 *
 * With broadcast_buffers=True, the default, the first rank sends the model's buffers (running means of batch norm) to
 * all ranks at the start of each forward pass. Most models do not need these broadcasts: their buffers are equal on
 * all ranks, or each rank may keep buffers of its own, or SyncBatchNorm keeps the buffers equal.
 *
 * A broadcast counts as a broadcast of buffers if no matrix kernel came earlier in its step, and no all-reduce of the
 * same communicator came between the step's first broadcast and this broadcast. A step counts only if an all-reduce
 * of this communicator follows its broadcasts. Broadcasts by the model's own code come later in the step, so they do
 * not count. The report names DistributedDataParallel as the cause if
 * - most broadcasts were launched in a range "DistributedDataParallel.forward", which PyTorch sets; or
 * - the first all-reduce comes at least a fifth of a step after the last broadcast. Such an all-reduce probably
 *   reduces gradients, because the backward pass comes late in a step. The all-reduces of tensor parallelism come
 *   right at the start of a step, in the forward pass. If only the second of these conditions holds, the report says
 *   that the cause is a guess. */
#ifndef WALLSHIM_ANALYSIS_COMM_BUFFER_BROADCASTS_H
#define WALLSHIM_ANALYSIS_COMM_BUFFER_BROADCASTS_H

#include "report/analysis.h"

/* Adds advice if broadcasts of buffers take a large enough part of a step. Writes to *saving the ns that a step would
 * save without these broadcasts, or 0 if there is no advice. Returns 0 or -ENOMEM. */
int ws_buffer_broadcasts_advise(const struct ws_report *report, size_t track, struct ws_advice_list *list,
                                int64_t *saving);

#endif
