/* A story written, read and analysed. */
#ifndef WALLSHIM_TESTS_LOAD_H
#define WALLSHIM_TESTS_LOAD_H

#include "analysis/activity.h"
#include "analysis/kernels.h"
#include "analysis/steps.h"
#include "story.h"

struct loaded {
    struct story story;
    char path[64];
    struct ws_model *model;
    struct ws_report *report;
    enum ws_steps_choice steps; /* to be set between load_begin and load_report */
};

/* Opens a story in a file of its own; ended by load_report. */
struct story *load_begin(struct loaded *loaded);

/* The same, with one device of this name and its streams 1, 2 … */
struct story *load_begin_on(struct loaded *loaded, const char *gpu, uint32_t streams);

/* Ends the story, reads it and runs all analyses; fails the test when that does not go well. */
void load_report(struct loaded *loaded);

/* Frees everything and removes the file. */
void load_finish(struct loaded *loaded);

const struct ws_track_activity *load_activity(const struct loaded *loaded, size_t track);

/* Of the first track; and one of its steps, which must be there. */
const struct ws_track_steps *load_steps(const struct loaded *loaded);
const struct ws_step *load_step(const struct ws_track_steps *steps, size_t place);

/* The row of this name on the track, or NULL. */
const struct ws_kernel_row *load_kernel(const struct loaded *loaded, size_t track, const char *name);

#endif
