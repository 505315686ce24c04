/* Makes the traces of the ranks of a job, and gives the results of the analyses of their collectives. Each rank's
 * trace has one device with the streams COMPUTE and COMM. */
#ifndef WALLSHIM_TESTS_RANKS_H
#define WALLSHIM_TESTS_RANKS_H

#include "analysis/comm/comm.h"
#include "built.h"

enum { COMPUTE = 1, COMM = 2 };

static const int64_t us = 1000, ms = 1000000;

#define GEMM "ampere_sgemm_128x64_nn"
#define ALL_REDUCE "ncclDevKernel_AllReduce_Sum_bf16_RING_LL"

/* Begins a job of `count` ranks. If own_hosts is true, each rank runs on a host of its own, else all ranks run on one
 * host. The report will have no steps. */
void ranks_begin(struct built *job, size_t count, bool own_hosts);

/* Like ranks_begin, but the traces state these texts as their rank numbers. */
void ranks_begin_as(struct built *job, size_t count, bool own_hosts, const char *const *numbers);

/* Adds `count` rounds. In each round, rank i computes for compute[i] ns and then calls an all-reduce. The transfer
 * begins when the last rank has called the all-reduce, and takes `transfer` ns on all ranks. The clock of rank i is
 * ahead by offset[i] ns. */
void ranks_rounds(struct built *job, int count, const int64_t *compute, const int64_t *offset, int64_t transfer);

const struct ws_job_comm *ranks_matches(const struct built *job);
const struct ws_rank *ranks_rank(const struct built *job, size_t track);
const struct ws_track_collectives *ranks_cost(const struct built *job, size_t track);
int64_t ranks_exposed_comm(const struct built *job, size_t track);

/* Fails the test unless the track has an advice with this name, part of the time and saving. Returns the advice's
 * evidence. */
const char *ranks_assert_advised(const struct built *job, size_t track, const char *name, enum ws_part part,
                                 int64_t saving);

#endif
