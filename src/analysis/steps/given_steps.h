/* Steps that were found in a whole recording, for a report on a window (a part) of this recording. The report does
 * not search the window for steps again, for two reasons. The window may hold too few steps to find them. The start
 * of the window's first step depends on work before the window. */
#ifndef WALLSHIM_ANALYSIS_STEPS_GIVEN_STEPS_H
#define WALLSHIM_ANALYSIS_STEPS_GIVEN_STEPS_H

#include "analysis/steps/steps.h"

/* The steps of one device. */
struct ws_given_track {
    uint32_t process, device; /* same meaning as process and device in struct ws_track */
    struct ws_track_steps steps;
};

struct ws_given_steps {
    struct ws_vector tracks; /* struct ws_given_track */
};

/* Adds those steps of the track (device) whose index i has keep[i] set. If `by_number` is true, the user chose the
 * steps by their numbers, so steps of warm-up count as steady. Returns 0 or -ENOMEM. */
int ws_given_steps_add(struct ws_given_steps *given, const struct ws_track *track, const struct ws_track_steps *steps,
                       const bool *keep, bool by_number);

void ws_given_steps_finish(struct ws_given_steps *given);

/* Copies the steps of the track's device to the result. Returns 0 or -ENOMEM. */
int ws_given_steps_copy(const struct ws_given_steps *given, const struct ws_track *track,
                        struct ws_track_steps *result);

/* Sets the times of each step (`split`: compute, communication, idle …) to their values in the whole recording. The
 * times measured in the window are too small, because work launched outside the window may run in the step. */
void ws_given_steps_restore(const struct ws_track_steps *given, struct ws_track_steps *result);

#endif
