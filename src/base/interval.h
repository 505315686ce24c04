/* Sets of half-open time intervals [begin, end), kept as sorted lists in which none touch.
 *
 * Intervals that are empty or run backwards are no part of any set.
 */
#ifndef WALLSHIM_BASE_INTERVAL_H
#define WALLSHIM_BASE_INTERVAL_H

#include <stddef.h>
#include <stdint.h>

struct ws_interval {
    int64_t begin;
    int64_t end;
};

/* All zero is the empty set. */
struct ws_interval_set {
    struct ws_interval *items;
    size_t count;
    size_t capacity;
};

void ws_interval_set_finish(struct ws_interval_set *set);

/* Any order will do; in order of begin each costs constant time. Returns 0 or -ENOMEM. */
int ws_interval_set_add(struct ws_interval_set *set, int64_t begin, int64_t end);

/* Sum of the lengths. */
int64_t ws_interval_set_length(const struct ws_interval_set *set);

/* Length of what both hold, and of what a holds and b does not. */
int64_t ws_interval_set_common(const struct ws_interval_set *a, const struct ws_interval_set *b);
int64_t ws_interval_set_outside(const struct ws_interval_set *a, const struct ws_interval_set *b);

/* Length of the part of [begin, end) that the set holds. */
int64_t ws_interval_set_within(const struct ws_interval_set *set, int64_t begin, int64_t end);

#endif
