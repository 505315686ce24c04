/* The operations of one run, read from the simulated GPU's truth and from the trace. */
#ifndef WALLSHIM_TESTS_TRUTH_H
#define WALLSHIM_TESTS_TRUTH_H

#include <stddef.h>
#include <stdint.h>

#include "record/record.h"

/* An operation as the simulated GPU executed it. Times are on the device's clock. */
struct truth_op {
    uint32_t tid, device;
    uint64_t order; /* order of submission, in the whole process */
    uint64_t stream;
    uint64_t stream_life; /* unique number of the stream; a later stream may get the same handle, but not the same
                             number */
    int64_t start, end;
    int64_t submit; /* host time at which the call put it into its stream */
    uint64_t bytes;
    enum ws_op_kind kind;
    char name[24];
};

/* A device's clock shows since + since × drift + offset, where `since` is the host's time minus origin. */
struct truth_clock {
    int64_t origin_host_ns, offset_ns;
    double drift;
};

enum { TRUTH_DEVICES = 8 };

struct truth {
    struct truth_op *ops;
    size_t count;
    struct truth_clock clocks[TRUTH_DEVICES];
};

/* An operation as the trace shows it. Times are on the context's clock. A context that is destroyed and made again
 * counts as a new context with a new clock, even if it has the same handle. A stream that is made again counts as a
 * new stream, too. */
struct traced_op {
    uint32_t tid, device, context;
    uint64_t order; /* host time before the call. Correlation ids cannot replace it: they do not order the calls of
                       two threads that had the same tid one after the other */
    uint64_t stream;
    uint32_t stream_life; /* identifier of the stream's row in the trace */
    struct ws_op row;
    enum ws_op_kind kind;
    char name[24];
};

struct traced_clock {
    uint32_t context;
    struct ws_clock row;
};

struct traced {
    struct traced_op *ops;
    struct traced_clock *clocks;
    size_t count, clock_count;
    uint32_t most_context; /* the largest context id */
    uint64_t lost;         /* how many records are lost, according to the trace */
    uint64_t counted;      /* how many calls were only counted, because their records would have cost too much */
};

/* Load kernels, copies and memsets, sorted by thread and then by order. Return 0, or -1 with a line on stderr. */
int truth_load(struct truth *truth, const char *path);
int traced_load(struct traced *traced, const char *path);
void truth_finish(struct truth *truth);
void traced_finish(struct traced *traced);

#endif
