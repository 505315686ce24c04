/* A table of patterns: norms, rotary embeddings and optimizers that programs compute with several kernels.
 *
 * Each kernel counts as a piece. The type of the piece (enum ws_piece) is the computation that the kernel's name
 * tells. A pattern is a sequence of pieces on one stream. Only kernels of PyTorch's own separate operators can belong
 * to a pattern. A fused kernel (rms_norm_kernel, triton_red_fused_…_rsqrt, FusedAdamMathFunctor) ends a sequence and
 * never belongs to a pattern. */
#ifndef WALLSHIM_ANALYSIS_PATTERN_TABLE_H
#define WALLSHIM_ANALYSIS_PATTERN_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "model/model.h"

/* What a kernel computes. The values are bits, so that a pattern can allow several of them at one place. */
enum ws_piece {
    WS_PIECE_OTHER = 1 << 0,   /* kernels that belong to no pattern */
    WS_PIECE_IGNORED = 1 << 1, /* memsets and fills, which may run between two pieces */
    WS_PIECE_CAST = 1 << 2,
    WS_PIECE_POW = 1 << 3,
    WS_PIECE_MEAN = 1 << 4,
    WS_PIECE_ADD = 1 << 5, /* addition; also subtraction, for which PyTorch uses the same kernel */
    WS_PIECE_MUL = 1 << 6, /* product; also division by a number, which PyTorch computes as a product */
    WS_PIECE_DIV = 1 << 7,
    WS_PIECE_RSQRT = 1 << 8,
    WS_PIECE_SQRT = 1 << 9,
    WS_PIECE_NEG = 1 << 10,
    WS_PIECE_CAT = 1 << 11,
    WS_PIECE_LERP = 1 << 12,
    WS_PIECE_ADDCMUL = 1 << 13,
    WS_PIECE_ADDCDIV = 1 << 14,

    /* A pass over lists of tensors: all launches of multi_tensor_apply_kernel in a row that have the same name. Two
     * passes in a row with the same name, such as the scaling of gradients followed by weight decay, count as one. In
     * that case the saving contains the time of both passes, even if a fused optimizer would not replace the first
     * pass. */
    WS_PIECE_PASS_SCALAR = 1 << 15, /* combines each element with a number: mul_, add_ */
    WS_PIECE_PASS_LIST = 1 << 16,   /* combines the elements of two lists: add_ with alpha, div_ */
    WS_PIECE_PASS_LERP = 1 << 17,
    WS_PIECE_PASS_POINT = 1 << 18, /* combines the elements of three lists: addcmul_, addcdiv_ */
    WS_PIECE_PASS_UNARY = 1 << 19, /* applies a function of one variable to each element: sqrt */
    WS_PIECE_LIST_PASS =
        WS_PIECE_PASS_SCALAR | WS_PIECE_PASS_LIST | WS_PIECE_PASS_LERP | WS_PIECE_PASS_POINT | WS_PIECE_PASS_UNARY,

    WS_PIECE_MAYBE = 1 << 30 /* in a pattern: the kernel at this place may be absent */
};

enum ws_named_kind {
    WS_NAMED_LAYER_NORM,
    WS_NAMED_RMS_NORM,
    WS_NAMED_ROPE,
    WS_NAMED_LOOP_OPTIMIZER,    /* an optimizer that updates one parameter after another */
    WS_NAMED_FOREACH_OPTIMIZER, /* an optimizer that updates lists of parameters, in several passes */
    WS_NAMED_KIND_COUNT
};

enum { WS_PATTERN_MOST = 12 /* a pattern has at most this many pieces */ };

struct ws_pattern {
    enum ws_named_kind kind;
    uint32_t pieces[WS_PATTERN_MOST + 1]; /* pieces allowed at each place; 0 ends the pattern */
    uint32_t key;                         /* the key piece: the piece of this pattern that is rarest in other work */
    const char *operator;                 /* start of the name of the operator that launches the key piece */
    /* start of the name of the range that must enclose the launch of the key piece; NULL: none needed */
    const char *range;
    /* the most time that a fused kernel takes, divided by the time of the longest piece (pattern_table.c) */
    double still;
};

/* Returns what a kernel computes (enum ws_piece), by its name. */
uint32_t ws_piece_of(const struct ws_op_name *name);

/* Searches the table of patterns from index *at on. Returns the first pattern that matches the start of the `count`
 * pieces. Sets *at to the index after this pattern, and *length to the number of pieces that match. Returns NULL if
 * no pattern matches. */
const struct ws_pattern *ws_pattern_find(const uint32_t *pieces, uint32_t count, uint32_t *at, uint32_t *length);

/* Returns the key pieces of all patterns as a set of bits. If with_ranges is false, leaves out patterns that need a
 * range. */
uint32_t ws_pattern_keys(bool with_ranges);

/* Start of the names of the ranges that PyTorch sets around an optimizer: "Optimizer.step#AdamW.step". */
#define WS_OPTIMIZER_RANGE "Optimizer.step#"

#endif
