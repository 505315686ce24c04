/* Pairs each operation that truly ran with its row in the trace. */
#ifndef WALLSHIM_TESTS_PAIRS_H
#define WALLSHIM_TESTS_PAIRS_H

#include <stdbool.h>

#include "truth.h"

struct pair {
    const struct truth_op *truth;
    const struct traced_op *traced;
};

/* Counts a failure, and prints the first few. */
extern int failures;
void wrong(const char *format, ...) __attribute__((format(printf, 1, 2)));
#define EXPECT(condition, ...)  \
    do {                        \
        if (!(condition))       \
            wrong(__VA_ARGS__); \
    } while (0)

/* Prints how many failures were not printed. Returns the exit status. */
int verdict(void);

void *must_allocate(size_t count, size_t size);

/* Pairs the operations of the truth and of the trace, thread by thread and in order. If the two operations of a pair
 * differ (in kind, name, stream …), this is a failure, and the pair is left out. may_count: the trace may lack
 * operations that it says it has only counted. The caller frees the array. */
struct pair *pairs_match(const struct truth *truth, const struct traced *traced, bool may_count, size_t *count);

bool has_begin(const struct ws_op *op);
bool has_end(const struct ws_op *op);

/* The trace's time minus the device's true time, which is a constant for each context. Returns the value with which
 * most records agree. */
int64_t pairs_shift(const struct pair *pairs, size_t count, uint32_t context);

struct span {
    int64_t begin, end;
    int64_t begin_error, end_error;
};

/* Sorts the spans. Returns the length of their union. Sets *error to the largest possible error of this length, given
 * the errors of the spans' begins and ends. */
int64_t spans_union(struct span *spans, size_t count, int64_t *error);

#endif
