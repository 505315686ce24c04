/* How sure it is in which order a stream runs its operations. If several threads launch into a stream at the same
 * time, the shim orders the operations by the return of their calls, and that order may be wrong. If an operation has
 * changed places with others, its times are off by the time that the others take.
 *
 * Times are in ns and variances in ns². Only the drain thread uses these functions. */
#ifndef WALLSHIM_SHIM_TIMING_ORDER_H
#define WALLSHIM_SHIM_TIMING_ORDER_H

#include "shim/timing/runs.h"

/* The variance of an operation's times that covers an error of its place. `before`: what order_longest returned for
 * the operation before it. */
double order_var(const struct shim_context *context, const struct pending *pending, float before);

/* How long the longest of the latest operations takes. Older operations count less, because it is less probable that
 * the next operation has changed places with them. before: the value for the operations before the last one. ns: how
 * long the last one takes. */
float order_longest(float before, double ns);

/* The host times between which a call put something into a stream, ns. */
struct host_span {
    int64_t from, to;
};

/* The variance of the time between the end of `last` and the event behind it. Operations that other threads put into
 * the stream at the same time as the event may really be on its other side. first: the first operation that may be.
 * put: when the event was put into the stream. event_var: the variance if the order is sure. */
double order_behind_var(const struct shim_context *context, const struct pending *first, const struct pending *last,
                        struct host_span put, double event_var);

/* The variance of the end of `last`, if an event behind it was measured. Operations before it, from `first` on, whose
 * calls returned during its call may really have come after it. Then the event shows their end. */
double order_before_var(const struct shim_context *context, const struct pending *first, const struct pending *last);

#endif
