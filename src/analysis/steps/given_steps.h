/* Steps that were found in a whole recording, for a report on a window of this recording. The window is not searched
 * for steps again: it may hold too few steps, and the begin of its first step depends on earlier work. */
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

/* Adds each step of the track with an index i for which keep[i] is set. `by_number`: the user chose the steps by
 * their numbers, so steps of warm-up count as steady. Returns 0 or -ENOMEM. */
int ws_given_steps_add(struct ws_given_steps *given, const struct ws_track *track, const struct ws_track_steps *steps,
                       const bool *keep, bool by_number);

void ws_given_steps_finish(struct ws_given_steps *given);

/* Copies the steps of the track's device to the result. Returns 0 or -ENOMEM. */
int ws_given_steps_copy(const struct ws_given_steps *given, const struct ws_track *track,
                        struct ws_track_steps *result);

/* Sets the parts of each step (`split`) to their values from the whole recording. The parts measured in the window
 * lack work of steps outside the window that overlaps with the step. */
void ws_given_steps_restore(const struct ws_track_steps *given, struct ws_track_steps *result);

#endif
