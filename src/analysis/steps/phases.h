/* The phases of an inference server's iterations: prefill, decode, or both in one batch (mixed).
 *
 * vLLM, SGLang and TensorRT-LLM set a range around each iteration. The name of the range describes the work of the
 * iteration (server_step.h). If there are two or more of these ranges, they give the steps, unless the program has
 * step markers. Each step begins and ends as if its range were a step marker (steps.h): on the host, it lasts to the
 * start of the next range. If there are at least four steps, the last step does not count, because its end is not
 * certain (kind WS_STEP_CUT).
 *
 * A mean over both prefill and decode steps has no meaning. So if the steady steps are of several phases, the figures
 * "per step" in the report cover only the steps of the phase that takes most time. Steps of other phases get the kind
 * WS_STEP_OTHER. This rule also applies to marked steps that contain ranges of a server's iterations. A marked step
 * that contains ranges of both prefill and decode is mixed.
 *
 * In speculative decoding, SGLang sets a range around each pass of each model. These passes are not iterations, so
 * the process has no phases. */
#ifndef WALLSHIM_ANALYSIS_STEPS_PHASES_H
#define WALLSHIM_ANALYSIS_STEPS_PHASES_H

#include "analysis/cost/server_step.h"
#include "base/vector.h"
#include "report/analysis.h"

struct ws_track_steps;

/* Sums over the iterations of one phase whose start and end were both recorded. Iterations in which the recording
 * paused or hardware counters were read are left out. */
struct ws_phase_row {
    size_t steps;
    /* number of iterations whose number of requests is known; number of iterations whose number of tokens is known */
    size_t with_requests, with_tokens;
    /* numbers of requests and tokens, summed over the iterations in which they are known */
    double requests, tokens;
    int64_t lasted, p95; /* ns: sum of the iterations' durations; 95th percentile of the duration */
    int64_t busy;        /* ns: time in which the device ran something, summed over the iterations */
    int64_t kernels;     /* ns: sum of the durations of the kernels that began in the iterations */
};

struct ws_phases {
    struct ws_phase_row rows[WS_PHASE_COUNT];
    int64_t kernels;    /* ns: sum of the durations of all kernels of the recording */
    bool any;           /* the phase of at least one iteration is known */
    bool several;       /* the steady steps were of several phases; figures per step cover only the phase `lead` */
    enum ws_phase lead; /* the phase that takes most time in the steady steps */
};

/* Fills `source`, `proof` and `steps` of the result from the ranges that an inference server sets around its
 * iterations, if there are at least two of these ranges. Returns 0 or -ENOMEM. */
int ws_server_steps(const struct ws_report *report, const struct ws_track *track, struct ws_track_steps *result);

/* Fills result->phases and sets the phase of each step. If the steady steps are of several phases, only the steps of
 * the phase that takes most time still count. The others get the kind WS_STEP_OTHER. Returns 0 or -ENOMEM. */
int ws_phases_tell(const struct ws_report *report, const struct ws_track *track, struct ws_track_steps *result);

/* defined in phases_report.c */
const char *ws_phase_name(enum ws_phase phase);
json_t *ws_phase_json(enum ws_phase phase);
/* Writes "decode 48 steps of 12.1 ms, prefill 2 of 210 ms". The phase that takes most time comes first. */
void ws_phases_write(const struct ws_phases *phases, char *text, size_t capacity);
void ws_phases_text(const struct ws_phases *phases, struct ws_page *page);
/* Adds the key `phases` to the JSON object, if the phase of at least one iteration is known. Returns 0 or -ENOMEM. */
int ws_phases_json(const struct ws_phases *phases, json_t *object);

#endif
