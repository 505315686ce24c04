/* The operations that happened beside the rows of the trace about them. */
#ifndef WALLSHIM_TESTS_PAIRS_H
#define WALLSHIM_TESTS_PAIRS_H

#include <stdbool.h>

#include "truth.h"

struct pair {
    const struct truth_op *truth;
    const struct traced_op *traced;
};

/* Prints what is wrong, the first few times, and counts it. */
extern int failures;
void wrong(const char *format, ...) __attribute__((format(printf, 1, 2)));
#define EXPECT(condition, ...)  \
    do {                        \
        if (!(condition))       \
            wrong(__VA_ARGS__); \
    } while (0)

/* Says how many failures were not printed. Returns the exit status. */
int verdict(void);

void *must_allocate(size_t count, size_t size);

/* Puts the operations of each thread beside each other, in order. The caller frees the array. What is not the same in
 * both is a failure, and no pair. */
struct pair *pairs_match(const struct truth *truth, const struct traced *traced, size_t *count);

bool has_begin(const struct ws_op *op);
bool has_end(const struct ws_op *op);

/* The time that the trace gives less the device's, of one context: the one that most records agree on. */
int64_t pairs_shift(const struct pair *pairs, size_t count, uint32_t context);

struct span {
    int64_t begin, end;
    int64_t begin_error, end_error;
};

/* Sorts the spans. Returns the length of their union, and in *error what its ends may be wrong by altogether. */
int64_t spans_union(struct span *spans, size_t count, int64_t *error);

#endif
