/* Ranks of a job, and what a report says of their collectives. Each rank's trace has one device with streams COMPUTE
 * and COMM. */
#ifndef WALLSHIM_TESTS_RANKS_H
#define WALLSHIM_TESTS_RANKS_H

#include "analysis/comm/comm.h"
#include "built.h"

enum { COMPUTE = 1, COMM = 2 };

static const int64_t us = 1000, ms = 1000000;

#define GEMM "ampere_sgemm_128x64_nn"
#define ALL_REDUCE "ncclDevKernel_AllReduce_Sum_bf16_RING_LL"

/* So many ranks, each on its own host where own_hosts says so. Steps are not asked for. */
void ranks_begin(struct built *job, size_t count, bool own_hosts);

/* The same with these rank numbers. */
void ranks_begin_as(struct built *job, size_t count, bool own_hosts, const char *const *numbers);

/* Rounds in which each rank computes for a time of its own and then all reduce. The transfer begins with the last
 * rank and takes as long for all. Each rank's clock is its offset ahead. */
void ranks_rounds(struct built *job, int count, const int64_t *compute, const int64_t *offset, int64_t transfer);

const struct ws_job_comm *ranks_matches(const struct built *job);
const struct ws_rank *ranks_rank(const struct built *job, size_t track);
const struct ws_track_collectives *ranks_cost(const struct built *job, size_t track);
int64_t ranks_exposed_comm(const struct built *job, size_t track);

/* Fails where the advice is not given so. Returns its evidence. */
const char *ranks_assert_advised(const struct built *job, size_t track, const char *name, enum ws_part part,
                                 int64_t saving);

#endif
