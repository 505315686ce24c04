/* The operations of a training loop on one GPU, made up for benchmarks of the trace.
 *
 * Each step has 600 kernels of 90 shapes on 3 streams: a forward pass launched by one thread, a backward pass by
 * another thread, communication beside it, and an optimizer at the end. The host is ahead of the device most of the
 * time, and behind it now and then. Host times jitter like those of real launches. Device times are multiples of 32
 * ns. Ends are measured and begins inferred, as if the shim had put one event behind each launch. One launch in 64
 * has a pair of events, so its begin is measured, too. The trace holds the parameters of the first launches of each
 * shape in each second. The same seed gives the same rows. */
#ifndef WALLSHIM_BENCH_TRAINING_H
#define WALLSHIM_BENCH_TRAINING_H

#include <stdint.h>

#include "wire/encoder.h"

/* Adds the dictionaries to which the operations refer. */
int training_dictionaries(struct ws_encoder *encoder);

/* Fills ops[0..count) in the order in which the shim's drain (its thread that writes the trace) would deliver
 * them. */
void training_ops(struct ws_op *ops, uint32_t count, uint64_t seed);

#endif
