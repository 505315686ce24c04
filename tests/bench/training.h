/* A stream of operations such as a training loop on one GPU makes, for benchmarks of the trace.
 *
 * Per step 600 kernels of 90 shapes on 3 streams: a forward pass launched by one thread, a backward
 * pass by another, communication beside it, an optimizer at the end. The host is ahead of the device
 * most of the time and behind it for stretches. Host times jitter as launches do; device times come
 * in steps of 32 ns; begins are inferred and ends measured, as with an event behind each launch; one
 * launch in 64 has a pair of events, and its begin is measured too; the first launches of each shape in a second
 * carry parameters. The same seed gives the same rows. */
#ifndef WALLSHIM_BENCH_TRAINING_H
#define WALLSHIM_BENCH_TRAINING_H

#include <stdint.h>

#include "wire/encoder.h"

/* Adds the dictionaries the operations refer to. */
int training_dictionaries(struct ws_encoder *encoder);

/* Fills ops[0..count) in the order in which a drain would deliver them. */
void training_ops(struct ws_op *ops, uint32_t count, uint64_t seed);

#endif
