/* Uses the program's ranges to tell whether a repeated sequence of operations is an iteration, or only a part of an
 * iteration such as a layer.
 *
 * The operations alone do not always distinguish a block of a model from an iteration: each block may even copy its
 * weights from the host. Ranges distinguish them if the program names its parts: "block.14", "micro-batch 3". The
 * sequence of the names of a thread's ranges repeats in each iteration. The period of the ranges is the smallest
 * shift at which nine tenths of the names agree.
 * - If the period is as long as the found steps, the ranges confirm the steps.
 * - If the period is clearly longer than the found steps, the found steps are parts. In that case the ranges give the
 * steps.
 * - The ranges may have no period, but name numbered parts of a model, with other numbers in each found step. In that
 * case the found steps are parts, and no iteration is known.
 *
 * Names that occur only once in the trace are not used to find the period: the recording may hold only a part of most
 * iterations. Names that count iterations ("batch 7") are left out too, because they repeat only with each epoch. The
 * ranges do not judge the found steps if most found steps contain no range, for example if only an evaluation has
 * ranges. All limits are our choice.
 */
#ifndef WALLSHIM_ANALYSIS_STEPS_NAMED_PARTS_H
#define WALLSHIM_ANALYSIS_STEPS_NAMED_PARTS_H

#include "analysis/steps/steps.h"

enum ws_parts_answer {
    WS_PARTS_SILENT,  /* the ranges do not show what the found steps are */
    WS_PARTS_CONFIRM, /* the found steps are iterations */
    WS_PARTS_LONGER,  /* the found steps are parts; `begins` tells when iterations began */
    WS_PARTS_ONLY,    /* the found steps are parts; the begins of iterations are not known */
};

/* Judges found steps. `launches`: host times at which the steps began, ascending. Adds the host times (int64_t) at
 * which iterations began to `begins`, in ascending order. Returns 0 or -ENOMEM. */
int ws_named_parts(const struct ws_process *process, const struct ws_track *track, const int64_t *launches,
                   size_t count, enum ws_parts_answer *answer, struct ws_vector *begins);

#endif
