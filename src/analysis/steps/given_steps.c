#include "analysis/steps/given_steps.h"

#include <errno.h>
#include <string.h>

static const char window_empty[] = "The window holds no whole step of this device.";

/* Copies only the fields that tell how the steps were found. The list of steps in the copy is empty. */
static struct ws_track_steps origin_of(const struct ws_track_steps *steps)
{
    return (struct ws_track_steps){ .source = steps->source,
                                    .proof = steps->proof,
                                    .why_none = steps->why_none,
                                    .steps = WS_VECTOR(struct ws_step) };
}

static int given_steps_push(struct ws_vector *list, const struct ws_step *step)
{
    struct ws_step *copy = ws_vector_push(list);
    if (copy)
        *copy = *step;
    return copy ? 0 : -ENOMEM;
}

int ws_given_steps_add(struct ws_given_steps *given, const struct ws_track *track, const struct ws_track_steps *steps,
                       const bool *keep, bool by_number)
{
    const struct ws_step *list = steps->steps.data;
    struct ws_given_track *kept = ws_vector_push(&given->tracks);
    int status = kept ? 0 : -ENOMEM;
    if (kept)
        *kept = (struct ws_given_track){ track->process, track->device, origin_of(steps) };
    for (size_t i = 0; i < steps->steps.count && !status; i++) {
        struct ws_step step = list[i];
        /* `first` and `count` refer to operations of the whole recording; the window's operations have other
         * indices */
        step.first = step.count = 0;
        step.slow = false;
        if (by_number && step.kind == WS_STEP_WARM_UP)
            step.kind = WS_STEP_STEADY;
        if (steps->phases.several && step.kind == WS_STEP_OTHER)
            /* steps of all phases (prefill, decode …) count as steady again, because the phase that takes most time
             * in the window need not be the phase that takes most time in the whole recording */
            step.kind = WS_STEP_STEADY;
        status = keep[i] ? given_steps_push(&kept->steps.steps, &step) : 0;
    }
    if (kept && kept->steps.source != WS_STEPS_NONE && !kept->steps.steps.count) {
        kept->steps.source = WS_STEPS_NONE;
        kept->steps.why_none = window_empty;
    }
    return status;
}

void ws_given_steps_finish(struct ws_given_steps *given)
{
    struct ws_given_track *tracks = given->tracks.data;
    for (size_t i = 0; i < given->tracks.count; i++)
        ws_vector_finish(&tracks[i].steps.steps);
    ws_vector_finish(&given->tracks);
}

int ws_given_steps_copy(const struct ws_given_steps *given, const struct ws_track *track,
                        struct ws_track_steps *result)
{
    const struct ws_given_track *tracks = given->tracks.data;
    int status = 0;
    result->why_none = window_empty;
    for (size_t i = 0; i < given->tracks.count; i++) {
        if (tracks[i].process != track->process || tracks[i].device != track->device)
            continue;
        const struct ws_step *list = tracks[i].steps.steps.data;
        *result = origin_of(&tracks[i].steps);
        for (size_t step = 0; step < tracks[i].steps.steps.count && !status; step++)
            status = given_steps_push(&result->steps, &list[step]);
    }
    return status;
}

void ws_given_steps_restore(const struct ws_track_steps *given, struct ws_track_steps *result)
{
    const struct ws_step *from = given->steps.data;
    struct ws_step *to = result->steps.data;
    for (size_t i = 0; i < result->steps.count; i++)
        to[i].split = from[i].split;
}
