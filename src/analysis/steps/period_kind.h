/* The kind of the steps. A level of repetition divides the operations into segments (period.h). The largest group of
 * similar segments is the kind of the steps. struct ws_period_kind describes the kind by the names of the operations
 * in these segments. Other segments may be other work, such as evaluation.
 */
#ifndef WALLSHIM_ANALYSIS_STEPS_PERIOD_KIND_H
#define WALLSHIM_ANALYSIS_STEPS_PERIOD_KIND_H

#include "analysis/steps/period_level.h"

struct ws_period_kind {
    const struct ws_period_text *text;
    uint8_t *has;   /* by number of a name: 1 if nearly all segments of the kind have the name */
    uint32_t *seen; /* by number of a name: `stamp` of the last examined segment in which the name occurred */
    uint32_t stamp; /* number of the segment that is being examined */
    struct {
        /* by number of a name: `from` + 1 of the last segment given to ws_period_kind_grows_into that has the name */
        uint32_t *seen;
        uint32_t from, to;
        unsigned found;
    } growing;
    unsigned names;    /* number of names that are set in `has` */
    bool updates;      /* the segments of the kind have an optimizer's kernel */
    double operations; /* median number of operations per segment */
};

/* Returns 0 or -ENOMEM; call ws_period_kind_finish in both cases. */
int ws_period_kind_find(const struct ws_period_text *text, const struct ws_period_level *level,
                        struct ws_period_kind *kind);

/* Is the segment of operations `from` to `to` - 1 of this kind? */
bool ws_period_kind_is(struct ws_period_kind *kind, uint32_t from, uint32_t to);

/* Like ws_period_kind_is, for a segment that grows at its end. A call with the same `from` as the previous call reads
 * only the operations that were added since that call. */
bool ws_period_kind_grows_into(struct ws_period_kind *kind, uint32_t from, uint32_t to);

/* Is the segment a variant of this kind, with kernels for another tensor shape? */
bool ws_period_kind_varies(struct ws_period_kind *kind, uint32_t from, uint32_t to);

void ws_period_kind_finish(struct ws_period_kind *kind);

#endif
