/* Tells by the ranges of the program whether a repetition of operations is an iteration or a part of one, such as a
 * layer.
 *
 * Operations alone do not always tell a block of a model from an iteration: each block may even copy its weights from
 * the host. Ranges do, if the program names its parts: "block.14", "micro-batch 3". The names of the ranges that a
 * thread begins, in order, repeat from iteration to iteration. The period of the ranges is the smallest shift at
 * which nine tenths of the names agree.
 * - If it is the length of the found steps, the ranges confirm them.
 * - If it is clearly longer, and the ranges are in most found steps, these are parts. Then the ranges give the steps.
 * - If the ranges have no period, but number the parts of a model, and differ from one found step to the next, the
 * found steps are parts, and no iteration is known.
 *
 * Names that the trace holds once have no part in the period: of most iterations only a piece may be recorded. Nor
 * have names that count iterations ("batch 7"): they come back with each epoch. Ranges that found steps hold none of,
 * such as an evaluation now and then, do not judge them. All limits are our choice.
 */
#ifndef WALLSHIM_ANALYSIS_STEPS_NAMED_PARTS_H
#define WALLSHIM_ANALYSIS_STEPS_NAMED_PARTS_H

#include "analysis/steps/steps.h"

enum ws_parts_answer {
    WS_PARTS_SILENT,  /* the ranges do not tell */
    WS_PARTS_CONFIRM, /* the found steps are iterations */
    WS_PARTS_LONGER,  /* they are parts; `begins` tells when iterations began */
    WS_PARTS_ONLY,    /* they are parts; when iterations began is not known */
};

/* Judges found steps. `launches`: host times at which the steps began, ascending. Adds int64_t, host times in
 * ascending order, to `begins`. Returns 0 or -ENOMEM. */
int ws_named_parts(const struct ws_process *process, const struct ws_track *track, const int64_t *launches,
                   size_t count, enum ws_parts_answer *answer, struct ws_vector *begins);

#endif
