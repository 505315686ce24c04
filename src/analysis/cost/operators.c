#include "analysis/cost/operators.h"
#include "analysis/kernels/classify.h"

#include <math.h>
#include <string.h>

typedef bool cost_function(const struct ws_operator *entry, const struct ws_tensor *tensors, size_t count,
                           struct ws_operator_cost *cost);

struct ws_operator {
    const char *name; /* the operator's name; a '*' at the end stands for any text: "triton_*" means all names that
                         begin with triton_ */
    cost_function *cost;
    const char *inputs; /* letters for the inputs; each cost function explains its letters */
    double flops;       /* FLOPs per element of the largest tensor; only cost_moves uses it */
    bool matmul;
};

static bool is_matrix(const struct ws_tensor *tensor, uint32_t rank)
{
    return tensor->known && tensor->rank == rank;
}

static void set_product(struct ws_operator_cost *cost, double batch, double m, double n, double k)
{
    cost->batch = batch;
    cost->m = m;
    cost->n = n;
    cost->k = k;
    cost->flops = 2 * batch * m * n * k;
}

/* A[m,k] · B[k,n]: both have two dimensions, or both have three dimensions with the batch first. `inputs` has one
 * letter for each input before A: "" or "b" (bias). */
static bool cost_product(const struct ws_operator *entry, const struct ws_tensor *tensors, size_t count,
                         struct ws_operator_cost *cost)
{
    size_t first = strlen(entry->inputs);
    if (count < first + 2)
        return false;
    const struct ws_tensor *a = &tensors[first], *b = &tensors[first + 1];
    uint32_t batched = a->rank == 3;
    if (!is_matrix(a, 2 + batched) || !is_matrix(b, 2 + batched) || a->size[1 + batched] != b->size[batched] ||
        (batched && a->size[0] != b->size[0]))
        return false;
    set_product(cost, batched ? a->size[0] : 1, a->size[batched], b->size[1 + batched], b->size[batched]);
    cost->element = a->element;
    cost->columns = entry->name[0] == 'c'; /* matrices of cublas* operators are column-major, as in BLAS */
    /* We assume that the result has the type of the inputs, but at least 16 bits per element if the inputs are fp8 or
     * int8. */
    double out_bytes = a->element_bytes > 1 ? a->element_bytes : 2;
    cost->bytes = ws_tensor_bytes(a) + ws_tensor_bytes(b) + cost->batch * cost->m * cost->n * out_bytes;
    return true;
}

/* The product of a linear layer: x[…,k] · W[n,k]ᵀ. */
static bool cost_linear(const struct ws_operator *entry, const struct ws_tensor *tensors, size_t count,
                        struct ws_operator_cost *cost)
{
    (void)entry;
    if (count < 2 || !tensors[0].known || !tensors[0].rank || !is_matrix(&tensors[1], 2))
        return false;
    double k = tensors[1].size[1], m = k > 0 ? tensors[0].elements / k : 0;
    if (tensors[0].size[tensors[0].rank - 1] != k)
        return false;
    set_product(cost, 1, m, tensors[1].size[0], k);
    cost->element = tensors[0].element;
    cost->bytes = ws_tensor_bytes(&tensors[0]) + ws_tensor_bytes(&tensors[1]) +
                  m * cost->n * (tensors[0].element_bytes > 1 ? tensors[0].element_bytes : 2);
    return true;
}

/* Is attention causal? 1: yes, 0: no, -1: not known. In every form and version of the operator, the first single
 * value after the dropout argument gives the answer: a boolean, or the kind of the mask (0: no mask). The dropout
 * argument is the first value with a decimal point. So the function skips lists and tensors after the dropout
 * argument, and takes the first single value. */
static int is_causal(const struct ws_tensor *tensors, size_t count)
{
    size_t i = 0;
    while (i < count && !tensors[i].fraction)
        i++;
    for (i++; i < count; i++)
        if (tensors[i].values == 1)
            return tensors[i].fraction ? -1 : tensors[i].value[0] > 0;
    return -1;
}

/* Attention over Q, K and V, each with four dimensions. The letters of `inputs` give the order of the two middle
 * dimensions: h = heads, n = sequence. A leading g means that the first input is the gradient of the output. The
 * backward pass computes the scores again, so it has five matrix products; the forward pass has two. Causal attention
 * needs only half of the scores if there are as many keys as queries. */
static bool cost_attention(const struct ws_operator *entry, const struct ws_tensor *tensors, size_t count,
                           struct ws_operator_cost *cost)
{
    bool backward = entry->inputs[0] == 'g';
    const char *order = entry->inputs + backward;
    const struct ws_tensor *q = &tensors[backward], *k = q + 1, *v = q + 2;
    if (count < 3u + backward || !is_matrix(q, 4) || !is_matrix(k, 4) || !is_matrix(v, 4))
        return false;
    int heads = order[0] == 'h' ? 1 : 2, sequence = 3 - heads;
    double scores = q->size[0] * q->size[heads] * q->size[sequence] * k->size[sequence];
    cost->flops = (backward ? 5 : 2) * scores * (q->size[3] + v->size[3]);
    cost->bytes = 2 * ws_tensor_bytes(q) + ws_tensor_bytes(k) + ws_tensor_bytes(v);
    if (backward)
        cost->bytes *= 2;
    cost->element = q->element;
    cost->batch = q->size[0];
    cost->heads = q->size[heads];
    cost->queries = q->size[sequence];
    cost->keys = k->size[sequence];
    cost->head_size = q->size[3];
    cost->backward = backward;
    int causal = is_causal(tensors, count);
    bool is_square = cost->queries == cost->keys;
    cost->causal = causal < 0  ? WS_CAUSAL_UNKNOWN
                   : !causal   ? WS_CAUSAL_NO
                   : is_square ? WS_CAUSAL_HALVED
                               : WS_CAUSAL_NOT_HALVED;
    if (cost->causal == WS_CAUSAL_UNKNOWN)
        cost->note = "the trace does not say whether it is causal: counted in full, which is twice the work if it is";
    else if (cost->causal == WS_CAUSAL_HALVED)
        cost->flops /= 2;
    else if (cost->causal == WS_CAUSAL_NOT_HALVED)
        cost->note = "causal, but numbers of keys and queries differ: counted in full, which is an upper limit";
    return true;
}

/* Returns the input with this letter; NULL: none. */
static const struct ws_tensor *input_named(const struct ws_operator *entry, const struct ws_tensor *tensors,
                                           size_t count, char letter)
{
    const char *at = strchr(entry->inputs, letter);
    return at && (size_t)(at - entry->inputs) < count ? &tensors[at - entry->inputs] : NULL;
}

/* Reads the value for a dimension from an argument such as the stride of a convolution: a list with one value per
 * dimension, or one value for all dimensions. */
static bool value_of(const struct ws_tensor *list, uint32_t dimension, double *value)
{
    if (!list || !list->values || (list->values > 1 && dimension >= list->values))
        return false;
    *value = list->value[list->values > 1 ? dimension : 0];
    return true;
}

/* Returns the number of sites that a convolution writes: output elements per channel, summed over all images of the
 * batch. 0: not known. */
static double sites_written(const struct ws_operator *entry, const struct ws_tensor *tensors, size_t count,
                            bool transposed)
{
    const struct ws_tensor *input = input_named(entry, tensors, count, 'i');
    const struct ws_tensor *weight = input_named(entry, tensors, count, 'w');
    double sites = input->size[0];
    for (uint32_t i = 0; i + 2 < input->rank; i++) {
        double stride, padding, dilation, more = 0, in = input->size[i + 2];
        if (!value_of(input_named(entry, tensors, count, 's'), i, &stride) ||
            !value_of(input_named(entry, tensors, count, 'p'), i, &padding) ||
            !value_of(input_named(entry, tensors, count, 'd'), i, &dilation) || !(stride >= 1) ||
            (transposed && !value_of(input_named(entry, tensors, count, 'o'), i, &more)))
            return 0;
        double reach = dilation * (weight->size[i + 2] - 1) - 2 * padding;
        double out = transposed ? (in - 1) * stride + reach + more + 1 : floor((in - 1 - reach) / stride) + 1;
        if (!(out >= 1))
            return 0;
        sites *= out;
    }
    return sites;
}

static double sites_of(const struct ws_tensor *tensor)
{
    return tensor->elements / tensor->size[1];
}

/* A convolution. `inputs` has one letter per input: i = input, w = weight, s = stride, p = padding, d = dilation, t =
 * transposed, o = output padding, g = groups, '-' = not used. The convolution uses each element of the weight once
 * per output site (position in the output). A transposed convolution uses it once per input site. */
static bool cost_convolution(const struct ws_operator *entry, const struct ws_tensor *tensors, size_t count,
                             struct ws_operator_cost *cost)
{
    const struct ws_tensor *input = input_named(entry, tensors, count, 'i');
    const struct ws_tensor *weight = input_named(entry, tensors, count, 'w');
    double transposed = 0, groups = 1;
    if (!input || !weight || input->rank < 3 || !is_matrix(input, weight->rank) || !weight->known ||
        !(input->elements > 0) ||
        (strchr(entry->inputs, 't') && !value_of(input_named(entry, tensors, count, 't'), 0, &transposed)) ||
        !value_of(input_named(entry, tensors, count, 'g'), 0, &groups))
        return false;
    double sites = sites_written(entry, tensors, count, transposed > 0);
    double channels = transposed > 0 ? weight->size[1] * groups : weight->size[0];
    if (!(sites > 0) || input->size[1] != (transposed > 0 ? weight->size[0] : weight->size[1] * groups))
        return false;
    cost->flops = 2 * weight->elements * (transposed > 0 ? sites_of(input) : sites);
    cost->bytes = ws_tensor_bytes(input) + ws_tensor_bytes(weight) + sites * channels * input->element_bytes;
    cost->element = input->element;
    return true;
}

/* The gradients of a convolution. `inputs` has one letter per input: y = gradient of the output, i = input, w =
 * weight, t = transposed, m = mask of the gradients to compute, '-' = not used. */
static bool cost_convolution_backward(const struct ws_operator *entry, const struct ws_tensor *tensors, size_t count,
                                      struct ws_operator_cost *cost)
{
    const struct ws_tensor *output = input_named(entry, tensors, count, 'y');
    const struct ws_tensor *input = input_named(entry, tensors, count, 'i');
    const struct ws_tensor *weight = input_named(entry, tensors, count, 'w');
    const struct ws_tensor *wanted = input_named(entry, tensors, count, 'm');
    double transposed = 0, gradients = 1;
    if (!output || !weight || output->rank < 3 || !is_matrix(output, weight->rank) || !weight->known ||
        !(output->elements > 0) ||
        (strchr(entry->inputs, 't') && !value_of(input_named(entry, tensors, count, 't'), 0, &transposed)))
        return false;
    if (strchr(entry->inputs, 'm')) {
        if (!wanted || wanted->values != 3)
            return false;
        gradients = (wanted->value[0] > 0) + (wanted->value[1] > 0);
    }
    double input_bytes = sites_of(output) * weight->size[1] * output->element_bytes;
    if (!strchr(entry->inputs, 'i'))
        cost->note =
            "the size of the convolution's input is not in the trace; assumed to be no smaller than its result";
    else if (is_matrix(input, output->rank) && input->elements > 0)
        input_bytes = ws_tensor_bytes(input);
    else
        return false;
    cost->flops = gradients * 2 * weight->elements * sites_of(transposed > 0 ? input : output);
    cost->bytes = gradients * (ws_tensor_bytes(output) + ws_tensor_bytes(weight) + input_bytes);
    cost->element = output->element;
    return cost->flops > 0;
}

/* Reads a cuDNN graph as FORMAT.md describes it: the multiplied tensors, a flag that says whether a mask or sequence
 * lengths may leave out parts of the products, then the other tensors. A tensor that the graph neither reads from nor
 * writes to memory has no type in the list, and so adds no bytes. The same holds for a tensor that is already in the
 * list. */
static void set_graph(const struct ws_tensor *tensors, size_t count, struct ws_operator_cost *cost)
{
    for (size_t i = 0; i < count; i++) {
        cost->bytes += tensors[i].rank ? ws_tensor_bytes(&tensors[i]) : 0;
        if (tensors[i].rank && tensors[i].known && cost->element == WS_ELEMENT_UNKNOWN)
            cost->element = tensors[i].element;
        if (!tensors[i].rank && tensors[i].values == 1 && tensors[i].value[0] > 0)
            cost->note = "the trace does not say what masks or sequence lengths skip: counted in full, "
                         "which is an upper limit";
    }
}

/* A convolution of cuDNN: input, filter and result, each a tensor or its gradient. The computation uses each element
 * of the filter once per site (position) of the result. This holds no matter which of the three tensors is
 * computed. */
static bool cost_filter(const struct ws_operator *entry, const struct ws_tensor *tensors, size_t count,
                        struct ws_operator_cost *cost)
{
    const struct ws_tensor *image = &tensors[0], *filter = &tensors[1], *result = &tensors[2];
    (void)entry;
    if (count < 3 || image->rank < 3 || filter->rank != image->rank || result->rank != image->rank ||
        result->size[1] != filter->size[0] || !(filter->size[1] > 0) || fmod(image->size[1], filter->size[1]) > 0 ||
        !(result->size[1] > 0))
        return false;
    cost->flops = 2 * filter->elements * sites_of(result);
    set_graph(tensors, count, cost);
    return cost->flops > 0 && cost->element != WS_ELEMENT_UNKNOWN;
}

/* Matrix products A[…,m,k] · B[…,k,n] = C[…,m,n]. `tensors` lists A, B and C of each product, one product after
 * another. Attention has two products, and its backward pass has five. */
static bool cost_products(const struct ws_operator *entry, const struct ws_tensor *tensors, size_t count,
                          struct ws_operator_cost *cost)
{
    size_t gemms = 0;
    (void)entry;
    for (size_t i = 0; i + 2 < count && tensors[i].rank >= 2; i += 3) {
        const struct ws_tensor *a = &tensors[i], *b = a + 1, *c = a + 2;
        double m = a->size[a->rank - 2], k = a->size[a->rank - 1], n = b->rank == a->rank ? b->size[b->rank - 1] : 0;
        if (c->rank != a->rank || !(m > 0) || !(n > 0) || b->size[b->rank - 2] != k || c->size[c->rank - 2] != m ||
            c->size[c->rank - 1] != n)
            return false;
        double flops = cost->flops + 2 * c->elements * k;
        set_product(cost, c->elements / (m * n), m, n, k);
        cost->flops = flops;
        gemms++;
    }
    if (gemms != 1)
        cost->m = cost->n = cost->k = cost->batch = 0;
    set_graph(tensors, count, cost);
    return cost->flops > 0 && cost->element != WS_ELEMENT_UNKNOWN;
}

/* Operators with little arithmetic. `inputs` has one letter per input: r = read, w = written, x = read and written,
 * '-' = not counted, because the operator moves only a part of this input or nothing of it. One more letter after
 * those of the inputs stands for an output that is not among the inputs: o = as large as the largest input, p = one
 * byte per element of the largest input. "*" means r for all inputs. */
static bool cost_moves(const struct ws_operator *entry, const struct ws_tensor *tensors, size_t count,
                       struct ws_operator_cost *cost)
{
    const struct ws_tensor *largest = NULL;
    const char *letter = entry->inputs;
    bool all = *letter == '*';
    for (size_t i = 0; i < count && (all || (*letter && *letter != 'o' && *letter != 'p')); i++) {
        char how = 'r';
        if (!all)
            how = *letter++;
        if (how == '-' || !tensors[i].known)
            continue;
        cost->bytes += ws_tensor_bytes(&tensors[i]) * (how == 'x' ? 2 : 1);
        cost->written += how == 'r' ? 0 : ws_tensor_bytes(&tensors[i]);
        if (!largest || tensors[i].elements > largest->elements)
            largest = &tensors[i];
    }
    if (!largest)
        return false;
    while (*letter && *letter != 'o' && *letter != 'p')
        letter++;
    double out = *letter ? largest->elements * (*letter == 'o' ? largest->element_bytes : 1) : 0;
    cost->bytes += out;
    cost->written += out;
    cost->flops = entry->flops * largest->elements;
    cost->element = largest->element;
    return true;
}

/* Mixture of experts. The inputs are x[tokens, hidden] and the output of the router, [tokens, experts]. The trace
 * gives neither the number of experts per token nor the sizes of the experts, so only an upper limit of the FLOPs per
 * byte is known. Each expert multiplies its weights with the few rows (tokens) that are routed to it. An element of
 * the weights takes at least half a byte, and needs 2 FLOPs per row. */
static bool cost_experts(const struct ws_operator *entry, const struct ws_tensor *tensors, size_t count,
                         struct ws_operator_cost *cost)
{
    enum { MOST_EXPERTS_A_TOKEN = 8 };
    (void)entry;
    if (count < 2 || !is_matrix(&tensors[0], 2) || !is_matrix(&tensors[1], 2) ||
        tensors[0].size[0] != tensors[1].size[0] || tensors[1].size[1] < 1)
        return false;
    double rows = tensors[0].size[0] * MOST_EXPERTS_A_TOKEN / tensors[1].size[1];
    cost->intensity_most = 2 * rows / 0.5;
    cost->element = tensors[0].element;
    cost->note =
        "the trace does not say how tokens are routed; assumed: at most 8 experts per token, all used equally";
    return true;
}

/* clang-format off */
static const struct ws_operator operators[] = {
    { "aten::mm", cost_product, "", 0, true },
    { "aten::bmm", cost_product, "", 0, true },
    { "aten::matmul", cost_product, "", 0, true },
    { "aten::addmm", cost_product, "b", 0, true },
    { "aten::addbmm", cost_product, "b", 0, true },
    { "aten::baddbmm", cost_product, "b", 0, true },
    { "aten::_addmm_activation", cost_product, "b", 0, true },
    { "aten::_scaled_mm", cost_product, "", 0, true },
    { "aten::_int_mm", cost_product, "", 0, true },
    { "cublas*", cost_product, "", 0, true },
    { "cudnnBackendExecute matmul", cost_products, "", 0, true },
    { "cudnnBackendExecute convolution_*", cost_filter, "", 0, true },
    { "cudnnBackendExecute sdpa_forward", cost_attention, "hn", 0, true },
    { "cudnnBackendExecute sdpa_backward", cost_attention, "ghn", 0, true },
    { "cudnnConvolution*", cost_filter, "", 0, true },
    { "cudnnBackendExecute", cost_moves, "*", 0, false },
    { "aten::linear", cost_linear, "", 0, true },
    { "aten::scaled_dot_product_attention", cost_attention, "hn", 0, true },
    { "aten::_scaled_dot_product_flash_attention", cost_attention, "hn", 0, true },
    { "aten::_scaled_dot_product_efficient_attention", cost_attention, "hn", 0, true },
    { "aten::_scaled_dot_product_cudnn_attention", cost_attention, "hn", 0, true },
    { "aten::_flash_attention_forward", cost_attention, "nh", 0, true },
    { "aten::_efficient_attention_forward", cost_attention, "nh", 0, true },
    { "aten::_scaled_dot_product_flash_attention_backward", cost_attention, "ghn", 0, true },
    { "aten::_scaled_dot_product_efficient_attention_backward", cost_attention, "ghn", 0, true },
    { "aten::_flash_attention_backward", cost_attention, "gnh", 0, true },
    { "aten::_efficient_attention_backward", cost_attention, "gnh", 0, true },
    { "aten::_scaled_dot_product_cudnn_attention_backward", cost_attention, "ghn", 0, true },
    { "aten::convolution", cost_convolution, "iw-spdtog", 0, true },
    { "aten::_convolution", cost_convolution, "iw-spdtog", 0, true },
    { "aten::cudnn_convolution", cost_convolution, "iwpsdg", 0, true },
    { "aten::miopen_convolution", cost_convolution, "iw-psdg", 0, true },
    { "aten::convolution_backward", cost_convolution_backward, "yiw----t--m", 0, true },
    /* Old versions of PyTorch run the input's gradient as a nested operator of its own, so only the weight's gradient
     * is counted for cudnn_convolution_backward. */
    { "aten::cudnn_convolution_backward", cost_convolution_backward, "iyw", 0, true },
    { "aten::cudnn_convolution_backward_input", cost_convolution_backward, "-yw", 0, true },
    { "vllm::moe_forward", cost_experts, "", 0, true },
    { "aten::copy_", cost_moves, "wr", 0, false },
    { "aten::fill_", cost_moves, "w", 0, false },
    { "aten::zero_", cost_moves, "w", 0, false },
    { "aten::add", cost_moves, "rro", 1, false },
    { "aten::sub", cost_moves, "rro", 1, false },
    { "aten::mul", cost_moves, "rro", 1, false },
    { "aten::div", cost_moves, "rro", 1, false },
    { "aten::add_", cost_moves, "xr", 1, false },
    { "aten::sub_", cost_moves, "xr", 1, false },
    { "aten::mul_", cost_moves, "xr", 1, false },
    { "aten::div_", cost_moves, "xr", 1, false },
    { "aten::addcmul", cost_moves, "rrro", 2, false },
    { "aten::addcmul_", cost_moves, "xrr", 2, false },
    { "aten::addcdiv_", cost_moves, "xrr", 2, false },
    { "aten::lerp_", cost_moves, "xr", 2, false },
    { "aten::neg", cost_moves, "ro", 1, false },
    { "aten::abs", cost_moves, "ro", 1, false },
    { "aten::exp", cost_moves, "ro", 1, false },
    { "aten::pow", cost_moves, "rro", 1, false },
    { "aten::sqrt", cost_moves, "ro", 1, false },
    { "aten::rsqrt", cost_moves, "ro", 1, false },
    { "aten::sin", cost_moves, "ro", 1, false },
    { "aten::cos", cost_moves, "ro", 1, false },
    { "aten::tanh", cost_moves, "ro", 1, false },
    { "aten::sigmoid", cost_moves, "ro", 1, false },
    { "aten::silu", cost_moves, "ro", 2, false },
    { "aten::gelu", cost_moves, "ro", 1, false },
    { "aten::relu", cost_moves, "ro", 1, false },
    { "aten::relu_", cost_moves, "x", 1, false },
    { "aten::clamp_min", cost_moves, "ro", 1, false },
    { "aten::clamp_min_", cost_moves, "x", 1, false },
    { "aten::threshold_backward", cost_moves, "rro", 1, false },
    { "aten::gelu_backward", cost_moves, "rro", 1, false },
    { "aten::silu_backward", cost_moves, "rro", 1, false },
    { "aten::tanh_backward", cost_moves, "rro", 1, false },
    { "aten::sigmoid_backward", cost_moves, "rro", 1, false },
    { "aten::masked_fill_", cost_moves, "wr", 0, false },
    { "aten::where", cost_moves, "rrro", 0, false },
    { "aten::eq", cost_moves, "rrp", 0, false },
    { "aten::ne", cost_moves, "rrp", 0, false },
    { "aten::lt", cost_moves, "rrp", 0, false },
    { "aten::gt", cost_moves, "rrp", 0, false },
    { "aten::sum", cost_moves, "r", 1, false },
    { "aten::mean", cost_moves, "r", 1, false },
    { "aten::amax", cost_moves, "r", 1, false },
    { "aten::max", cost_moves, "r", 1, false },
    { "aten::argmax", cost_moves, "r", 0, false },
    { "aten::all", cost_moves, "r", 0, false },
    { "aten::any", cost_moves, "r", 0, false },
    { "aten::var_mean", cost_moves, "r", 3, false },
    { "aten::linalg_vector_norm", cost_moves, "r", 2, false },
    { "aten::_softmax", cost_moves, "ro", 4, false },
    { "aten::_log_softmax", cost_moves, "ro", 4, false },
    { "aten::_softmax_backward_data", cost_moves, "rro", 3, false },
    { "aten::_log_softmax_backward_data", cost_moves, "rro", 3, false },
    { "aten::native_layer_norm", cost_moves, "r-rro", 8, false },
    { "aten::native_group_norm", cost_moves, "rrro", 8, false },
    { "aten::native_batch_norm", cost_moves, "rrrrro", 8, false },
    { "aten::cudnn_batch_norm", cost_moves, "rrrrro", 8, false },
    { "aten::_fused_rms_norm", cost_moves, "r-ro", 4, false },
    { "aten::native_dropout", cost_moves, "ro", 1, false },
    { "_C::rms_norm", cost_moves, "wrr", 4, false },
    { "_C::fused_add_rms_norm", cost_moves, "xxr", 5, false },
    { "_C::rotary_embedding", cost_moves, "rxx", 4, false },
    { "_C::static_scaled_fp8_quant", cost_moves, "wrr", 1, false },
    { "_C::dynamic_scaled_fp8_quant", cost_moves, "wrr", 1, false },
    { "_C::silu_and_mul", cost_moves, "wr", 2, false },
    { "_C_cache_ops::reshape_and_cache_flash", cost_moves, "xx--r", 0, false },
    { "triton_poi_*", cost_moves, "*", 0, false },
    { "triton_red_*", cost_moves, "*", 0, false },
    { "triton_per_*", cost_moves, "*", 0, false },
};
/* clang-format on */

static bool is_named(const struct ws_operator *entry, const char *name, size_t length)
{
    size_t own = strlen(entry->name);
    if (entry->name[own - 1] == '*')
        return length >= own - 1 && !memcmp(entry->name, name, own - 1);
    return length == own && !memcmp(entry->name, name, length);
}

const struct ws_operator *ws_operator_find(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++)
        if (is_named(&operators[i], name, length))
            return &operators[i];
    return NULL;
}

bool ws_operator_is_done_by(const struct ws_operator *entry, enum ws_kernel_class class)
{
    return entry->matmul == ws_class_is_matmul(class) && class != WS_CLASS_COMM;
}

/* Sizes come from the trace and may be absurd. Costs that a device could not compute in a year are rejected, because
 * sums of such costs could overflow to infinity or NaN. (tensors.c limits a tensor to 1e15 elements.) */
bool ws_operator_cost(const struct ws_operator *entry, const struct ws_tensor *tensors, size_t count,
                      struct ws_operator_cost *cost)
{
    const double most = 1e30;
    *cost = (struct ws_operator_cost){ 0 };
    return entry->cost(entry, tensors, count, cost) && cost->flops < most && cost->bytes < most && cost->batch < most;
}
