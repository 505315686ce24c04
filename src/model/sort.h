/* Sorts and merges many indices by time. */
#ifndef WALLSHIM_MODEL_SORT_H
#define WALLSHIM_MODEL_SORT_H

#include <stddef.h>
#include <stdint.h>

#include "model/times.h"

/* Sorts indices by their times. The sort is stable. Sorted input takes one pass, other input a few passes. Returns 0
 * or -ENOMEM. */
int ws_sort_by_time(uint32_t *indices, size_t count, const struct ws_times *times);

/* Merges sorted runs into `to`. Run i is indices[starts[i]] to indices[starts[i + 1] - 1]. Equal times are ordered
 * by index. Returns 0 or -ENOMEM. */
int ws_merge_by_time(uint32_t *to, const uint32_t *indices, const size_t *starts, size_t runs,
                     const struct ws_times *times);

#endif
