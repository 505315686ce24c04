#include "analysis/roofline/pattern_table.h"

#include <string.h>

#define CAST WS_PIECE_CAST
#define POW WS_PIECE_POW
#define MEAN WS_PIECE_MEAN
#define ADD WS_PIECE_ADD
#define MUL WS_PIECE_MUL
#define DIV WS_PIECE_DIV
#define RSQRT WS_PIECE_RSQRT
#define SQRT WS_PIECE_SQRT
#define NEG WS_PIECE_NEG
#define CAT WS_PIECE_CAT
#define LERP WS_PIECE_LERP
#define ADDCMUL WS_PIECE_ADDCMUL
#define ADDCDIV WS_PIECE_ADDCDIV
#define SCALAR WS_PIECE_PASS_SCALAR
#define LIST WS_PIECE_PASS_LIST
#define BLEND WS_PIECE_PASS_LERP
#define POINT WS_PIECE_PASS_POINT
#define UNARY WS_PIECE_PASS_UNARY
#define MAYBE WS_PIECE_MAYBE

static const char sgd[] = WS_OPTIMIZER_RANGE "SGD.";

/* Longer patterns come before the patterns that they contain, because the first row that matches is used. The last
 * column is ws_pattern.still: the most time that a fused kernel takes, in units of the time of the longest piece. A
 * fused norm or rotary kernel reads its input once and writes its output once. The longest piece reads and writes at
 * least as much, so the fused kernel takes no longer than the longest piece. A fused Adam moves 7 arrays: it reads
 * the parameter, the gradient and two moments, and writes the parameter and the two moments. The longest piece of
 * Adam takes at least as long as addcdiv_, which moves 4 arrays. A fused SGD with momentum moves 5 arrays. The
 * longest piece of SGD, an add, moves 3 arrays. In passes over lists, SGD's two adds are one piece that moves 6
 * arrays, so the fused SGD takes no longer than this piece. */
/* clang-format off */
static const struct ws_pattern table[] = {
    { WS_NAMED_LAYER_NORM,
      { CAST | MAYBE, MEAN, ADD, POW | MUL, MEAN, ADD, ADD | MAYBE, RSQRT | SQRT, MUL | DIV, CAST | MAYBE, MUL | MAYBE,
        ADD | MAYBE },
      MEAN, "aten::mean", NULL, 1 },
    { WS_NAMED_RMS_NORM, { CAST | MAYBE, POW | MUL, MEAN, ADD, RSQRT, MUL, CAST | MAYBE, MUL | MAYBE },
      RSQRT, "aten::rsqrt", NULL, 1 },

    /* rotary embedding: x · cos + rotate_half(x) · sin, one row for each order of kernels that programs use */
    { WS_NAMED_ROPE, { MUL, NEG, CAT, MUL, ADD }, NEG, "aten::neg", NULL, 1 },
    { WS_NAMED_ROPE, { NEG, CAT, MUL, MUL, ADD }, NEG, "aten::neg", NULL, 1 },
    { WS_NAMED_ROPE, { NEG, CAT, CAST, MUL, CAST, MUL, ADD, CAST | MAYBE }, NEG, "aten::neg", NULL, 1 },
    { WS_NAMED_ROPE, { MUL, MUL, ADD, MUL, MUL, ADD, CAT }, CAT, "aten::cat", NULL, 1 },

    /* Adam and AdamW, which compute the first moment with mul_ and add_, or with lerp_; and SGD with momentum */
    { WS_NAMED_LOOP_OPTIMIZER, { MUL | MAYBE, MUL, ADD, MUL, ADDCMUL, SQRT, MUL | DIV | MAYBE, ADD, ADDCDIV },
      ADDCDIV, "aten::addcdiv", NULL, 7.0 / 4 },
    { WS_NAMED_LOOP_OPTIMIZER, { MUL | ADD | MAYBE, LERP, MUL, ADDCMUL, SQRT, MUL | DIV | MAYBE, ADD, ADDCDIV },
      ADDCDIV, "aten::addcdiv", NULL, 7.0 / 4 },
    { WS_NAMED_LOOP_OPTIMIZER, { ADD | MAYBE, MUL, ADD, ADD }, MUL, "aten::mul_", sgd, 5.0 / 3 },

    { WS_NAMED_FOREACH_OPTIMIZER,
      { SCALAR | LIST | MAYBE, SCALAR | MAYBE, LIST | BLEND, SCALAR, POINT, UNARY, SCALAR | LIST | MAYBE,
        SCALAR | LIST, POINT },
      POINT, "aten::_foreach_addc", NULL, 7.0 / 4 },
    { WS_NAMED_FOREACH_OPTIMIZER, { LIST | MAYBE, SCALAR, LIST }, SCALAR, "aten::_foreach_mul_", sgd, 1 },
};
/* clang-format on */

enum { TABLE_ROWS = sizeof(table) / sizeof(table[0]) };

/* Maps parts of kernel names to pieces (what the kernel computes). If a name contains several parts, the first one in
 * the list counts. */
static const struct word {
    const char *text;
    uint32_t piece;
} pass_words[] = {
    { "BinaryOpScalarFunctor", SCALAR },
    { "BinaryOpScalarListFunctor", SCALAR },
    { "BinaryOpListAlphaFunctor", LIST },
    { "TernaryOpScalarFunctor", BLEND },
    { "TernaryOpListFunctor", BLEND },
    { "PointwiseOpScalar", POINT },
    { "PointwiseOpList", POINT },
    { "UnaryOpFunctor", UNARY },
}, kernel_words[] = {
    { "FillFunctor", WS_PIECE_IGNORED },
    { "pow_tensor_scalar", POW },
    { "rsqrt_kernel_cuda", RSQRT },
    { "sqrt_kernel_cuda", SQRT },
    { "neg_kernel_cuda", NEG },
    { "addcmul_cuda", ADDCMUL },
    { "addcdiv_cuda", ADDCDIV },
    { "lerp_scalar_kernel", LERP },
    { "lerp_tensor_kernel", LERP },
    { "CUDAFunctor_add", ADD },
    { "CUDAFunctorOnSelf_add", ADD },
    { "CUDAFunctorOnOther_add", ADD },
    { "AddFunctor", ADD },
    { "MulFunctor", MUL },
    { "DivFunctor", DIV },
    { "div_true_kernel_cuda", DIV },
    { "copy_kernel_cuda", CAST },
};

static uint32_t piece_by_words(const struct word *words, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strstr(name, words[i].text))
            return words[i].piece;
    return WS_PIECE_OTHER;
}

uint32_t ws_piece_of(const struct ws_op_name *name)
{
    if (name->kind != WS_OP_KERNEL)
        return name->kind == WS_OP_MEMSET ? WS_PIECE_IGNORED : WS_PIECE_OTHER;
    if (strstr(name->text, "multi_tensor_apply_kernel"))
        return piece_by_words(pass_words, sizeof(pass_words) / sizeof(pass_words[0]), name->text);
    if (strstr(name->text, "reduce_kernel"))
        return strstr(name->text, "MeanOps") ? MEAN : WS_PIECE_OTHER;
    if (strstr(name->text, "CatArrayBatchedCopy"))
        return CAT;
    if (!strstr(name->text, "elementwise_kernel"))
        return WS_PIECE_OTHER;
    uint32_t piece = piece_by_words(kernel_words, sizeof(kernel_words) / sizeof(kernel_words[0]), name->text);
    /* A copy that does not change the type only changes the layout. A fused kernel may need the new layout as well,
     * so the copy is no piece of a pattern. */
    return piece == CAST && strstr(name->text, "nocast") ? WS_PIECE_OTHER : piece;
}

/* Compares a pattern with the start of `pieces`. `places` holds the pieces that the pattern allows at each place.
 * Returns the number of pieces that match, or -1 if the pattern does not match. */
static int fit(const uint32_t *places, const uint32_t *pieces, uint32_t count)
{
    if (!*places)
        return 0;
    if (count && (*places & *pieces)) {
        int rest = fit(places + 1, pieces + 1, count - 1);
        if (rest >= 0)
            return rest + 1;
    }
    return *places & MAYBE ? fit(places + 1, pieces, count) : -1;
}

const struct ws_pattern *ws_pattern_find(const uint32_t *pieces, uint32_t count, uint32_t *at, uint32_t *length)
{
    uint32_t present = 0;
    for (uint32_t i = 0; i < count; i++)
        present |= pieces[i];
    while (*at < TABLE_ROWS) {
        const struct ws_pattern *pattern = &table[(*at)++];
        if (!(pattern->key & present))
            continue;
        int fits = fit(pattern->pieces, pieces, count);
        if (fits > 0) {
            *length = (uint32_t)fits;
            return pattern;
        }
    }
    return NULL;
}

uint32_t ws_pattern_keys(bool with_ranges)
{
    uint32_t keys = 0;
    for (size_t i = 0; i < TABLE_ROWS; i++)
        keys |= !table[i].range || with_ranges ? table[i].key : 0;
    return keys;
}
