#include "shim/timing/order.h"

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

/* How long the longest operation takes that follows this one, but may really have come before it: its call began
 * before this operation's call returned. */
static double longest_behind(const struct pending *pending)
{
    double longest = 0;
    const struct pending *at = pending->next;
    for (unsigned i = 0; i < MOST_PLACES && at; i++, at = at->next)
        if (at->op.host_begin < pending->op.host_end)
            longest = ws_max(longest, pending_expected(at));
    return longest;
}

double order_var(const struct shim_context *context, const struct pending *pending, float before)
{
    return var_of(context, (1 + OTHERS) * ws_max((double)before, longest_behind(pending)));
}

float order_longest(float before, double ns)
{
    return (float)ws_max(ns, KEPT * (double)before);
}

double order_behind_var(const struct shim_context *context, const struct pending *last, double event_var)
{
    if (!(last->op.flags & WS_OP_CONTENDED))
        return event_var;
    return event_var + var_of(context, ws_max(pending_expected(last), pending_expected(last->next)));
}
