/* Describes the largest group of similar segments of a level by the names in them. One level may cut several
 * kinds of work, such as training and evaluation.
 */
#ifndef WALLSHIM_ANALYSIS_STEPS_PERIOD_KIND_H
#define WALLSHIM_ANALYSIS_STEPS_PERIOD_KIND_H

#include "analysis/steps/period_level.h"

struct ws_period_kind {
    const struct ws_period_text *text;
    uint8_t *has;   /* by name: nearly all segments of the kind have it */
    uint32_t *seen; /* by name: the stamp of the last segment in which it was seen */
    uint32_t stamp; /* stamp of the current segment */
    struct {
        uint32_t *seen; /* by name: index of the growing segment + 1, if the segment has the name */
        uint32_t from, to;
        unsigned found;
    } growing;
    unsigned names;    /* number of names in `has` */
    bool updates;      /* segments of the kind have an optimizer */
    double operations; /* per segment: the median */
};

/* Returns 0 or -ENOMEM; call ws_period_kind_finish in both cases. */
int ws_period_kind_find(const struct ws_period_text *text, const struct ws_period_level *level,
                        struct ws_period_kind *kind);

/* Is the segment of this kind? */
bool ws_period_kind_is(struct ws_period_kind *kind, uint32_t from, uint32_t to);

/* The same for a segment whose end grows from call to call. Each call reads only the new operations. */
bool ws_period_kind_grows_into(struct ws_period_kind *kind, uint32_t from, uint32_t to);

/* Is the segment a variant of this kind, with kernels for another tensor shape? */
bool ws_period_kind_varies(struct ws_period_kind *kind, uint32_t from, uint32_t to);

void ws_period_kind_finish(struct ws_period_kind *kind);

#endif
