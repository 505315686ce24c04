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

static double var_of(const struct shim_context *context, double longest)
{
    return ws_square((longest + dispatch_after_operation(context)) / STATED);
}

/* How long the longest of the operations from `at` on takes whose calls began before `to` and returned after `from`.
 * Stops after `most` operations, or before `end`. */
static double longest_in(const struct pending *at, const struct pending *end, unsigned most, struct host_span span)
{
    double longest = 0;
    for (unsigned i = 0; i < most && at != end; i++, at = at->next)
        if (at->op.host_begin < span.to && at->op.host_end > span.from)
            longest = ws_max(longest, pending_expected(at));
    return longest;
}

double order_var(const struct shim_context *context, const struct pending *pending, float before)
{
    /* Operations that follow this one may really have come before it if their calls began before its call returned.
     */
    struct host_span call = { INT64_MIN, pending->op.host_end };
    double behind = longest_in(pending->next, NULL, MOST_PLACES, call);
    return var_of(context, (1 + OTHERS) * ws_max((double)before, behind));
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
    double before = longest_in(first, last->next, UINT_MAX, put);
    double longest = ws_max(before, longest_in(last->next, NULL, MOST_PLACES, put));
    return longest > 0 ? event_var + var_of(context, (1 + OTHERS) * longest) : event_var;
}
