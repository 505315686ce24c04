/* The iterations of an inference server, told apart by phase: prefill, decode, or both in one batch (mixed).
 *
 * vLLM, SGLang and TensorRT-LLM set a range around each iteration. The name of the range describes the work of the
 * iteration (server_step.h). Two or more of these ranges are steps, unless the program has step markers. A step
 * begins and ends as a marked step does (steps.h), so it lasts to the begin of the next range. If there are at least
 * four steps, the last one is cut.
 *
 * A mean over both prefill and decode steps has no meaning. So if the steady steps are of several phases, the figures
 * per step are taken only over the phase that takes most time. Steps of other phases get the kind WS_STEP_OTHER. The
 * same is done with marked steps that contain ranges of a server's iterations. A marked step with ranges of both
 * phases is mixed.
 *
 * In speculative decoding, SGLang sets a range around each pass of each model. These passes are not iterations, so
 * the process has no phases.
 */
#ifndef WALLSHIM_ANALYSIS_STEPS_PHASES_H
#define WALLSHIM_ANALYSIS_STEPS_PHASES_H

#include "analysis/cost/server_step.h"
#include "base/vector.h"
#include "report/analysis.h"

struct ws_track_steps;

/* The iterations of one phase that were recorded from begin to end. Iterations in which the recording paused or
 * hardware counters were read are left out. */
struct ws_phase_row {
    size_t steps;
    size_t with_requests, with_tokens; /* number of iterations whose requests are known; whose tokens are known */
    double requests, tokens;           /* sums over these iterations */
    int64_t lasted, p95;               /* ns: sum of the lengths; 95th percentile of the length */
    int64_t busy;                      /* ns: sum of the time in which the device ran something */
    int64_t kernels;                   /* ns: sum of the times of the kernels that began in the iterations */
};

struct ws_phases {
    struct ws_phase_row rows[WS_PHASE_COUNT];
    int64_t kernels;    /* ns: sum of the times of all kernels of the recording */
    bool any;           /* an iteration has a known phase */
    bool several;       /* the steady steps were of several phases: figures per step are those of `lead` */
    enum ws_phase lead; /* the phase that takes most time in the steady steps */
};

/* Fills source, proof and steps from the ranges of an inference server, if there are at least two. Returns 0 or
 * -ENOMEM. */
int ws_server_steps(const struct ws_report *report, const struct ws_track *track, struct ws_track_steps *result);

/* Fills result->phases, sets the phase of each step, and leaves out steps of all phases except the phase that takes
 * most time. Returns 0 or -ENOMEM. */
int ws_phases_tell(const struct ws_report *report, const struct ws_track *track, struct ws_track_steps *result);

/* defined in phases_report.c */
const char *ws_phase_name(enum ws_phase phase);
json_t *ws_phase_json(enum ws_phase phase);
/* Writes "decode 48 steps of 12.1 ms, prefill 2 of 210 ms": the phases that take most time first. */
void ws_phases_write(const struct ws_phases *phases, char *text, size_t capacity);
void ws_phases_text(const struct ws_phases *phases, struct ws_page *page);
/* Adds the key `phases`, if a phase is known. Returns 0 or -ENOMEM. */
int ws_phases_json(const struct ws_phases *phases, json_t *object);

#endif
