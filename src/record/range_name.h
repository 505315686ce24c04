/* Finds the kind of a range from the name that a framework, library or program gave to the range with NVTX or
 * record_function. Also finds the number in the name, as in "step 12". */
#ifndef WALLSHIM_RECORD_RANGE_NAME_H
#define WALLSHIM_RECORD_RANGE_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/record.h"

struct ws_range_name {
    enum ws_range_kind kind;
    size_t length;   /* bytes of the name that stay the same from one range to the next: "step" of "step 12" */
    uint64_t number; /* the number in the name: 12 of "step 12"; 0: none */
};

/* Returns one of these kinds:
 * - WS_RANGE_OPERATOR: PyTorch's emit_nvtx writes "aten::mm, seq = 3, op_id = 41, sizes = [[2, 3], [3, 4]]";
 * - WS_RANGE_COMMUNICATION: "ncclAllReduce" and other calls, around which NCCL itself sets ranges;
 * - WS_RANGE_STEP: "ProfilerStep#12", "iteration#3";
 * - WS_RANGE_ANNOTATION: all other names. Reads the number in names like "step 12", "iter_3" and "batch=7". */
struct ws_range_name ws_range_name_read(const char *text, size_t length);

/* Does this name, from which the number was removed, mean an iteration, as "train step" and "batch" do? */
bool ws_range_names_iteration(const char *text, size_t length);

/* Does the name mark a step (WS_RANGE_STEP)? Sets *number if it does. */
bool ws_range_is_step(const char *text, size_t length, uint64_t *number);

#endif
