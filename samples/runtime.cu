/* A program that uses the CUDA runtime API, as most CUDA C++ programs do: two streams, asynchronous copies from
 * pinned memory, a kernel too small for the device beside a kernel that fills it, and a graph.
 *
 *   nvcc -o runtime samples/runtime.cu && ./runtime [STEPS]
 *
 * The output is the same in every run. */
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

static void check(cudaError_t error, const char *call)
{
    if (error == cudaSuccess)
        return;
    std::fprintf(stderr, "%s: %s\n", call, cudaGetErrorString(error));
    std::exit(error == cudaErrorNoDevice || error == cudaErrorInsufficientDriver ? 77 : EXIT_FAILURE);
}
#define CHECK(call) check((call), #call)

__global__ void smooth(float *out, const float *in, unsigned n, unsigned rounds)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float value = in[i];
    for (unsigned round = 0; round < rounds; round++)
        value = 0.5f * value + 0.25f * (value * value - 0.5f);
    out[i] = value;
}

__global__ void tiny(unsigned *counter)
{
    *counter += 1;
}

__global__ void add_up(unsigned long long *sum, const float *in, unsigned n)
{
    /* Whole numbers, so that the order of the additions does not matter. */
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        atomicAdd(sum, (unsigned long long)(in[i] * 65536.0f + 131072.0f));
}

int main(int argc, char **argv)
{
    const unsigned n = 1 << 20, halves = 2, part = n / halves;
    const int steps = argc > 1 ? std::atoi(argv[1]) : 50;
    float *host, *in, *out;
    unsigned *counter;
    unsigned long long *sum, total = 0;
    cudaStream_t streams[halves];

    CHECK(cudaMallocHost(&host, n * sizeof(float)));
    CHECK(cudaMalloc(&in, n * sizeof(float)));
    CHECK(cudaMalloc(&out, n * sizeof(float)));
    CHECK(cudaMalloc(&counter, sizeof(*counter)));
    CHECK(cudaMalloc(&sum, sizeof(*sum)));
    CHECK(cudaMemset(counter, 0, sizeof(*counter)));
    CHECK(cudaMemset(sum, 0, sizeof(*sum)));
    for (auto &stream : streams)
        CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (unsigned i = 0; i < n; i++)
        host[i] = (float)(i % 1000) / 1000.0f;
    CHECK(cudaDeviceSynchronize());

    /* Each half of the data has its own stream. The copies of one half overlap the kernel of the other half. */
    for (int step = 0; step < steps; step++) {
        for (unsigned half = 0; half < halves; half++) {
            size_t at = (size_t)half * part;
            CHECK(cudaMemcpyAsync(in + at, host + at, part * sizeof(float), cudaMemcpyHostToDevice, streams[half]));
            smooth<<<(part + 255) / 256, 256, 0, streams[half]>>>(out + at, in + at, part, 64);
        }
        tiny<<<1, 1, 0, streams[0]>>>(counter);
        for (auto &stream : streams)
            CHECK(cudaStreamSynchronize(stream));
    }

    /* A graph of 20 small launches, launched once per step. */
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    CHECK(cudaStreamBeginCapture(streams[0], cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < 20; i++)
        tiny<<<1, 1, 0, streams[0]>>>(counter);
    CHECK(cudaStreamEndCapture(streams[0], &graph));
    CHECK(cudaGraphInstantiate(&executable, graph, 0));
    for (int step = 0; step < steps; step++)
        CHECK(cudaGraphLaunch(executable, streams[0]));
    add_up<<<(n + 255) / 256, 256, 0, streams[0]>>>(sum, out, n);
    CHECK(cudaGetLastError());

    unsigned count = 0;
    CHECK(cudaStreamSynchronize(streams[0]));
    CHECK(cudaMemcpy(&count, counter, sizeof(count), cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(&total, sum, sizeof(total), cudaMemcpyDeviceToHost));
    std::printf("tiny ran %u times, checksum %016llx\n", count, total);
    CHECK(cudaGraphExecDestroy(executable));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaFreeHost(host));
    return 0;
}
