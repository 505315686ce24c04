/* The kind of the steps: the largest group of similar segments of a level, described by the names in them. Other
 * segments of the same level may be other work, such as evaluation.
 */
#ifndef WALLSHIM_ANALYSIS_STEPS_PERIOD_KIND_H
#define WALLSHIM_ANALYSIS_STEPS_PERIOD_KIND_H

#include "analysis/steps/period_level.h"

struct ws_period_kind {
    const struct ws_period_text *text;
    uint8_t *has;   /* by name: nearly all segments of the kind have the name */
    uint32_t *seen; /* by name: the stamp of the last segment in which the name was seen */
    uint32_t stamp; /* stamp of the current segment */
    struct {
        uint32_t *seen; /* by name: `from` of the last growing segment that has the name, + 1 */
        uint32_t from, to;
        unsigned found;
    } growing;
    unsigned names;    /* number of names in `has` */
    bool updates;      /* segments of the kind have an optimizer's kernel */
    double operations; /* median number of operations per segment */
};

/* Returns 0 or -ENOMEM; call ws_period_kind_finish in both cases. */
int ws_period_kind_find(const struct ws_period_text *text, const struct ws_period_level *level,
                        struct ws_period_kind *kind);

/* Is the segment of this kind? */
bool ws_period_kind_is(struct ws_period_kind *kind, uint32_t from, uint32_t to);

/* Like ws_period_kind_is, for a segment that grows at its end. A call with the same `from` as the call before reads
 * only the operations that are new. */
bool ws_period_kind_grows_into(struct ws_period_kind *kind, uint32_t from, uint32_t to);

/* Is the segment a variant of this kind, with kernels for another tensor shape? */
bool ws_period_kind_varies(struct ws_period_kind *kind, uint32_t from, uint32_t to);

void ws_period_kind_finish(struct ws_period_kind *kind);

#endif
