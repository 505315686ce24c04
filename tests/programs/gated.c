/* Launches short kernels, many of which the shim measures behind gates. A gate is a wait that holds a stream until a
 * kernel and its two events are queued (shim/timing/gates.h). Between the launches, the threads make all operations
 * that a gate could disturb: allocations, captures, graphs, waits, copies, and the creation and destruction of
 * streams.
 *
 *   gated THREADS SHAPES SEED
 *
 * Each thread launches SHAPES grids of its own, each of them LAUNCHES times: the shim measures a new grid at its 2nd,
 * 3rd, 5th and 9th launch. Prints the results of each thread's calls, and the data that its streams computed.
 *
 * If the environment has GATED_FLOOR, the threads also work for about as long as a gate holds a stream, after each
 * launch. The program then writes a line into the file GATED_FLOOR: how often a thread did this, and how often it
 * took longer than LONG_NS, as the system ran another thread meanwhile. */
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "program.h"

enum { MOST_THREADS = 16, LAUNCHES = 9, WORDS = 64, SPIN_NS = 300, HOLD_NS = 15000, LONG_NS = 300000 };

struct worker {
    pthread_t thread;
    unsigned number, shapes, random;
    ws_CUstream stream;
    ws_CUevent event;
    ws_CUdeviceptr memory;
    uint64_t launched, sum, refused;
};

static struct gpu gpu;
static struct worker workers[MOST_THREADS];
static const char *floor_file;
static _Atomic uint64_t holds, long_holds;

static int64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static void work_for_a_hold(void)
{
    int64_t begin = now(), end;
    while ((end = now()) < begin + HOLD_NS)
        ;
    atomic_fetch_add(&holds, 1);
    atomic_fetch_add(&long_holds, end - begin > LONG_NS);
}

static int write_floor(void)
{
    FILE *file = fopen(floor_file, "w");
    if (!file)
        return 1;
    fprintf(file, "%llu %llu\n", (unsigned long long)holds, (unsigned long long)long_holds);
    return fclose(file);
}

static void did(struct worker *worker, ws_CUresult result)
{
    worker->refused += result != WS_CUDA_SUCCESS;
}

static unsigned draw(struct worker *worker, unsigned below)
{
    worker->random = worker->random * 1664525u + 1013904223u;
    return (worker->random >> 8) % below;
}

static void launch_shape(struct worker *worker, unsigned shape)
{
    uint64_t ns = SPIN_NS;
    void *parameters[] = { &ns };
    for (int i = 0; i < LAUNCHES; i++) {
        ws_CUresult result =
            cuLaunchKernel(gpu.spin, 1 + shape, 1 + worker->number, 1, 32, 1, 1, 0, worker->stream, parameters, NULL);
        did(worker, result);
        worker->launched += !result;
        if (floor_file)
            work_for_a_hold();
    }
}

static void launch_graph(struct worker *worker)
{
    ws_CUgraph graph;
    ws_CUgraphExec executable;
    did(worker, cuStreamBeginCapture_v2(worker->stream, WS_CU_STREAM_CAPTURE_MODE_RELAXED));
    for (int i = 0; i < 3; i++)
        did(worker, spin(gpu.spin, worker->stream, SPIN_NS));
    did(worker, cuStreamEndCapture(worker->stream, &graph));
    did(worker, cuGraphInstantiateWithFlags(&executable, graph, 0));
    did(worker, cuGraphLaunch(executable, worker->stream));
    did(worker, cuStreamSynchronize(worker->stream));
    did(worker, cuGraphExecDestroy(executable));
    did(worker, cuGraphDestroy(graph));
}

static void compute(struct worker *worker, unsigned value)
{
    unsigned words[WORDS] = { 0 };
    did(worker, cuMemsetD32Async(worker->memory, value, WORDS, worker->stream));
    did(worker, cuMemcpyDtoHAsync_v2(words, worker->memory, sizeof(words), worker->stream));
    did(worker, cuStreamSynchronize(worker->stream));
    for (int i = 0; i < WORDS; i++)
        worker->sum += words[i];
}

/* Makes one of the operations, drawn at random, that programs make between launches. */
static void do_other(struct worker *worker)
{
    ws_CUdeviceptr more;
    switch (draw(worker, 7)) {
    case 0:
        did(worker, cuMemAlloc_v2(&more, 4096));
        did(worker, cuMemFree_v2(more));
        break;
    case 1:
        launch_graph(worker);
        break;
    case 2:
        did(worker, cuEventRecord(worker->event, worker->stream));
        did(worker, cuEventSynchronize(worker->event));
        break;
    case 3:
        did(worker, cuStreamDestroy_v2(worker->stream));
        did(worker, cuStreamCreate(&worker->stream, WS_CU_STREAM_NON_BLOCKING));
        break;
    case 4:
        /* Waits for this stream only, because other threads may capture. */
        did(worker, cuStreamSynchronize(worker->stream));
        break;
    default:
        compute(worker, draw(worker, 1000));
    }
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    did(worker, cuCtxSetCurrent(gpu.context));
    did(worker, cuStreamCreate(&worker->stream, WS_CU_STREAM_NON_BLOCKING));
    did(worker, cuEventCreate(&worker->event, 0));
    did(worker, cuMemAlloc_v2(&worker->memory, WORDS * sizeof(unsigned)));
    for (unsigned shape = 0; shape < worker->shapes; shape++) {
        launch_shape(worker, shape);
        if (!draw(worker, 8))
            do_other(worker);
    }
    compute(worker, 1);
    return NULL;
}

int main(int argc, char **argv)
{
    unsigned threads = argc > 1 ? (unsigned)atoi(argv[1]) : 2;
    if (threads > MOST_THREADS || argc < 4)
        return 2;
    floor_file = getenv("GATED_FLOOR");
    gpu_open(&gpu, 0);
    for (unsigned i = 0; i < threads; i++) {
        workers[i] = (struct worker){ .number = i,
                                      .shapes = (unsigned)atoi(argv[2]),
                                      .random = (unsigned)atoi(argv[3]) + 77 * i };
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
            return 1;
    }
    for (unsigned i = 0; i < threads; i++) {
        pthread_join(workers[i].thread, NULL);
        printf("%u: %llu launches, sum %llu, %llu refused\n", i, (unsigned long long)workers[i].launched,
               (unsigned long long)workers[i].sum, (unsigned long long)workers[i].refused);
    }
    return floor_file ? write_floor() : 0;
}
