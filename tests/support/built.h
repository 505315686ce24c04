/* Writes made-up traces, of one process or of several ranks, and reads and analyses them. */
#ifndef WALLSHIM_TESTS_BUILT_H
#define WALLSHIM_TESTS_BUILT_H

#include "analysis/activity/activity.h"
#include "analysis/analyses.h"
#include "analysis/kernels/kernels.h"
#include "analysis/steps/steps.h"
#include "builder.h"

enum { BUILT_MOST = 8 };

struct built {
    struct builder *traces[BUILT_MOST]; /* each writes a file of its own */
    char paths[BUILT_MOST][64];
    size_t count;
    enum ws_steps_choice steps; /* to be set before built_report */
    struct ws_model *model;
    struct ws_report *report;
};

/* Begins an empty trace. */
struct builder *built_begin(struct built *built);

/* Begins a trace with one device of this name, whose clock is the host's, and with streams 1, 2 … */
struct builder *built_begin_on(struct built *built, const char *gpu, uint32_t streams);

/* Begins one more trace. */
struct builder *built_add(struct built *built);

/* Ends the traces and reads them. The test fails if they cannot be read. */
void built_read(struct built *built);

/* Ends and reads the traces, and runs all analyses. A report on several traces is printed as well (built_print). */
void built_report(struct built *built);

/* Makes the whole report as text and as JSON and discards both, to test only that this works. */
void built_print(const struct built *built);

/* Frees everything and removes the files. */
void built_finish(struct built *built);

/* The result of an analysis on a track. */
const void *built_result(const struct built *built, const struct ws_analysis *analysis, size_t track);

const struct ws_track_activity *built_activity(const struct built *built, size_t track);

/* The steps of the first track, and its step number `place`, which must exist. */
const struct ws_track_steps *built_steps(const struct built *built);
const struct ws_step *built_step(const struct ws_track_steps *steps, size_t place);

/* The row of this name on the track, or NULL. */
const struct ws_kernel_row *built_kernel(const struct built *built, size_t track, const char *name);

/* A section of the report as text, or all sections for NULL. all: for all devices, not only for the device that the
 * report shows by default. The caller frees the text. */
char *built_text(const struct built *built, const char *section, bool all);

#endif
