/* Named figures for rules. A figure is one value of the report, or the sum of several values. To add a figure, add a
 * row in figure.c. */
#ifndef WALLSHIM_CHECK_FIGURE_H
#define WALLSHIM_CHECK_FIGURE_H

#include <stdbool.h>
#include <stddef.h>

#include "check/rule.h"

struct ws_figure {
    const char *name;
    const char *what;
    enum ws_unit unit;
    const char *value;  /* path in the JSON report; if it selects several values, they are added up */
    const char *of;     /* path of the time by which the value is divided to get a share; NULL: no share */
    const char *except; /* path of a time to subtract from the time `of`; NULL: none */
    const char *error;  /* path of the maximum error of the value; NULL: none */
    const char *reason; /* path of a text that says why the figure is missing; NULL: none */
    bool whole;         /* the figure is meaningless if too many operations have no device times */
    bool per_step;      /* the figure is meaningless if the trace has no steps (iterations) */
    bool none_is_zero;  /* the figure is 0 if the path `value` selects no row of the report */
};

extern const struct ws_figure ws_figures[];
extern const size_t ws_figure_count;

/* Returns NULL if there is no figure of this name. */
const struct ws_figure *ws_figure_find(const char *name);

/* Returns the name of the figure whose name is most similar to `name`, or NULL if none is similar. */
const char *ws_figure_nearest(const char *name);

const char *ws_unit_name(enum ws_unit unit);

#endif
