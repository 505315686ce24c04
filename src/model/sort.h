/* Orders many times at once. */
#ifndef WALLSHIM_MODEL_SORT_H
#define WALLSHIM_MODEL_SORT_H

#include <stddef.h>
#include <stdint.h>

/* Reorders indices so that begin[indices[i]] ascends, keeping the order of equal ones. Costs one look
 * at each when they are in order already, a few passes otherwise. Returns 0 or -ENOMEM. */
int ws_sort_by_time(uint32_t *indices, size_t count, const int64_t *begin);

/* Merges runs that are each in order: run i is indices[starts[i]] up to indices[starts[i + 1]]. Equal
 * ones keep the order of their indices. The result goes to `to`. Returns 0 or -ENOMEM. */
int ws_merge_by_time(uint32_t *to, const uint32_t *indices, const size_t *starts, size_t runs, const int64_t *begin);

#endif
