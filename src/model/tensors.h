/* What an operator was given, from the text of a range's inputs (FORMAT.md): "c10::BFloat16[888,2880] Scalar=1 …",
 * a word an input. */
#ifndef WALLSHIM_MODEL_TENSORS_H
#define WALLSHIM_MODEL_TENSORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/record.h"

enum { WS_TENSOR_RANK = 8, WS_TENSOR_VALUES = 4, WS_TENSORS = 32 };

/* Element types that rooflines tell apart; the rest are only so many bytes wide. */
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
    uint32_t element_bytes; /* 0: not known */
    uint32_t rank;          /* 0: a scalar, or no tensor at all */
    bool known;             /* a tensor with an element type and all its dimensions */
    double size[WS_TENSOR_RANK];
    double elements; /* of a list of tensors: of all */
    uint32_t values; /* of a number, a truth value (0, 1) or a list of either; 0: not known, or no such thing */
    bool fraction;   /* written with a decimal point */
    double value[WS_TENSOR_VALUES];
};

/* Fills up to WS_TENSORS inputs; returns how many there are of these. */
size_t ws_tensors_parse(const struct ws_text *inputs, struct ws_tensor tensors[WS_TENSORS]);

/* Bytes of a tensor; 0 where they are not known. */
static inline double ws_tensor_bytes(const struct ws_tensor *tensor)
{
    return tensor->known ? tensor->elements * tensor->element_bytes : 0;
}

#endif
