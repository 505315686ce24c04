/* Figures with names of their own: what rules are mostly about. Each is a path into the report, or what
 * several values there come to; adding one means adding its row in figure.c. */
#ifndef WALLSHIM_CHECK_FIGURE_H
#define WALLSHIM_CHECK_FIGURE_H

#include <stdbool.h>
#include <stddef.h>

#include "check/rule.h"

struct ws_figure {
    const char *name;
    const char *what;
    enum ws_unit unit;
    const char *value;  /* path; what it names is added up */
    const char *of;     /* path: the time that the value, a time too, is a share of. NULL: it is no share */
    const char *except; /* path: what is taken from that. May be NULL */
    const char *error;  /* path: the value is right within ± this. May be NULL */
    const char *reason; /* path: why the trace does not give the figure, where it does not. May be NULL */
    bool whole;         /* means nothing where too many operations have no device times */
    bool per_step;      /* means nothing where there are no steps */
    bool none_is_zero;  /* where there is no such row, there are 0 of them */
};

extern const struct ws_figure ws_figures[];
extern const size_t ws_figure_count;

/* NULL when there is none of that name. */
const struct ws_figure *ws_figure_find(const char *name);

/* The name most like this one, NULL when none is like it. */
const char *ws_figure_nearest(const char *name);

const char *ws_unit_name(enum ws_unit unit);

#endif
