/* Finds the repeating steps in the operations of a device, from the order of the operations' names. Times are used
 * only to choose where a step begins. Jitter of times therefore does not matter. Kernels that are missing from some
 * repetitions matter little.
 *
 * 1. A gram is a name, or a name together with the name before it on the same stream. Grams that recur at even
 * distances, counted in operations, are candidates (period.c).
 * 2. A candidate cuts the operations into segments. It is a level of repetition if a large share of the operations
 * lies in segments of about equal length, and most names occur equally often in most of these segments
 * (period_level.c). In operations without a period, the number of times that a name occurs in a segment is random.
 * 3. Levels are nested: layers in steps, micro-batches in steps, steps in epochs. The search takes the shortest level
 * that looks like an iteration of the program. A longer level replaces this level if the longer level completes the
 * iteration: it must add the optimizer, the exchange with the host, or kernels of its own, but not another loop
 * (period_choice.c).
 * 4. The segments of the chosen level fall into groups with similar names. The largest group is the steps. Other
 * segments are evaluation and the like (period_kind.c).
 * 5. A step begins with an operation that occurs once per step, on the stream with most kernels. If there are several
 * such operations, the step begins with the one that has the longest idle time before it. Copies from the host and
 * operations after the optimizer have a slight advantage (period_cut.c).
 *
 * The steps are thus inferred, not known. The thresholds are in the files named above. They were tuned on synthetic
 * programs. tests/walls/steps.py checks them on other synthetic programs, and on real programs against their step
 * markers.
 */
#ifndef WALLSHIM_ANALYSIS_STEPS_PERIOD_H
#define WALLSHIM_ANALYSIS_STEPS_PERIOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vector.h"
#include "model/ops.h"

/* The kind of operation that a name stands for. Beyond this, the search knows nothing about a name; it only compares
 * names. */
enum ws_period_hint {
    WS_HINT_NONE,
    WS_HINT_UPDATE,    /* an optimizer's kernel */
    WS_HINT_FROM_HOST, /* a copy from the host to the device */
    WS_HINT_TO_HOST,
    WS_HINT_MEMORY, /* any other copy, and memsets */
    WS_HINT_COMM,
    WS_HINT_GRAPH, /* a CUDA graph: many operations recorded as one */
    WS_HINT_COUNT
};

enum { WS_PERIOD_NAMES = 1 << 16 };

/* What the search knows about all operations of a shape. */
struct ws_period_shape {
    uint32_t lane; /* index of the stream */
    uint16_t name; /* number of the name; all names beyond the limit share the last number */
    bool computes; /* neither a copy nor communication */
};

struct ws_period_source {
    const struct ws_ops *ops;
    const uint32_t *order; /* operations in order of their begin */
    size_t count;
    const struct ws_period_shape *shapes; /* indexed like the model's shapes */
    size_t lane_count;
    const uint8_t *hints; /* enum ws_period_hint by name; WS_PERIOD_NAMES entries */
    size_t names;         /* all numbers of names are below this */
};

struct ws_period_step {
    uint32_t first; /* index in `order` of its first operation */
    bool alike;     /* the step is similar to most steps; false: evaluation or other work */
};

struct ws_period {
    struct ws_vector steps; /* struct ws_period_step; each step ends where the next begins; the last has no end */
    const char *why_none;   /* a sentence, if there are no steps */
    bool updates;           /* most steps have an optimizer's kernel */
    bool exchanges;         /* steps copy from or to the host, or launch a graph */
};

/* Returns 0 or -ENOMEM. */
int ws_period_find(const struct ws_period_source *source, struct ws_period *period);

void ws_period_finish(struct ws_period *period);

#endif
