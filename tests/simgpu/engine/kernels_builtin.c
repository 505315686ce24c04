/* The built-in kernels. The comment beside each kernel lists its parameters. The output pointer comes first. Pointers
 * have 64 bits, n and sizes are 32-bit integers, factors are floats. The PTX that declares these kernels must have
 * the same parameters. */
#include "engine/engine.h"

#include <math.h>

#define F(i) (*(float **)parameters[i])
#define I(i) (*(int **)parameters[i])
#define N(i) ((size_t) * (unsigned *)parameters[i])
#define X(i) (*(float *)parameters[i])

#define RUN(name)                                                                             \
    static void name##_run(void **parameters, const unsigned grid[3] __attribute__((unused)), \
                           const unsigned block[3] __attribute__((unused)))
#define COST(name, what) static double name##_##what(void **parameters)

/* A kernel over n elements. For each element it moves `words` floats and does `operations` FLOPs. */
#define ELEMENTWISE(name, n, words, operations) \
    COST(name, bytes)                           \
    {                                           \
        return 4.0 * (words) * (double)N(n);    \
    }                                           \
    COST(name, flops)                           \
    {                                           \
        return (operations) * (double)N(n);     \
    }                                           \
    RUN(name)

static uint64_t spin_duration(void **parameters, const unsigned grid[3] __attribute__((unused)),
                              const unsigned block[3] __attribute__((unused)))
{
    return *(uint64_t *)parameters[0];
}

ELEMENTWISE(fill_f32, 2, 1, 0) /* parameters: out, value, n */
{
    for (size_t i = 0; i < N(2); i++)
        F(0)[i] = X(1);
}

ELEMENTWISE(vector_add, 3, 3, 1) /* parameters: out, a, b, n */
{
    for (size_t i = 0; i < N(3); i++)
        F(0)[i] = F(1)[i] + F(2)[i];
}

ELEMENTWISE(saxpy, 3, 3, 2) /* parameters: y, x, a, n; computes y += a x */
{
    for (size_t i = 0; i < N(3); i++)
        F(0)[i] += X(2) * F(1)[i];
}

ELEMENTWISE(scale, 3, 2, 1) /* parameters: out, in, factor, n */
{
    for (size_t i = 0; i < N(3); i++)
        F(0)[i] = X(2) * F(1)[i];
}

ELEMENTWISE(relu, 2, 2, 1) /* parameters: out, in, n */
{
    for (size_t i = 0; i < N(2); i++)
        F(0)[i] = F(1)[i] > 0 ? F(1)[i] : 0;
}

static float gelu_of(float x)
{
    return 0.5f * x * (1 + tanhf(0.7978845608f * (x + 0.044715f * x * x * x)));
}

ELEMENTWISE(gelu, 2, 2, 10) /* parameters: out, in, n */
{
    for (size_t i = 0; i < N(2); i++)
        F(0)[i] = gelu_of(F(1)[i]);
}

ELEMENTWISE(gelu_grad, 3, 3, 20) /* parameters: out, in, grad, n */
{
    for (size_t i = 0; i < N(3); i++) {
        float x = F(1)[i], t = tanhf(0.7978845608f * (x + 0.044715f * x * x * x));
        float inner = 0.7978845608f * (1 + 3 * 0.044715f * x * x);
        F(0)[i] = F(2)[i] * (0.5f * (1 + t) + 0.5f * x * (1 - t * t) * inner);
    }
}

ELEMENTWISE(bias_add, 3, 2, 1) /* parameters: out, in, bias, n, columns */
{
    for (size_t i = 0; i < N(3); i++)
        F(0)[i] = F(1)[i] + F(2)[i % N(4)];
}

static float dropout_of(float x, float probability, size_t seed, size_t i)
{
    float keep = 1 - probability;
    uint32_t random = (uint32_t)(i + seed) * 2654435761u;
    random ^= random >> 15;
    random *= 2246822519u;
    random ^= random >> 13;
    return (float)(random >> 8) / 16777216.0f < keep ? x / keep : 0;
}

ELEMENTWISE(dropout, 4, 2, 2) /* parameters: out, in, probability, seed, n */
{
    for (size_t i = 0; i < N(4); i++)
        F(0)[i] = dropout_of(F(1)[i], X(2), N(3), i);
}

/* Does bias_add, gelu and dropout in one kernel. Parameters: out, before, in, bias, probability, seed, n, columns.
 * `before` receives the input of gelu. */
ELEMENTWISE(bias_gelu_dropout, 6, 3, 13)
{
    for (size_t i = 0; i < N(6); i++) {
        float x = F(2)[i] + F(3)[i % N(7)];
        F(1)[i] = x;
        F(0)[i] = dropout_of(gelu_of(x), X(4), N(5), i);
    }
}

ELEMENTWISE(add_residual, 3, 3, 1) /* parameters: out, in, residual, n */
{
    for (size_t i = 0; i < N(3); i++)
        F(0)[i] = F(1)[i] + F(2)[i];
}

ELEMENTWISE(sgd_update, 3, 3, 2) /* parameters: weights, gradients, learning rate, n */
{
    for (size_t i = 0; i < N(3); i++)
        F(0)[i] -= X(2) * F(1)[i];
}

ELEMENTWISE(mse_grad, 3, 3, 2) /* parameters: grad, prediction, target, n */
{
    for (size_t i = 0; i < N(3); i++)
        F(0)[i] = 2 * (F(1)[i] - F(2)[i]) / (float)N(3);
}

ELEMENTWISE(reduce_sum, 2, 1, 1) /* parameters: out (one float), in, n */
{
    double sum = 0;
    for (size_t i = 0; i < N(2); i++)
        sum += F(1)[i];
    F(0)[0] = (float)sum;
}

ELEMENTWISE(mse_loss, 3, 2, 3) /* parameters: out (one float), prediction, target, n */
{
    double sum = 0;
    for (size_t i = 0; i < N(3); i++)
        sum += ((double)F(1)[i] - F(2)[i]) * ((double)F(1)[i] - F(2)[i]);
    F(0)[0] = (float)(sum / (double)N(3));
}

/* A kernel over a matrix of rows × columns. For each element it moves `words` floats and does `operations` FLOPs. */
#define ROWWISE(name, rows, columns, words, operations)              \
    COST(name, bytes)                                                \
    {                                                                \
        return 4.0 * (words) * (double)N(rows) * (double)N(columns); \
    }                                                                \
    COST(name, flops)                                                \
    {                                                                \
        return (operations) * (double)N(rows) * (double)N(columns);  \
    }                                                                \
    RUN(name)

ROWWISE(layer_norm, 2, 3, 2, 8) /* parameters: out, in, rows, columns */
{
    size_t columns = N(3);
    for (size_t row = 0; row < N(2); row++) {
        const float *in = F(1) + row * columns;
        float *out = F(0) + row * columns;
        double sum = 0, squares = 0;
        for (size_t i = 0; i < columns; i++) {
            sum += in[i];
            squares += (double)in[i] * in[i];
        }
        double mean = sum / (double)columns;
        double scale = 1 / sqrt(squares / (double)columns - mean * mean + 1e-5);
        for (size_t i = 0; i < columns; i++)
            out[i] = (float)((in[i] - mean) * scale);
    }
}

ROWWISE(softmax, 2, 3, 2, 6) /* parameters: out, in, rows, columns */
{
    size_t columns = N(3);
    for (size_t row = 0; row < N(2); row++) {
        const float *in = F(1) + row * columns;
        float *out = F(0) + row * columns;
        float largest = in[0], sum = 0;
        for (size_t i = 1; i < columns; i++)
            largest = in[i] > largest ? in[i] : largest;
        for (size_t i = 0; i < columns; i++)
            sum += out[i] = expf(in[i] - largest);
        for (size_t i = 0; i < columns; i++)
            out[i] /= sum;
    }
}

ROWWISE(embedding, 3, 4, 2, 0) /* parameters: out, table, indices, rows, columns */
{
    size_t columns = N(4);
    for (size_t row = 0; row < N(3); row++)
        for (size_t i = 0; i < columns; i++)
            F(0)[row * columns + i] = F(1)[(size_t)I(2)[row] * columns + i];
}

ROWWISE(bias_grad, 2, 3, 1, 1) /* parameters: out (a row), grad, rows, columns */
{
    size_t columns = N(3);
    for (size_t i = 0; i < columns; i++)
        F(0)[i] = 0;
    for (size_t row = 0; row < N(2); row++)
        for (size_t i = 0; i < columns; i++)
            F(0)[i] += F(1)[row * columns + i];
}

/* Matrix products, row-major. Parameters: C, A, B, M, N, K; C is M×N. */
#define PRODUCT(name)                                                \
    COST(name, bytes)                                                \
    {                                                                \
        double m = (double)N(3), n = (double)N(4), k = (double)N(5); \
        return 4 * (m * k + k * n + m * n);                          \
    }                                                                \
    COST(name, flops)                                                \
    {                                                                \
        return 2.0 * (double)N(3) * (double)N(4) * (double)N(5);     \
    }                                                                \
    RUN(name)

PRODUCT(sgemm_nt) /* C = A Bᵀ, where B is N×K */
{
    size_t m = N(3), n = N(4), k = N(5);
    for (size_t row = 0; row < m; row++) {
        for (size_t column = 0; column < n; column++) {
            float sum = 0;
            for (size_t i = 0; i < k; i++)
                sum += F(1)[row * k + i] * F(2)[column * k + i];
            F(0)[row * n + column] = sum;
        }
    }
}

PRODUCT(sgemm_tn) /* C = Aᵀ B, where A is K×M */
{
    size_t m = N(3), n = N(4), k = N(5);
    for (size_t row = 0; row < m; row++) {
        float *out = F(0) + row * n;
        for (size_t i = 0; i < n; i++)
            out[i] = 0;
        for (size_t inner = 0; inner < k; inner++) {
            float factor = F(1)[inner * m + row];
            const float *in = F(2) + inner * n;
            for (size_t i = 0; i < n; i++)
                out[i] += factor * in[i];
        }
    }
}

PRODUCT(sgemm) /* C = A B */
{
    size_t m = N(3), n = N(4), k = N(5);
    for (size_t row = 0; row < m; row++) {
        float *out = F(0) + row * n;
        for (size_t i = 0; i < n; i++)
            out[i] = 0;
        for (size_t inner = 0; inner < k; inner++) {
            float factor = F(1)[row * k + inner];
            const float *in = F(2) + inner * n;
            for (size_t i = 0; i < n; i++)
                out[i] += factor * in[i];
        }
    }
}

#define COUNTED(kernel)                                                                        \
    {                                                                                          \
        .name = #kernel, .run = kernel##_run, .flops = kernel##_flops, .bytes = kernel##_bytes \
    }

const struct sim_kernel sim_kernels[] = {
    { .name = "spin", .duration = spin_duration },
    { .name = "illegal_address", .fault = WS_CUDA_ERROR_ILLEGAL_ADDRESS },
    { .name = "trap", .fault = WS_CUDA_ERROR_LAUNCH_FAILED },
    COUNTED(fill_f32),
    COUNTED(vector_add),
    COUNTED(saxpy),
    COUNTED(scale),
    COUNTED(relu),
    COUNTED(gelu),
    COUNTED(bias_add),
    COUNTED(dropout),
    COUNTED(add_residual),
    COUNTED(layer_norm),
    COUNTED(softmax),
    COUNTED(sgemm),
    COUNTED(reduce_sum),
    COUNTED(sgd_update),
    COUNTED(mse_grad),
    COUNTED(embedding),
    COUNTED(gelu_grad),
    COUNTED(bias_gelu_dropout),
    COUNTED(bias_grad),
    COUNTED(mse_loss),
    COUNTED(sgemm_nt),
    COUNTED(sgemm_tn),
    { .name = NULL },
};
