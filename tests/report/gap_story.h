/* Stories of kernels with a gap between them: what their tests share. */
#ifndef WALLSHIM_TESTS_GAP_STORY_H
#define WALLSHIM_TESTS_GAP_STORY_H

#include "load.h"

static const int64_t us = 1000, ms = 1000000;
static const char gemm[] = "ampere_sgemm_128x64_nn", all_reduce[] = "ncclDevKernel_AllReduce_Sum";
enum { COMPUTE = 1, OTHER = 2 };

/* One device whose clock is the host's, right within 1 µs, two streams and two threads. */
struct story *begin(struct loaded *loaded);

/* What ran from `from` to `to`, launched at `host` by a call of 5 µs. */
struct launch {
    uint32_t stream, thread;
    const char *name; /* NULL: a copy to the device */
    int64_t host, from, to;
    uint32_t flags;
};

void launch(struct story *story, const struct launch *launch);

/* The kernel before the gap, of 1 ms from 0 on, which was launched long before. */
void first(struct story *story);

/* A kernel that runs as soon as it is launched: 7 µs later. */
void second(struct story *story, int64_t host);

#endif
