/* Kernels with known values of the hardware counters. Prints a line for each kernel and number of blocks, with tabs
 * between: name, blocks, launches, bytes and FLOPs of a launch, precision of most of its FLOPs. With "threads", two
 * threads launch at the same time. With "waits", another stream waits until the launching thread writes a value. With
 * "long", a kernel on another stream runs for 3 s. With "late", CUPTI is not ready for the first launches. */
#include "program.h"

#include <dlfcn.h>
#include <pthread.h>

#include "tests/simgpu/simgpu.h"

enum { THREADS = 32 };

/* For each kernel, its bytes and FLOPs per element. The number of elements is the kernel's parameter. */
static const struct kernel {
    const char *name;
    uint64_t read, written, tensor, flops;
    enum simgpu_precision tensor_precision, precision;
    const char *most;
} kernels[] = {
    { "ordinary_fp32", 8, 4, 0, 3, 0, SIMGPU_FP32, "fp32" },
    { "ordinary_fp64", 8, 8, 0, 7, 0, SIMGPU_FP64, "fp64" },
    { "ordinary_fp16", 4, 2, 0, 2, 0, SIMGPU_FP16, "fp16" },
    { "tensor_bf16", 6, 2, 4096, 0, SIMGPU_BF16, 0, "bf16" },
    { "tensor_fp8", 2, 2, 4096, 0, SIMGPU_FP8, 0, "fp8" },
    { "mixed_fp16", 6, 2, 2048, 5, SIMGPU_FP16, SIMGPU_FP32, "fp16" },
    { "seldom_ordinary", 8, 4, 0, 1, 0, SIMGPU_FP32, "fp32" },
    { "seldom_tensor", 8, 4, 1024, 0, SIMGPU_BF16, 0, "bf16" },
    { "background", 400, 400, 0, 11, 0, SIMGPU_FP32, "fp32" },
    { "of_a_graph", 8, 4, 0, 1, 0, SIMGPU_FP32, "fp32" },
};
enum { KERNELS = sizeof(kernels) / sizeof(kernels[0]) };
enum { FP32, FP64, FP16, BF16, FP8, MIXED, SELDOM_ORDINARY, SELDOM_TENSOR, BACKGROUND, OF_A_GRAPH };

static ws_CUfunction functions[KERNELS];
static struct {
    int kernel;
    unsigned blocks;
    int launches;
    uint64_t elements;
} labels[64];
static int label_count;
static pthread_mutex_t label_lock = PTHREAD_MUTEX_INITIALIZER;

#define COUNT(index)                                                                                     \
    static void count_##index(void **parameters, const unsigned grid[3] __attribute__((unused)),         \
                              const unsigned block[3] __attribute__((unused)), struct simgpu_work *work) \
    {                                                                                                    \
        const struct kernel *kernel = &kernels[index];                                                   \
        uint64_t n = *(uint64_t *)parameters[0];                                                         \
        work->bytes_read = kernel->read * n;                                                             \
        work->bytes_written = kernel->written * n;                                                       \
        work->tensor[kernel->tensor_precision] = kernel->tensor * n;                                     \
        work->flops[kernel->precision] = kernel->flops * n;                                              \
    }
COUNT(0)
COUNT(1)
COUNT(2)
COUNT(3)
COUNT(4)
COUNT(5)
COUNT(6)
COUNT(7)
COUNT(8)
COUNT(9)
static const simgpu_count counts[KERNELS] = { count_0, count_1, count_2, count_3, count_4,
                                              count_5, count_6, count_7, count_8, count_9 };

static uint64_t duration(void **parameters, const unsigned grid[3], const unsigned block[3])
{
    (void)grid;
    (void)block;
    return 12000 + *(uint64_t *)parameters[0] / 100;
}

static void open_kernels(void)
{
    char *text = NULL;
    size_t bytes = 0;
    ws_CUmodule module;
    int (*add)(const char *, simgpu_run, simgpu_duration) =
        (int (*)(const char *, simgpu_run, simgpu_duration))dlsym(RTLD_DEFAULT, "simgpuRegisterKernel");
    int (*add_work)(const char *, simgpu_count) =
        (int (*)(const char *, simgpu_count))dlsym(RTLD_DEFAULT, "simgpuRegisterWork");
    if (!add || !add_work) {
        dprintf(STDOUT_FILENO, "skipped: this is not the simulated GPU\n");
        exit(77);
    }
    FILE *image = open_memstream(&text, &bytes);
    if (!image)
        abort();
    fputs(".version 8.0\n.target sm_90\n.address_size 64\n", image);
    for (int i = 0; i < KERNELS; i++) {
        add(kernels[i].name, NULL, duration);
        add_work(kernels[i].name, counts[i]);
        fprintf(image, SPIN_ENTRY("%s"), kernels[i].name, kernels[i].name);
    }
    fclose(image);
    MUST(cuModuleLoadData(&module, text));
    free(text);
    for (int i = 0; i < KERNELS; i++)
        MUST(cuModuleGetFunction(&functions[i], module, kernels[i].name));
}

static void launch(ws_CUstream stream, int kernel, unsigned blocks, uint64_t elements)
{
    void *parameters[] = { &elements };
    MUST(cuLaunchKernel(functions[kernel], blocks, 1, 1, THREADS, 1, 1, 0, stream, parameters, NULL));
    pthread_mutex_lock(&label_lock);
    int i = 0;
    while (i < label_count && (labels[i].kernel != kernel || labels[i].blocks != blocks))
        i++;
    if (i == label_count)
        label_count++;
    labels[i].kernel = kernel;
    labels[i].blocks = blocks;
    labels[i].elements = elements;
    labels[i].launches++;
    pthread_mutex_unlock(&label_lock);
}

static void print_labels(void)
{
    for (int i = 0; i < label_count; i++) {
        const struct kernel *kernel = &kernels[labels[i].kernel];
        unsigned long long n = labels[i].elements;
        printf("%s\t%u\t%d\t%llu\t%llu\t%s\n", kernel->name, labels[i].blocks, labels[i].launches,
               (kernel->read + kernel->written) * n, (kernel->tensor + kernel->flops) * n, kernel->most);
    }
}

static void step(ws_CUstream stream, ws_CUstream other)
{
    launch(other, BACKGROUND, 8, 1000000); /* this kernel still runs when the next kernel is launched */
    launch(stream, FP32, 64, 100001);
    launch(stream, FP32, 128, 400003);
    launch(stream, FP64, 64, 50001);
    launch(stream, FP16, 64, 80002);
    launch(other, BF16, 264, 100001);
    launch(stream, FP8, 264, 100003);
    launch(stream, MIXED, 264, 100001);
}

struct worker {
    ws_CUcontext context;
    ws_CUstream stream, other;
    int steps;
};

static void *work(void *argument)
{
    const struct worker *worker = argument;
    MUST(cuCtxSetCurrent(worker->context));
    for (int i = 0; i < worker->steps; i++) {
        step(worker->stream, worker->other);
        MUST(cuStreamSynchronize(worker->stream));
    }
    return NULL;
}

static void captured(ws_CUstream stream)
{
    ws_CUgraph graph;
    ws_CUgraphExec executable;
    /* The capture is not in global mode: that mode would forbid the other thread to synchronize during the
     * capture. */
    MUST(cuStreamBeginCapture_v2(stream, WS_CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    launch(stream, OF_A_GRAPH, 64, 1000);
    MUST(cuStreamEndCapture(stream, &graph));
    MUST(cuGraphInstantiateWithFlags(&executable, graph, 0));
    for (int i = 0; i < 5; i++)
        MUST(cuGraphLaunch(executable, stream));
    MUST(cuStreamSynchronize(stream));
    MUST(cuGraphExecDestroy(executable));
    MUST(cuGraphDestroy(graph));
}

ws_CUresult cuStreamWaitValue32_v2(ws_CUstream stream, ws_CUdeviceptr address, uint32_t value, unsigned flags);

/* Launches while another stream is busy. waits: the other stream waits until this thread writes *value after its
 * launches. Otherwise a kernel keeps the other stream busy for 3 s. */
static void stuck(const struct gpu *gpu, bool waits)
{
    uint32_t *value;
    ws_CUstream other;
    MUST(cuStreamCreate(&other, WS_CU_STREAM_NON_BLOCKING));
    MUST(cuMemAllocHost_v2((void **)&value, sizeof(*value)));
    __atomic_store_n(value, 0, __ATOMIC_RELAXED);
    if (waits)
        MUST(cuStreamWaitValue32_v2(other, (ws_CUdeviceptr)(uintptr_t)value, 1, 0));
    else
        MUST(spin(gpu->spin, other, 3000000000));
    for (int i = 0; i < 20; i++)
        launch(gpu->stream, FP32, 64, 100001);
    __atomic_store_n(value, 1, __ATOMIC_RELEASE);
    MUST(cuStreamSynchronize(other));
    MUST(cuMemFreeHost(value));
    /* The device is idle at each of these launches. During the pause, the shim's thread that waits for an idle device
     * can run. */
    for (int i = 0; i < 20; i++) {
        usleep(20000);
        launch(gpu->stream, FP32, 64, 100001);
        MUST(cuStreamSynchronize(gpu->stream));
    }
}

static void late(ws_CUstream stream)
{
    const char *ready = getenv("SIMGPU_CUPTI_READY");
    for (int i = 0; i < 5; i++)
        launch(stream, FP32, 64, 100001);
    MUST(cuStreamSynchronize(stream));
    FILE *file = ready ? fopen(ready, "w") : NULL;
    if (file) {
        fclose(file);
        usleep(1000000);
    }
    for (int i = 0; i < 20; i++) {
        launch(stream, FP32, 64, 100001);
        MUST(cuStreamSynchronize(stream));
    }
}

int main(int argc, char **argv)
{
    struct gpu gpu;
    pthread_t thread;
    bool two = !strcmp(mode_of(argc, argv), "threads");
    gpu_open(&gpu, 0);
    open_kernels();
    struct worker workers[2] = { { .context = gpu.context, .stream = gpu.stream, .steps = two ? 150 : 60 } };
    MUST(cuStreamCreate(&workers[0].other, WS_CU_STREAM_NON_BLOCKING));
    if (two) {
        workers[1] = workers[0];
        MUST(cuStreamCreate(&workers[1].stream, WS_CU_STREAM_NON_BLOCKING));
        MUST(cuStreamCreate(&workers[1].other, WS_CU_STREAM_NON_BLOCKING));
        if (pthread_create(&thread, NULL, work, &workers[1]))
            return 1;
    }
    if (!strcmp(mode_of(argc, argv), "waits") || !strcmp(mode_of(argc, argv), "long")) {
        stuck(&gpu, !strcmp(mode_of(argc, argv), "waits"));
        print_labels();
        return 0;
    }
    if (!strcmp(mode_of(argc, argv), "late")) {
        late(gpu.stream);
        print_labels();
        return 0;
    }
    captured(gpu.stream);
    for (int i = 0; i < 8; i++)
        launch(gpu.stream, SELDOM_ORDINARY, 64, 100000);
    for (int i = 0; i < 6; i++)
        launch(gpu.stream, SELDOM_TENSOR, 64, 100000);
    work(&workers[0]);
    if (two)
        pthread_join(thread, NULL);
    MUST(cuCtxSynchronize());
    print_labels();
    MUST(cuDevicePrimaryCtxRelease_v2(gpu.device));
    return 0;
}
