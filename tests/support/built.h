/* Writes traces that a test makes up, of one process or of several ranks, and reads and analyses them. */
#ifndef WALLSHIM_TESTS_BUILT_H
#define WALLSHIM_TESTS_BUILT_H

#include "analysis/activity/activity.h"
#include "analysis/analyses.h"
#include "analysis/kernels/kernels.h"
#include "analysis/steps/steps.h"
#include "builder.h"

enum { BUILT_MOST = 8 };

struct built {
    struct builder *traces[BUILT_MOST]; /* one builder for each trace; each builder writes its own file */
    char paths[BUILT_MOST][64];
    size_t count;
    enum ws_steps_choice steps; /* how steps are found; set it between built_begin and built_report */
    struct ws_model *model;
    struct ws_report *report;
};

/* Begins an empty trace. */
struct builder *built_begin(struct built *built);

/* Begins a trace with one device of this name, whose clock equals the host's, and with the streams 1 to `streams`. */
struct builder *built_begin_on(struct built *built, const char *gpu, uint32_t streams);

/* Begins one more trace, for a report on several traces. */
struct builder *built_add(struct built *built);

/* Completes the traces and reads them. The test fails if they cannot be read. */
void built_read(struct built *built);

/* Completes and reads the traces, and runs all analyses. If there are several traces, also makes the report's texts
 * (built_print). */
void built_report(struct built *built);

/* Makes the whole report as text and as JSON and discards both, only to test that this does not fail. */
void built_print(const struct built *built);

/* Frees everything and removes the files. */
void built_finish(struct built *built);

/* The result of an analysis for a track (the work of one device). */
const void *built_result(const struct built *built, const struct ws_analysis *analysis, size_t track);

const struct ws_track_activity *built_activity(const struct built *built, size_t track);

/* built_steps: the steps of the first track. built_step: the step at index `place`, which must exist. */
const struct ws_track_steps *built_steps(const struct built *built);
const struct ws_step *built_step(const struct ws_track_steps *steps, size_t place);

/* The row for the kernel of this name in the track's table of kernels, or NULL. */
const struct ws_kernel_row *built_kernel(const struct built *built, size_t track, const char *name);

/* Returns a section of the report as text, or all sections if `section` is NULL. If `all` is true, includes all
 * devices, not only the one that the report shows by default. The caller frees the text. */
char *built_text(const struct built *built, const char *section, bool all);

#endif
