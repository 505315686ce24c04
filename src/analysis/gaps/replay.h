/* Computes how long a part of a recording (called a stretch) would have taken if certain activities of the host, such
 * as waits, had taken no time. This computation is called a replay.
 *
 * The method is that of Daydream (Zhu et al., USENIX ATC 2020): treat the recording as a graph of dependencies,
 * remove or shorten tasks, and compute how long the rest takes. In this replay, an event is a call of a thread or an
 * operation of the device. The order of events stays as recorded, and each event moves to the earliest time that its
 * dependencies allow:
 * - An event on a thread follows the thread's previous event after the same pause as in the recording. If the pause
 *   is 50 µs or longer and calls of other threads ended in it, the event follows the last of those calls instead. The
 *   thread may have waited for that call, as the main thread and autograd's thread wait for each other.
 * - An operation begins after its launch has reached the device, and after the ends of all operations that ended
 *   before the operation began in the recording. Operations that did not overlap in the recording therefore do not
 *   overlap in the replay, and no step gets shorter than the device's busy time. If an operation began even later in
 *   the recording, it waited for something unknown, and waits equally long in the replay. The launch of an operation
 *   is the start of its launch call. If the call took 0.1 ms or more and the operation began after the call's end,
 *   the launch is the call's end.
 * - A call that waits for the device depends on one operation: the last to end before the call returned in the
 *   recording. The call returns after the replayed end of this operation, with the same delay as in the recording.
 *
 * A replay without changes reproduces the recorded times. The method ignores three effects: kernels that run at once
 * slow each other down, queues hold a limited number of launches, and the order of events does not show all
 * dependencies. The result is an upper limit for the saving. The result is accurate if the device mostly waits for
 * the host.
 */
#ifndef WALLSHIM_ANALYSIS_GAPS_REPLAY_H
#define WALLSHIM_ANALYSIS_GAPS_REPLAY_H

#include "report/analysis.h"

/* Activities of the host that take no time in the replay. */
enum ws_replay_without {
    WS_WITHOUT_SYNC = 1,       /* calls that wait for the device, including copies that block */
    WS_WITHOUT_INPUT = 2,      /* time in data loaders; pauses of 0.1 ms or more before copies to the device */
    WS_WITHOUT_ALLOCATION = 4, /* calls that allocate or free memory or load modules */
    WS_WITHOUT_LAUNCHES = 8,   /* all launches except the first of each step, as with a CUDA graph */
};

/* Assumed time from the end of a CUDA graph's node to the start of the next node, ns. NVIDIA's article "Getting
 * Started with CUDA Graphs" measured 0.5 µs. On other GPUs, this time is up to 1.5 µs. */
#define WS_GRAPH_NODE 1000

struct ws_replay_times {
    /* Length of a steady step in the recording and in the replay, ns: the mean over the steady steps. If the replayed
     * part of the recording has fewer than four steps, its length is divided by its number of steady steps instead.
     * If it has no steady steps, this is the length of the whole part. */
    int64_t recorded;
    int64_t replayed;
    size_t steps; /* number of steady steps replayed; 0: there are none */
};

/* Replays the steady steps of a track (one device as used by one process), or the recording if there are none.
 * Replays at most half a million operations. Returns 0 or -ENOMEM. The times are 0 if there is nothing to replay. */
int ws_replay(const struct ws_report *report, size_t track, unsigned without, struct ws_replay_times *times);

#endif
