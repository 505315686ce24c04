/* Sets of half-open time intervals [begin, end), kept as sorted lists of intervals that do not touch.
 *
 * Adding an empty or reversed interval has no effect. */
#ifndef WALLSHIM_BASE_INTERVAL_H
#define WALLSHIM_BASE_INTERVAL_H

#include <stddef.h>
#include <stdint.h>

struct ws_interval {
    int64_t begin;
    int64_t end;
};

/* A set filled with zeros is empty. */
struct ws_interval_set {
    struct ws_interval *items;
    size_t count;
    size_t capacity;
};

void ws_interval_set_finish(struct ws_interval_set *set);

/* Adds an interval. Intervals may be added in any order. A call that adds an interval behind all others takes
 * constant time. Returns 0 or -ENOMEM. */
int ws_interval_set_add(struct ws_interval_set *set, int64_t begin, int64_t end);

/* Returns the length of the intersection of the set and [begin, end). */
int64_t ws_interval_set_within(const struct ws_interval_set *set, int64_t begin, int64_t end);

#endif
