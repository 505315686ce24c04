/* Uses the program's ranges to decide whether the steps that were found in the order of operations ("found steps")
 * are iterations, or only parts of iterations such as layers.
 *
 * The operations alone do not always distinguish a block of a model from an iteration: each block may even copy its
 * weights from the host, as an iteration copies its batch. Ranges make the difference clear if the program names its
 * parts: "block.14", "micro-batch 3". The sequence of the names of a thread's ranges repeats in each iteration. The
 * period of the ranges is the smallest n for which nine tenths of the ranges have the same name as the range that
 * comes n ranges later.
 * - If the period is as long as the found steps, the ranges confirm the steps.
 * - If the period is clearly longer than the found steps, the found steps are parts. In that case the iterations that
 *   the ranges show become the steps.
 * - The ranges may have no period, but name numbered parts of a model, with other numbers in each found step. In that
 *   case the found steps are parts, and it is not known when iterations begin.
 *
 * Names that occur only once in the trace are not used to find the period. A range of such a name may still occur in
 * each iteration, but a recording of hardly more than one iteration shows it only once. Names that count iterations
 * ("batch 7") are left out too, because the same number comes again only in the next epoch. If most found steps
 * contain no range, the ranges decide nothing. For example, this happens if the program sets ranges only in its
 * evaluation. All limits are our choice. */
#ifndef WALLSHIM_ANALYSIS_STEPS_NAMED_PARTS_H
#define WALLSHIM_ANALYSIS_STEPS_NAMED_PARTS_H

#include "analysis/steps/steps.h"

enum ws_parts_answer {
    WS_PARTS_SILENT,  /* the ranges do not show whether the found steps are iterations or parts */
    WS_PARTS_CONFIRM, /* the found steps are iterations */
    WS_PARTS_LONGER,  /* the found steps are parts; `begins` tells when iterations began */
    WS_PARTS_ONLY,    /* the found steps are parts; the start times of iterations are not known */
};

/* Sets *answer to what the ranges show. `launches` holds the `count` host times at which the found steps began, in
 * ascending order. If the answer is WS_PARTS_LONGER, adds the host times (int64_t) at which iterations began to
 * `begins`, in ascending order. Returns 0 or -ENOMEM. */
int ws_named_parts(const struct ws_process *process, const struct ws_track *track, const int64_t *launches,
                   size_t count, enum ws_parts_answer *answer, struct ws_vector *begins);

#endif
