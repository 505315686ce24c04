/* Finds what repeats in the operations of a device, by the order of their names: when anything ran decides only
 * where a step begins, so jitter does not matter, and kernels that come and go from one repetition to the next
 * matter little.
 *
 * 1. A gram is a name, or a name and the one before it on the same stream. Grams that come back at even
 *    distances, counted in operations, are candidates (period.c).
 * 2. A candidate cuts the operations into segments. It is a level of repetition where much of the operations
 *    lies in segments of about one length and most names come equally often in most of those (period_level.c).
 *    In operations without a period chance scatters these numbers.
 * 3. Levels lie in one another: layers in steps, micro-batches in steps, steps in epochs. The shortest that is
 *    an iteration is taken, and a longer one instead where that makes the iteration whole: it adds the optimizer,
 *    or the exchange with the host, or kernels of its own, but not another loop (period_choice.c).
 * 4. Of the segments of the level those most alike by their names are the steps' kind; others are evaluation
 *    and the like (period_kind.c).
 * 5. A step begins with an operation that comes once in it, on the stream with most kernels: the one before
 *    which the device waits most; else a copy from the host, or what follows the optimizer (period_cut.c).
 *
 * All of it is inference. The thresholds are in the files named; they were set on made-up programs and are held
 * against others, and against markers of real ones, by tests/walls/steps.py.
 */
#ifndef WALLSHIM_ANALYSIS_PERIOD_H
#define WALLSHIM_ANALYSIS_PERIOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vector.h"
#include "model/ops.h"

/* What a name tells beside being the same or another. */
enum ws_period_hint {
    WS_HINT_NONE,
    WS_HINT_UPDATE,    /* an optimizer's kernel */
    WS_HINT_FROM_HOST, /* a copy from the host to the device */
    WS_HINT_TO_HOST,
    WS_HINT_MEMORY, /* any other copy, and memsets */
    WS_HINT_COMM,
    WS_HINT_GRAPH, /* a CUDA graph: many operations as one */
    WS_HINT_COUNT
};

enum { WS_PERIOD_NAMES = 1 << 16 };

/* What the search is told of all operations of a shape. */
struct ws_period_shape {
    uint32_t lane; /* stream, from 0 */
    uint16_t name; /* its number, or what those that do not fit share */
    bool computes; /* neither a copy nor communication */
};

struct ws_period_source {
    const struct ws_ops *ops;
    const uint32_t *order; /* operations in order of their begin */
    size_t count;
    const struct ws_period_shape *shapes; /* as the model numbers them */
    size_t lane_count;
    const uint8_t *hints; /* enum ws_period_hint by name, WS_PERIOD_NAMES of them */
    size_t names;         /* all are below this */
};

struct ws_period_step {
    uint32_t first; /* place in order of its first operation */
    bool alike;     /* like the others */
};

struct ws_period {
    struct ws_vector steps; /* struct ws_period_step: each ends where the next begins, the last nowhere */
    const char *why_none;   /* a sentence, where there are none */
};

/* Returns 0 or -ENOMEM. */
int ws_period_find(const struct ws_period_source *source, struct ws_period *period);

void ws_period_finish(struct ws_period *period);

#endif
