/* Many operations of every kind, for comparing the times in the trace with what happened on the simulated GPU.
 *
 *   accuracy OPERATIONS mixed|long|pageable [LIVES]
 *
 * LIVES is the number of sets of contexts that do the work one after the other: primary contexts, which are reset,
 * alternate with contexts that the program creates. There are two devices, two streams on each device, and two
 * threads for each stream. mixed: half of the kernels last 2 to 20 µs, the other half up to 200 µs; long: all kernels
 * last at least 100 µs; pageable: as mixed, but most operations are copies from and to pageable memory. Queues are
 * sometimes full and sometimes empty, streams wait for each other, and now and then the two threads of a stream use
 * it at the same time. Kernels have sixteen names and copies many sizes, so that a test notices if two records are
 * mixed up. The parameter of a kernel is its duration on the simulated GPU. */
#include <dlfcn.h>
#include <pthread.h>

#include "program.h"
#include "tests/simgpu/simgpu.h"

enum { DEVICES = 2, STREAMS = 4, THREADS = 8, KERNELS = 16, BYTES = 1 << 20, BATCH = 32 };

static struct gpu gpus[DEVICES];
static ws_CUfunction kernels[DEVICES][KERNELS];
static ws_CUdeviceptr memory[DEVICES];
static void *pinned[DEVICES], *pageable[DEVICES];
static ws_CUstream streams[STREAMS];
static pthread_mutex_t stream_locks[STREAMS];
static pthread_barrier_t ready;
static int operations_each;
static bool long_only, pageable_only;

struct worker {
    pthread_t thread;
    int number;
    uint32_t random;
    int done;
    ws_CUevent event;
};

static uint32_t draw(struct worker *worker, uint32_t below)
{
    worker->random = worker->random * 1664525 + 1013904223;
    return (uint32_t)(((uint64_t)worker->random * below) >> 32);
}

static uint64_t duration(struct worker *worker)
{
    if (long_only)
        return 100000 + draw(worker, 200000);
    return draw(worker, 2) ? 2000 + draw(worker, 18000) : 20000 + draw(worker, 180000);
}

static void operation(struct worker *worker, int device, ws_CUstream stream)
{
    uint32_t kind = draw(worker, 100);
    uint64_t bytes = 16 * (1 + draw(worker, BYTES / 32));
    ws_CUdeviceptr half = memory[device] + BYTES / 2;
    if (kind >= 30 && pageable_only) {
        if (kind < 65)
            MUST(cuMemcpyHtoDAsync_v2(memory[device], pageable[device], bytes, stream));
        else
            MUST(cuMemcpyDtoHAsync_v2(pageable[device], memory[device], bytes, stream));
    } else if (kind < 70 || long_only) {
        uint64_t ns = duration(worker);
        void *parameters[] = { &ns };
        MUST(cuLaunchKernel(kernels[device][draw(worker, KERNELS)], 1 + draw(worker, 64), 1, 1, 32, 1, 1, 0, stream,
                            parameters, NULL));
    } else if (kind < 78) {
        MUST(cuMemcpyHtoDAsync_v2(memory[device], pinned[device], bytes, stream));
    } else if (kind < 84) {
        MUST(cuMemcpyDtoHAsync_v2(pinned[device], memory[device], bytes, stream));
    } else if (kind < 90) {
        MUST(cuMemcpyDtoDAsync_v2(half, memory[device], bytes, stream));
    } else {
        MUST(cuMemsetD8Async(memory[device], (unsigned char)kind, bytes, stream));
    }
    worker->done++;
}

/* Makes a batch of operations on the worker's stream. Random numbers decide whether the stream's other thread may
 * launch in between, whether the host waits or pauses between operations, and whether an event makes other streams
 * wait. */
static void batch(struct worker *worker)
{
    int own = worker->number % STREAMS;
    int device = own / (STREAMS / DEVICES);
    int neighbour = own ^ 1; /* the other stream of the same device */
    int count = operations_each - worker->done < BATCH ? operations_each - worker->done : BATCH;
    uint32_t way = draw(worker, 10);
    bool shared = way == 0;
    if (!shared)
        pthread_mutex_lock(&stream_locks[own]);
    for (int i = 0; i < count; i++) {
        operation(worker, device, streams[own]);
        if (way >= 7 && draw(worker, 3) == 0)
            MUST(cuStreamSynchronize(streams[own]));
        if (way == 9)
            usleep(draw(worker, 100));
    }
    if (way == 5 || way == 6) {
        MUST(cuEventRecord(worker->event, streams[own]));
        if (way == 5)
            MUST(cuStreamWaitEvent(streams[neighbour], worker->event, 0));
        else
            MUST(cuCtxWaitEvent(gpus[device].context, worker->event));
    }
    if (!shared)
        pthread_mutex_unlock(&stream_locks[own]);
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    int device = worker->number % STREAMS / (STREAMS / DEVICES);
    MUST(cuCtxSetCurrent(gpus[device].context));
    MUST(cuEventCreate(&worker->event, WS_CU_EVENT_DISABLE_TIMING));
    pthread_barrier_wait(&ready);
    while (worker->done < operations_each)
        batch(worker);
    MUST(cuStreamSynchronize(streams[worker->number % STREAMS]));
    return NULL;
}

static uint64_t told_duration(void **parameters, const unsigned grid[3], const unsigned block[3])
{
    (void)grid, (void)block;
    return *(uint64_t *)parameters[0];
}

static void name_of(char *name, size_t size, int kernel)
{
    snprintf(name, size, "tagged_kernel_%02d", kernel);
}

/* Returns the PTX image with the sixteen kernels, and registers the kernels with the simulated GPU. */
static const char *make_image(void)
{
    static char image[KERNELS * 160 + 160];
    if (*image)
        return image;
    int (*known)(const char *, simgpu_run, simgpu_duration) =
        (int (*)(const char *, simgpu_run, simgpu_duration))dlsym(RTLD_DEFAULT, "simgpuRegisterKernel");
    if (!known) {
        dprintf(STDOUT_FILENO, "skipped: this is not the simulated GPU\n");
        exit(77);
    }
    int at = snprintf(image, sizeof(image), ".version 6.0\n.target sm_52\n.address_size 64\n");
    for (int i = 0; i < KERNELS; i++) {
        char name[32];
        name_of(name, sizeof(name), i);
        known(name, NULL, told_duration);
        at += snprintf(image + at, sizeof(image) - (size_t)at,
                       ".visible .entry %s(\n.param .u64 %s_param_0\n)\n{\nret;\n}\n", name, name);
    }
    return image;
}

static void open_devices(bool primary)
{
    const char *image = make_image();
    for (int device = 0; device < DEVICES; device++) {
        ws_CUmodule module;
        gpu_open(&gpus[device], device);
        if (!primary)
            MUST(cuCtxCreate_v2(&gpus[device].context, 0, gpus[device].device));
        MUST(cuModuleLoadData(&module, image));
        for (int i = 0; i < KERNELS; i++) {
            char name[32];
            name_of(name, sizeof(name), i);
            MUST(cuModuleGetFunction(&kernels[device][i], module, name));
        }
        MUST(cuMemAlloc_v2(&memory[device], BYTES));
        MUST(cuMemAllocHost_v2(&pinned[device], BYTES));
        if (!pageable[device] && !(pageable[device] = calloc(1, BYTES)))
            exit(1);
        for (int i = 0; i < STREAMS / DEVICES; i++)
            MUST(cuStreamCreate(&streams[device * (STREAMS / DEVICES) + i], WS_CU_STREAM_NON_BLOCKING));
    }
}

static void end_devices(bool primary)
{
    for (int device = 0; device < DEVICES; device++) {
        MUST(cuCtxSetCurrent(gpus[device].context));
        MUST(cuCtxSynchronize());
        if (!primary)
            MUST(cuCtxDestroy_v2(gpus[device].context));
        else if (device)
            MUST(cuDevicePrimaryCtxReset_v2(gpus[device].device));
        MUST(cuDevicePrimaryCtxRelease_v2(gpus[device].device));
    }
}

/* Makes one set of contexts, runs all threads in them, and ends the contexts. The last set exists until the process
 * ends. */
static void live(int life, bool is_last)
{
    static struct worker workers[THREADS];
    open_devices(life % 2 == 0);
    pthread_barrier_init(&ready, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){ .number = i, .random = (uint32_t)(i + life * THREADS) * 7919 + 1 };
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
            exit(1);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(workers[i].thread, NULL);
    pthread_barrier_destroy(&ready);
    for (int device = 0; device < DEVICES && is_last; device++) {
        MUST(cuCtxSetCurrent(gpus[device].context));
        MUST(cuCtxSynchronize());
    }
    if (!is_last)
        end_devices(life % 2 == 0);
}

int main(int argc, char **argv)
{
    int lives = argc == 4 ? atoi(argv[3]) : 1;
    if ((argc != 3 && argc != 4) || lives < 1)
        return unknown_mode("");
    operations_each = atoi(argv[1]) / lives / THREADS;
    long_only = !strcmp(argv[2], "long");
    pageable_only = !strcmp(argv[2], "pageable");
    for (int i = 0; i < STREAMS; i++)
        pthread_mutex_init(&stream_locks[i], NULL);
    for (int life = 0; life < lives; life++)
        live(life, life + 1 == lives);
    dprintf(STDOUT_FILENO, "operations: %d\n", operations_each * THREADS * lives);
    return 0;
}
