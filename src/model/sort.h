/* Orders many times at once. */
#ifndef WALLSHIM_MODEL_SORT_H
#define WALLSHIM_MODEL_SORT_H

#include <stddef.h>
#include <stdint.h>

#include "model/times.h"

/* Reorders indices of times so that these ascend, keeping the order of equal ones. Costs one look
 * at each when they are in order already, a few passes otherwise. Returns 0 or -ENOMEM. */
int ws_sort_by_time(uint32_t *indices, size_t count, const struct ws_times *times);

/* Merges runs that are each in order: run i is indices[starts[i]] up to indices[starts[i + 1]]. Equal
 * ones keep the order of their indices. The result goes to `to`. Returns 0 or -ENOMEM. */
int ws_merge_by_time(uint32_t *to, const uint32_t *indices, const size_t *starts, size_t runs,
                     const struct ws_times *times);

#endif
