#include "shim/timing/order.h"

#include <limits.h>
#include <stddef.h>

#include "base/minmax.h"
#include "base/root.h"
#include "shim/timing/dispatch.h"

/* The time of an operation that is one place further away is multiplied by this. */
static const double KEPT = 0.97;
/* Besides the longest operation, shorter ones may have changed places, too: together they take this share of its
 * time. */
static const double OTHERS = 0.25;
/* An operation may have changed places with another one that is at most so many places behind. More are not searched,
 * because that would take long. */
enum { MOST_PLACES = 16 };

/* The variance of a time that is perhaps off by `ns`. */
static double var_of(double ns)
{
    return ws_square(ns / STATED);
}

/* Operations whose calls overlap a span of host time. */
struct beside {
    double longest; /* how long the longest of them takes, ns; 0: there are none */
    double all;     /* how long the stream is busy with all of them, ns */
};

/* Finds those among the operations from `at` on. Stops after `most` operations, or before `end`. */
static struct beside beside_of(const struct shim_context *context, const struct pending *at,
                               const struct pending *end, unsigned most, struct host_span span)
{
    struct beside beside = { 0 };
    for (unsigned i = 0; i < most && at != end; i++, at = at->next) {
        if (at->op.host_begin >= span.to || at->op.host_end <= span.from)
            continue;
        double ns = pending_expected(at);
        beside.longest = ws_max(beside.longest, ns);
        beside.all += ns + dispatch_after_operation(context);
    }
    return beside;
}

double order_var(const struct shim_context *context, const struct pending *pending, float before)
{
    /* Operations that follow may really have come before this one if their calls began before its call returned. */
    struct host_span call = { INT64_MIN, pending->op.host_end };
    double behind = beside_of(context, pending->next, NULL, MOST_PLACES, call).longest;
    return var_of((1 + OTHERS) * ws_max((double)before, behind) + dispatch_after_operation(context));
}

float order_longest(float before, double ns)
{
    return (float)ws_max(ns, KEPT * (double)before);
}

double order_behind_var(const struct shim_context *context, const struct pending *first, const struct pending *last,
                        struct host_span put, double event_var)
{
    if (!(last->op.flags & WS_OP_CONTENDED))
        return event_var;
    double before = beside_of(context, first, last->next, UINT_MAX, put).all;
    double behind = beside_of(context, last->next, NULL, MOST_PLACES, put).all;
    return event_var + var_of(before + behind);
}

double order_before_var(const struct shim_context *context, const struct pending *first, const struct pending *last)
{
    struct host_span call = { last->op.host_begin, INT64_MAX };
    return var_of(beside_of(context, first, last, UINT_MAX, call).all);
}
