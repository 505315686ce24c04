/* Matches the kernels of two recordings. */
#ifndef WALLSHIM_COMPARE_MATCH_H
#define WALLSHIM_COMPARE_MATCH_H

#include "compare/report_side.h"

/* How the kernels of a pair were matched. The ways are tried in the order of this enum, each on the kernels that no
 * earlier way has matched. All ways but the first are guesses. A guess pairs only kernels of the same class. The
 * functor of a framework's wrapper kernel is the computation that its name holds, such as AddFunctor. "Unique on each
 * side" means that in each recording only one unmatched kernel meets the other conditions of this way. A sample is a
 * step or a whole recording. */
enum ws_pairing {
    WS_PAIRED_BY_NAME,    /* both kernels have the same name */
    WS_PAIRED_BY_NUMBERS, /* names equal except for digits (another tile size, unrolling or version); if several
                           * kernels have such names, those with most time are matched first */
    WS_PAIRED_BY_STEM,    /* names equal except for digits, template arguments and parameters; same functor, if any;
                           * unique on each side; numbers of launches per sample equal within 1 % */
    WS_PAIRED_BY_SHAPE,   /* same grid and block; functors equal or unknown; unique on each side; numbers of launches
                           * per sample equal within 1 % */
    WS_UNPAIRED,
    WS_PAIRING_COUNT
};

struct ws_pair {
    const struct ws_report_side_kernel *either;         /* equals `after`, or `before` if `after` is NULL */
    const struct ws_report_side_kernel *before, *after; /* NULL: this side has no such kernel */
    enum ws_pairing match;
};

/* Fills pairs (struct ws_pair) with the kernels that occur in samples of this kind: in steps, or in whole recordings.
 * Returns 0 or -ENOMEM. */
int ws_pair_kernels(const struct ws_report_side *before, const struct ws_report_side *after,
                    enum ws_sampling sampling, struct ws_vector *pairs);

#endif
