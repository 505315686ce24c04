/* What if? A stretch of a recording played again with something taken out of the host's time.
 *
 * The way of Daydream (Zhu et al., USENIX ATC 2020): take what was recorded as a graph of dependencies, remove or
 * shorten tasks, and see how long the rest takes. Here the order of events is kept as recorded, and each is moved
 * to as early as what it waited for allows:
 * - what a thread does follows what it did before, after the same pause; where it paused while another thread made
 *   calls, it follows those (autograd's thread, and the loop when that is done);
 * - an operation begins when its launch has reached the device, at the earliest, and no sooner than everything that
 * had ended before it began in the recording: operations that did not overlap do not come to overlap, so that no step
 * becomes shorter than the device is busy. Where it began later than both, what it waited for is not known, and it
 * waits as long again;
 * - a call that waits returns when what ended last before its return has ended, and as long after that as it did.
 *
 * Played without any change, times are those recorded. What this does not see: that kernels may slow each other
 * down, that a queue holds only so many launches, and dependencies that the order of events does not show. The
 * result is a bound, right where the host's delays are what holds the device up.
 */
#ifndef WALLSHIM_ANALYSIS_REPLAY_H
#define WALLSHIM_ANALYSIS_REPLAY_H

#include "analysis/registry.h"

/* What is taken out. */
enum ws_replay_without {
    WS_WITHOUT_SYNC = 1,       /* waits for the device, and that copies block */
    WS_WITHOUT_INPUT = 2,      /* time in loaders; pauses before copies to the device */
    WS_WITHOUT_ALLOCATION = 4, /* calls that allocate, free, load */
    WS_WITHOUT_LAUNCHES = 8,   /* all but the first launch of a step, as in a graph */
};

/* Between two nodes of a graph, in ns: 0.5 µs in NVIDIA's "Getting Started with CUDA Graphs", up to 1.5 on other
 * GPUs. */
#define WS_GRAPH_NODE 1000

struct ws_replay_times {
    int64_t recorded; /* a steady step's mean; the whole stretch where there are no steps, its part of few steps */
    int64_t replayed;
    size_t steps; /* looked at; 0: there are none */
};

/* Plays the steady steps of a track, or what there is, up to a million operations. Returns 0 or -ENOMEM. Times of 0
 * where there is nothing to play. */
int ws_replay(const struct ws_report *report, size_t track, unsigned without, struct ws_replay_times *times);

#endif
