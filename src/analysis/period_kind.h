/* What the segments of a level look like that are most alike: by the names in them. A level may cut more
 * than one kind of work, training and evaluation. */
#ifndef WALLSHIM_ANALYSIS_PERIOD_KIND_H
#define WALLSHIM_ANALYSIS_PERIOD_KIND_H

#include "analysis/period_level.h"

struct ws_period_kind {
    const struct ws_period_text *text;
    uint8_t *has;   /* by name: nearly all of them have it */
    uint32_t *seen; /* by name: when a segment was last looked into that has it */
    uint32_t stamp; /* of now */
    struct {
        uint32_t *seen; /* by name: the place of the segment that grows, + 1, if it has it */
        uint32_t from, to;
        unsigned found;
    } growing;
    unsigned names;    /* that they have */
    bool updates;      /* they have an optimizer */
    double operations; /* in one: the median */
};

/* Returns 0 or -ENOMEM; to be finished in any case. */
int ws_period_kind_find(const struct ws_period_text *text, const struct ws_period_level *level,
                        struct ws_period_kind *kind);

/* Is a segment of that kind? */
bool ws_period_kind_is(struct ws_period_kind *kind, uint32_t from, uint32_t to);

/* The same for a segment that grows from call to call: each looks only into what is new. */
bool ws_period_kind_grows_into(struct ws_period_kind *kind, uint32_t from, uint32_t to);

/* Is a segment one of that kind with other kernels, those for another shape? */
bool ws_period_kind_varies(struct ws_period_kind *kind, uint32_t from, uint32_t to);

void ws_period_kind_finish(struct ws_period_kind *kind);

#endif
