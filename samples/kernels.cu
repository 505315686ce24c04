/* The kernels of the samples. They are simple, so that a profiler's statements about them are easy to check.
 *
 * kernels.ptx is made from this file by samples/make_kernels, so that no toolkit is needed to run a sample. The simulated
 * GPU has functions of the same names and parameters. The output comes first; matrices are row-major float32.
 *
 * Launch the pointwise kernels with at least n threads in x, the row kernels (layer_norm, softmax) with one block of 256
 * threads a row, the matrix products with blocks of 16×16 threads, a thread for each element of C (x along N), and the
 * reductions (reduce_sum, mse_loss) with one block of 256 threads.
 */

#define TILE 16
#define ROW_THREADS 256

__device__ static unsigned index_x()
{
    return blockIdx.x * blockDim.x + threadIdx.x;
}

/* Returns the sum of `value` over the block's 256 threads, in every thread. */
__device__ static float block_sum(float value)
{
    __shared__ float part[ROW_THREADS];
    part[threadIdx.x] = value;
    __syncthreads();
    for (unsigned half = ROW_THREADS / 2; half; half /= 2) {
        if (threadIdx.x < half)
            part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    value = part[0];
    __syncthreads();
    return value;
}

__device__ static float block_max(float value)
{
    __shared__ float part[ROW_THREADS];
    part[threadIdx.x] = value;
    __syncthreads();
    for (unsigned half = ROW_THREADS / 2; half; half /= 2) {
        if (threadIdx.x < half)
            part[threadIdx.x] = fmaxf(part[threadIdx.x], part[threadIdx.x + half]);
        __syncthreads();
    }
    value = part[0];
    __syncthreads();
    return value;
}

/* GELU in its tanh form. */
__device__ static float gelu_of(float x)
{
    return 0.5f * x * (1.0f + tanhf(0.7978845608f * (x + 0.044715f * x * x * x)));
}

/* Keeps an element with probability 1 - p. The same seed and index always give the same result. */
__device__ static float dropout_of(float x, float p, unsigned seed, unsigned i)
{
    unsigned h = (i + 1) * 2654435761u ^ seed;
    h ^= h >> 16;
    h *= 2246822519u;
    h ^= h >> 13;
    h *= 3266489917u;
    h ^= h >> 16;
    return (float)(h >> 8) * (1.0f / 16777216.0f) < p ? 0.0f : x / (1.0f - p);
}

extern "C" {

__global__ void spin(unsigned long long ns)
{
    unsigned long long start, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
    do {
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    } while (now - start < ns);
}

__global__ void fill_f32(float *out, float value, unsigned n)
{
    unsigned i = index_x();
    if (i < n)
        out[i] = value;
}

__global__ void vector_add(float *out, const float *a, const float *b, unsigned n)
{
    unsigned i = index_x();
    if (i < n)
        out[i] = a[i] + b[i];
}

__global__ void saxpy(float *y, const float *x, float a, unsigned n)
{
    unsigned i = index_x();
    if (i < n)
        y[i] += a * x[i];
}

__global__ void scale(float *out, const float *in, float factor, unsigned n)
{
    unsigned i = index_x();
    if (i < n)
        out[i] = in[i] * factor;
}

__global__ void relu(float *out, const float *in, unsigned n)
{
    unsigned i = index_x();
    if (i < n)
        out[i] = fmaxf(in[i], 0.0f);
}

__global__ void gelu(float *out, const float *in, unsigned n)
{
    unsigned i = index_x();
    if (i < n)
        out[i] = gelu_of(in[i]);
}

__global__ void gelu_grad(float *out, const float *in, const float *grad, unsigned n)
{
    unsigned i = index_x();
    if (i >= n)
        return;
    float x = in[i], t = tanhf(0.7978845608f * (x + 0.044715f * x * x * x));
    float inner = 0.7978845608f * (1.0f + 3.0f * 0.044715f * x * x);
    out[i] = grad[i] * (0.5f * (1.0f + t) + 0.5f * x * (1.0f - t * t) * inner);
}

__global__ void bias_add(float *out, const float *in, const float *bias, unsigned n, unsigned columns)
{
    unsigned i = index_x();
    if (i < n)
        out[i] = in[i] + bias[i % columns];
}

__global__ void bias_grad(float *out, const float *grad, unsigned rows, unsigned columns)
{
    unsigned column = index_x();
    if (column >= columns)
        return;
    float sum = 0.0f;
    for (unsigned row = 0; row < rows; row++)
        sum += grad[row * columns + column];
    out[column] = sum;
}

__global__ void dropout(float *out, const float *in, float p, unsigned seed, unsigned n)
{
    unsigned i = index_x();
    if (i < n)
        out[i] = dropout_of(in[i], p, seed, i);
}

/* bias_add, gelu and dropout in one pass over memory. `before` gets the input of gelu, which gelu_grad needs. */
__global__ void bias_gelu_dropout(float *out, float *before, const float *in, const float *bias, float p, unsigned seed,
                                  unsigned n, unsigned columns)
{
    unsigned i = index_x();
    if (i >= n)
        return;
    float x = in[i] + bias[i % columns];
    before[i] = x;
    out[i] = dropout_of(gelu_of(x), p, seed, i);
}

__global__ void add_residual(float *out, const float *in, const float *residual, unsigned n)
{
    unsigned i = index_x();
    if (i < n)
        out[i] = in[i] + residual[i];
}

__global__ void layer_norm(float *out, const float *in, unsigned rows, unsigned columns)
{
    if (blockIdx.x >= rows)
        return;
    const float *row = in + (size_t)blockIdx.x * columns;
    float sum = 0.0f, squares = 0.0f;
    for (unsigned i = threadIdx.x; i < columns; i += ROW_THREADS)
        sum += row[i];
    float mean = block_sum(sum) / columns;
    for (unsigned i = threadIdx.x; i < columns; i += ROW_THREADS)
        squares += (row[i] - mean) * (row[i] - mean);
    float inverse = rsqrtf(block_sum(squares) / columns + 1e-5f);
    for (unsigned i = threadIdx.x; i < columns; i += ROW_THREADS)
        out[(size_t)blockIdx.x * columns + i] = (row[i] - mean) * inverse;
}

__global__ void softmax(float *out, const float *in, unsigned rows, unsigned columns)
{
    if (blockIdx.x >= rows)
        return;
    const float *row = in + (size_t)blockIdx.x * columns;
    float *to = out + (size_t)blockIdx.x * columns;
    float most = row[0], sum = 0.0f;
    for (unsigned i = threadIdx.x; i < columns; i += ROW_THREADS)
        most = fmaxf(most, row[i]);
    most = block_max(most);
    for (unsigned i = threadIdx.x; i < columns; i += ROW_THREADS)
        sum += expf(row[i] - most);
    sum = block_sum(sum);
    for (unsigned i = threadIdx.x; i < columns; i += ROW_THREADS)
        to[i] = expf(row[i] - most) / sum;
}

/* out[M,N] = op(a) · op(b): the strides give the memory layout of the operands. */
__device__ static void product(float *out, const float *a, const float *b, unsigned m, unsigned n, unsigned k,
                               unsigned a_row, unsigned a_column, unsigned b_row, unsigned b_column)
{
    __shared__ float tile_a[TILE][TILE], tile_b[TILE][TILE];
    unsigned row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
    float sum = 0.0f;
    for (unsigned at = 0; at < k; at += TILE) {
        unsigned ka = at + threadIdx.x, kb = at + threadIdx.y;
        tile_a[threadIdx.y][threadIdx.x] = row < m && ka < k ? a[(size_t)row * a_row + (size_t)ka * a_column] : 0.0f;
        tile_b[threadIdx.y][threadIdx.x] = kb < k && column < n ? b[(size_t)kb * b_row + (size_t)column * b_column] : 0.0f;
        __syncthreads();
        for (unsigned i = 0; i < TILE; i++)
            sum += tile_a[threadIdx.y][i] * tile_b[i][threadIdx.x];
        __syncthreads();
    }
    if (row < m && column < n)
        out[(size_t)row * n + column] = sum;
}

/* C[M,N] = A[M,K] · B[K,N] */
__global__ void sgemm(float *c, const float *a, const float *b, unsigned m, unsigned n, unsigned k)
{
    product(c, a, b, m, n, k, k, 1, n, 1);
}

/* C[M,N] = A[M,K] · B[N,K]ᵀ */
__global__ void sgemm_nt(float *c, const float *a, const float *b, unsigned m, unsigned n, unsigned k)
{
    product(c, a, b, m, n, k, k, 1, 1, k);
}

/* C[M,N] = A[K,M]ᵀ · B[K,N] */
__global__ void sgemm_tn(float *c, const float *a, const float *b, unsigned m, unsigned n, unsigned k)
{
    product(c, a, b, m, n, k, 1, m, n, 1);
}

__global__ void reduce_sum(float *out, const float *in, unsigned n)
{
    float sum = 0.0f;
    for (unsigned i = threadIdx.x; i < n; i += ROW_THREADS)
        sum += in[i];
    sum = block_sum(sum);
    if (!threadIdx.x)
        *out = sum;
}

/* Mean of the squared differences. */
__global__ void mse_loss(float *out, const float *prediction, const float *target, unsigned n)
{
    float sum = 0.0f;
    for (unsigned i = threadIdx.x; i < n; i += ROW_THREADS)
        sum += (prediction[i] - target[i]) * (prediction[i] - target[i]);
    sum = block_sum(sum);
    if (!threadIdx.x)
        *out = sum / n;
}

__global__ void mse_grad(float *out, const float *prediction, const float *target, unsigned n)
{
    unsigned i = index_x();
    if (i < n)
        out[i] = 2.0f / n * (prediction[i] - target[i]);
}

__global__ void sgd_update(float *weights, const float *grad, float rate, unsigned n)
{
    unsigned i = index_x();
    if (i < n)
        weights[i] -= rate * grad[i];
}

__global__ void embedding(float *out, const float *table, const int *ids, unsigned count, unsigned columns)
{
    unsigned i = index_x();
    if (i < count * columns)
        out[i] = table[(size_t)ids[i / columns] * columns + i % columns];
}
}
