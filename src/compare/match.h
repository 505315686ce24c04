/* Matches the kernels of two recordings. */
#ifndef WALLSHIM_COMPARE_MATCH_H
#define WALLSHIM_COMPARE_MATCH_H

#include "compare/report_side.h"

/* How the kernels of a pair were matched. All ways but the first are guesses. They are tried in this order on the
 * kernels that are still unmatched, and match only kernels of one class. */
enum ws_pairing {
    WS_PAIRED_BY_NAME,    /* the same name */
    WS_PAIRED_BY_NUMBERS, /* names equal except for digits, as with another tile size, unrolling or version; if
                             several fit, those with most time are matched first */
    WS_PAIRED_BY_STEM,  /* names equal except for template arguments and parameters, with the same functor if there is
                           one; unique on each side, with equal launches per step */
    WS_PAIRED_BY_SHAPE, /* same grid and block, and not two different functors; unique on each side, with equal
                           launches per step */
    WS_UNPAIRED,
    WS_PAIRING_COUNT
};

struct ws_pair {
    const struct ws_report_side_kernel *either; /* the kernel in the later recording, else the one in the earlier */
    const struct ws_report_side_kernel *before, *after; /* NULL on a side that does not have it */
    enum ws_pairing match;
};

/* Fills pairs (struct ws_pair) with the kernels that occur in samples of this kind. Returns 0 or -ENOMEM. */
int ws_pair_kernels(const struct ws_report_side *before, const struct ws_report_side *after,
                    enum ws_sampling sampling, struct ws_vector *pairs);

#endif
