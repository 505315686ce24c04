/* Parses the inputs of an operator from the text of a range's inputs (FORMAT.md), one word per input:
 * "c10::BFloat16[888,2880] Scalar=1 …". */
#ifndef WALLSHIM_MODEL_TENSORS_H
#define WALLSHIM_MODEL_TENSORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/record.h"

enum { WS_TENSOR_RANK = 8, WS_TENSOR_VALUES = 4, WS_TENSORS = 32 };

/* Element types for which a GPU has its own peak of FLOP/s. All other known types are WS_ELEMENT_OTHER, because only
 * their size matters. */
enum ws_element {
    WS_ELEMENT_UNKNOWN,
    WS_ELEMENT_OTHER,
    WS_ELEMENT_FP64,
    WS_ELEMENT_FP32,
    WS_ELEMENT_FP16,
    WS_ELEMENT_BF16,
    WS_ELEMENT_FP8,
    WS_ELEMENT_INT8,
};

struct ws_tensor {
    enum ws_element element;
    uint32_t element_bytes; /* bytes of one element; 0: unknown */
    uint32_t rank;          /* number of dimensions; 0: a scalar, or not a tensor */
    bool known;             /* a tensor with known element type and dimensions */
    double size[WS_TENSOR_RANK];
    double elements; /* number of elements, valid only if `known` */
    uint32_t values; /* number of entries in `value`, if the input is a number, a boolean (0 or 1) or a list of these,
                      * and the trace gives its value; else 0 */
    bool fraction;   /* a number in `value` has a decimal point */
    double value[WS_TENSOR_VALUES];
};

/* Parses up to WS_TENSORS inputs into `tensors`. Returns the number of inputs parsed. */
size_t ws_tensors_parse(const struct ws_text *inputs, struct ws_tensor tensors[WS_TENSORS]);

/* Returns the bytes of a tensor, or 0 if they are unknown. */
static inline double ws_tensor_bytes(const struct ws_tensor *tensor)
{
    return tensor->known ? tensor->elements * tensor->element_bytes : 0;
}

#endif
