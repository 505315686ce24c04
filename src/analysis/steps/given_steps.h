/* Steps that were found in a whole recording, for a report on a window of it. A window may hold too few steps to find
 * them again, and the begin of its first step depends on work from before the window. */
#ifndef WALLSHIM_ANALYSIS_STEPS_GIVEN_STEPS_H
#define WALLSHIM_ANALYSIS_STEPS_GIVEN_STEPS_H

#include "analysis/steps/steps.h"

/* The steps of one device. */
struct ws_given_track {
    uint32_t process, device; /* as in ws_track */
    struct ws_track_steps steps;
};

struct ws_given_steps {
    struct ws_vector tracks; /* struct ws_given_track */
};

/* Adds the track's steps for which `keep` is set, by index. If `by_number`, steps of warm-up count as steady: the
 * user chose them. Returns 0 or -ENOMEM. */
int ws_given_steps_add(struct ws_given_steps *given, const struct ws_track *track, const struct ws_track_steps *steps,
                       const bool *keep, bool by_number);

void ws_given_steps_finish(struct ws_given_steps *given);

/* Copies the steps of the track's device to the result. Returns 0 or -ENOMEM. */
int ws_given_steps_copy(const struct ws_given_steps *given, const struct ws_track *track,
                        struct ws_track_steps *result);

/* Gives the steps back the parts that they have in the whole recording. The window lacks the work of other steps that
 * overlaps with them. */
void ws_given_steps_restore(const struct ws_track_steps *given, struct ws_track_steps *result);

#endif
