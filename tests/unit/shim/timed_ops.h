/* Some operations of one stream, and the durations of their kernels, for tests of computed times. */
#ifndef WALLSHIM_TESTS_TIMED_OPS_H
#define WALLSHIM_TESTS_TIMED_OPS_H

#include "kernel_shapes.h"
#include "fake_clock.h"
#include "shim/state/lock.h"
#include "shim/timing/dispatch.h"
#include "shim/timing/durations.h"
#include "shim/timing/runs.h"

enum { KINDS = 3, OPS = 4, FIRST = 1, SECOND = 2 };

static struct pending ops[OPS];
static struct line line; /* the computed times of the stream so far */

static int begin_all(void **state)
{
    (void)state;
    if (kernel_shapes_begin(KINDS))
        return -1;
    for (unsigned kind = 1; kind <= KINDS; kind++)
        duration_of(kind);
    return 0;
}

static int begin_test(void **state)
{
    begin_anew(state);
    memset(ops, 0, sizeof(ops));
    for (int i = 0; i < OPS; i++) {
        ops[i].next = i + 1 < OPS ? &ops[i + 1] : NULL;
        ops[i].op.shape = 1;
        ops[i].kind = WS_OP_KERNEL;
        ops[i].detail = WS_RING_OP_COMPUTED;
        ops[i].queued = i > 0;
        ops[i].direction = COPY_DIRECTIONS;
        ops[i].duration = duration_of(1);
    }
    for (uint32_t kind = 1; kind <= KINDS; kind++)
        *duration_of(kind) = (struct duration){ 0 };
    line = (struct line){ .free = INT64_MIN / 2, .seen = 1, .scale = 1, .tail = 1 };
    context.shortest_submit = 3000;
    /* an operation begins 1000 ns after the end of the one before it */
    context.dispatch = (struct dispatch){ .mean = 1000 - AFTER_KERNEL, .var = 500 * 500, .count = 1 };
    return 0;
}

static inline void assert_near(double value, double expected)
{
    double off = value - expected, most = 1e-4 * (expected < 0 ? -expected : expected);
    if (off > most || off < -most)
        fail_msg("%f instead of %f", value, expected);
}

static inline void check_op(const struct pending *pending, int64_t begin, int64_t end, double begin_var,
                            double end_var)
{
    assert_int_equal(pending->op.begin, begin);
    assert_int_equal(pending->op.end, end);
    assert_near((double)pending->begin_var, begin_var);
    assert_near((double)pending->end_var, end_var);
}

static inline void set_op(struct pending *pending, int64_t begin, int64_t end, float begin_var, float end_var)
{
    pending->op.begin = begin;
    pending->op.end = end;
    pending->begin_var = begin_var;
    pending->end_var = end_var;
}

static inline void set_duration(uint32_t kind, float mean, float var, float spread)
{
    *duration_of(kind) = (struct duration){ .mean = mean, .var = var, .spread = spread, .samples = 5 };
}

#endif
