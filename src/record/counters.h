/* The hardware counters for the roofline: which metrics CUPTI is asked for on each chip, in groups of one pass each.
 *
 * A group is read around one launch, without replay, so it must take one pass. Many metrics that are sums take two
 * passes. In their place the table holds the parts of the sum: one metric per instruction, or one with and one
 * without sparsity. tests/abi/counters.c checks names and pass counts against libcupti's host side, where that
 * library is found. The test needs no GPU.
 *
 * Source of the names: the host side of CUPTI 13.0 (cuptiProfilerHostGetBaseMetrics).
 * Source of the weights: tensor core metrics already count FLOPs. A thread's add or multiply is one FLOP, a fused
 * multiply-add two. An instruction that works on two numbers counts double: those of half precision, and fadd2 … of
 * sm_100. */
#ifndef WALLSHIM_RECORD_COUNTERS_H
#define WALLSHIM_RECORD_COUNTERS_H

#include <stdint.h>

#include "record/record.h"

enum { WS_METRICS_MOST = 48, WS_METRICS_IN_GROUP = 16 };

/* Fills in the rows for the chip. `chip` is CUPTI's name for it, such as "GH100". Sets all columns except id and
 * device. Groups are numbered from 1 in the order in which to read them; the rows of a group are adjacent. Returns
 * the number of rows, or 0 if the chip is unknown. Texts are static. */
uint32_t ws_counter_metrics(const char *chip, struct ws_metric rows[WS_METRICS_MOST]);

#endif
