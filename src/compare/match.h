/* Which kernel of one recording is which of another. */
#ifndef WALLSHIM_COMPARE_MATCH_H
#define WALLSHIM_COMPARE_MATCH_H

#include "compare/side.h"

/* From the surest to none. All but the first are guesses, made among what the surer ones left over and only within
 * a class. */
enum ws_pairing {
    WS_PAIRED_BY_NAME,    /* the same name */
    WS_PAIRED_BY_NUMBERS, /* the same but for digits: another tile size, unrolling, version; longest with longest */
    WS_PAIRED_BY_STEM, /* the same but for template arguments and parameters, and of the same functor where these name
                      one; the only one on each side, as many launches a step */
    WS_PAIRED_BY_SHAPE, /* the same grid and block, and not of different functors; the only one on each side, as many
                       launches a step */
    WS_UNPAIRED,
    WS_PAIRING_COUNT
};

struct ws_pair {
    const struct ws_side_kernel *either;         /* the one after, where there is one */
    const struct ws_side_kernel *before, *after; /* NULL on one side where it is on the other only */
    enum ws_pairing match;
};

/* Fills pairs, of struct ws_pair, with the kernels that there are in samples of the kind. Returns 0 or -ENOMEM. */
int ws_pair_kernels(const struct ws_side *before, const struct ws_side *after, enum ws_sampling sampling,
                    struct ws_vector *pairs);

#endif
