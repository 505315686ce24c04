/* The hardware counters for the roofline: the metrics that CUPTI reads on each chip, in groups.
 *
 * CUPTI reads a group during one launch, without kernel replay. So CUPTI must be able to read the whole group in one
 * pass. Many of CUPTI's sums take two passes. In place of such a sum, the table in counters.c lists its parts: one
 * metric per instruction, or one metric for sparse and one for dense matrices. tests/abi/counters.c compares the
 * names and numbers of passes with those of libcupti, if that library is installed. The test needs no GPU.
 *
 * Source of the names: the host side of CUPTI 13.0 (cuptiProfilerHostGetBaseMetrics).
 * A metric's weight is the number of FLOPs for each unit that the metric counts. Tensor core metrics already count
 * FLOPs. A thread's add or multiply is one FLOP, a fused multiply-add two. An instruction that does its operation
 * twice, on packed pairs of numbers, counts twice: the half-precision instructions, and fadd2, fmul2 and ffma2 of
 * sm_100. */
#ifndef WALLSHIM_RECORD_COUNTERS_H
#define WALLSHIM_RECORD_COUNTERS_H

#include <stdint.h>

#include "record/record.h"

enum { WS_METRICS_MOST = 48, WS_METRICS_IN_GROUP = 16 };

/* Fills in one row per metric of the chip. `chip` is CUPTI's name of the chip, such as "GH100". Sets all columns
 * except id and device. Groups are numbered from 1 in the order in which to read them; the rows of a group are
 * adjacent. Returns the number of rows, or 0 if the chip is unknown. The rows' texts are static. */
uint32_t ws_counter_metrics(const char *chip, struct ws_metric rows[WS_METRICS_MOST]);

#endif
