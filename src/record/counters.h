/* Hardware counters for the roofline: what to ask CUPTI for on which chip, in groups that each take one pass.
 *
 * A group is read around one launch; nothing is replayed. Names and pass counts are held against libcupti's host side
 * by tests/abi/counters.c, wherever that library is, GPU or not: many a sum that looks like one counter takes two
 * passes, and stands here as its parts (by instruction, or with sparsity and without).
 *
 * Source of the names: the host side of CUPTI 13.0 (cuptiProfilerHostGetBaseMetrics). Of the weights: operations on
 * tensor cores are counted as FLOPs already; instructions of a thread count once for an add or a multiplication and
 * twice for both in one, and as often again where one holds two numbers (half precision, and fadd2 … of sm_100).
 */
#ifndef WALLSHIM_RECORD_COUNTERS_H
#define WALLSHIM_RECORD_COUNTERS_H

#include <stdint.h>

#include "record/record.h"

enum { WS_METRICS_MOST = 48, WS_METRICS_IN_GROUP = 16 };

/* Fills the rows for the chip as CUPTI calls it ("GH100"), all but id and device: groups from 1, in the order in
 * which to take them, and each group's rows together. Returns how many; 0: the chip is not known. Texts are static.
 */
uint32_t ws_counter_metrics(const char *chip, struct ws_metric rows[WS_METRICS_MOST]);

#endif
