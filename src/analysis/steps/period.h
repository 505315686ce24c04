/* Finds the repeating steps in the operations of a device, from the order of the operations' names. Times are used
 * only to choose where a step begins, and to estimate how many operations a CUDA graph stands for. So the search
 * finds the repetition even if the times vary from step to step. The search tolerates kernels that are missing from
 * some repetitions.
 *
 * 1. A gram is a name, or a name together with the name before it on the same stream. A gram is a candidate if it
 *    recurs at even distances, counted in operations (period.c).
 * 2. The occurrences of a candidate cut the operations into segments. The candidate is a level of repetition if a
 *    large share of the operations lies in segments of about equal length, and most names occur equally often in most
 *    of these segments (period_level.c). If the operations have no period, a name occurs a random number of times in
 *    each segment.
 * 3. Levels are nested: layers in steps, micro-batches in steps, steps in epochs. The search chooses the shortest
 *    level that looks like an iteration of the program. A longer level replaces this level if only the longer level
 *    is the whole iteration. For this, the segments of the longer level must have the optimizer, copies from or to
 *    the host, or kernels that the segments of the shorter level lack. These additions must not be another loop of
 *    the program (period_choice.c).
 * 4. The segments of the chosen level fall into groups with similar names. The largest group is the steps. The other
 *    segments are other work, such as evaluation (period_kind.c).
 * 5. A step begins with an operation that occurs once per step, on the stream with most kernels. If several
 *    operations meet this condition, the step begins with the one that has the longest idle time of the device before
 *    it. Copies from the host and operations after the optimizer are slightly preferred (period_cut.c).
 *
 * The steps are thus inferred, not known. The files named above define the thresholds. The thresholds were tuned on
 * synthetic programs. tests/walls/steps.py checks the thresholds on other synthetic programs, and on real programs
 * whose step markers give the true steps. */
#ifndef WALLSHIM_ANALYSIS_STEPS_PERIOD_H
#define WALLSHIM_ANALYSIS_STEPS_PERIOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vector.h"
#include "model/ops.h"

/* The kind of operation that a name stands for. The search uses nothing else of a name's meaning: it only tests
 * whether two names are equal. */
enum ws_period_hint {
    WS_HINT_NONE,
    WS_HINT_UPDATE,    /* an optimizer's kernel */
    WS_HINT_FROM_HOST, /* a copy from the host to the device */
    WS_HINT_TO_HOST,
    WS_HINT_MEMORY, /* a memset, or a copy that is neither from nor to the host */
    WS_HINT_COMM,
    WS_HINT_GRAPH, /* a CUDA graph that was timed as a whole, so it is one operation */
    WS_HINT_COUNT
};

enum { WS_PERIOD_NAMES = 1 << 16 };

/* What the search uses of a shape, which stands for all operations with the same kernel, grid, stream and so on. */
struct ws_period_shape {
    uint32_t lane; /* index of the operations' stream */
    uint16_t name; /* number that the search gives to the operations' name; rare names share the last number */
    bool computes; /* the operations are not copies, memsets or communication */
};

struct ws_period_source {
    const struct ws_ops *ops;
    const uint32_t *order; /* indices in `ops` of the device's operations, in order of start */
    size_t count;
    const struct ws_period_shape *shapes; /* by index in ws_process.shapes */
    size_t lane_count;
    const uint8_t *hints; /* enum ws_period_hint by the name's number; WS_PERIOD_NAMES entries */
    size_t names;         /* number of different name numbers, which are 0 to `names` - 1 */
};

struct ws_period_step {
    uint32_t first; /* index in ws_period_source.order of the step's first operation */
    bool alike;     /* true: the step is similar to most steps; false: it is evaluation or other work */
};

struct ws_period {
    /* struct ws_period_step; each step ends where the next step begins; the last step ends with the recording */
    struct ws_vector steps;
    const char *why_none; /* if no steps were found: a sentence that tells why */
    bool updates;         /* most steps have an optimizer's kernel */
    bool exchanges;       /* most steps copy from or to the host, or launch a CUDA graph */
};

/* Fills *period. Returns 0 or -ENOMEM. */
int ws_period_find(const struct ws_period_source *source, struct ws_period *period);

void ws_period_finish(struct ws_period *period);

#endif
