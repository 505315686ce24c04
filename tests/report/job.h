/* Traces made by hand of several ranks of a job, and what a report on all of them says. */
#ifndef WALLSHIM_TESTS_JOB_H
#define WALLSHIM_TESTS_JOB_H

#include "analysis/activity.h"
#include "analysis/comm.h"
#include "story.h"

enum { MOST_RANKS = 8, COMPUTE = 1, COMM = 2 };

static const int64_t us = 1000, ms = 1000000;

#define GEMM "ampere_sgemm_128x64_nn"
#define ALL_REDUCE "ncclDevKernel_AllReduce_Sum_bf16_RING_LL"

/* A trace for each rank: one device, of streams COMPUTE and COMM. */
struct job {
    size_t count;
    struct story stories[MOST_RANKS];
    char paths[MOST_RANKS][64];
    uint64_t sequence[MOST_RANKS];
    bool marked; /* steps are taken from the stories' markers; else there are none */
    struct ws_model *model;
    struct ws_report *report;
};

/* Each of the number it is given, on its own host where own_hosts says so. */
void job_begin_as(struct job *job, size_t count, bool own_hosts, const char *const *numbers);

void job_begin(struct job *job, size_t count, bool own_hosts);

void job_comm(struct job *job, size_t rank, uint32_t id, uint32_t number, uint32_t size, uint64_t hash);

/* An NCCL call with one kernel. */
void job_call(struct job *job, size_t rank, const char *function, uint32_t comm, uint64_t sequence, uint64_t count,
              int64_t begin, int64_t end);

void job_all_reduce(struct job *job, size_t rank, int64_t begin, int64_t end);

void job_report(struct job *job);

void job_finish(struct job *job);

const struct ws_job_comm *job_matches(const struct job *job);

const struct ws_rank *job_rank(const struct job *job, size_t track);

const struct ws_track_collectives *job_cost(const struct job *job, size_t track);

int64_t job_exposed_comm(const struct job *job, size_t track);

/* Answers with the advice's evidence. */
const char *job_assert_advised(const struct job *job, size_t track, const char *name, enum ws_part part,
                               int64_t saving);

/* Rounds in which each rank computes for a time of its own and then all reduce: the last to come has the others
 * wait, and the transfer takes as long for all. Each rank's clock is its offset ahead. */
void job_rounds(struct job *job, int count, const int64_t *compute, const int64_t *offset, int64_t transfer);

#endif
