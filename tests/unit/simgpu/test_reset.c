/* Tests of resetting a primary context while other threads use it. The calls of these threads must succeed or return
 * an error that is allowed, and a context that is retained again must work. */
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "simgpu.h"

enum { RESETS = 60, BETWEEN_US = 500, WORKERS = 6, FLOATS = 4096 };

/* Whether CUDA's documentation allows this result. Another thread may have reset the call's context, or the call may
 * wait for a context in which another thread captures. */
static bool is_expected(ws_CUresult result)
{
    return result == WS_CUDA_SUCCESS || result == WS_CUDA_ERROR_CONTEXT_IS_DESTROYED ||
           result == WS_CUDA_ERROR_INVALID_HANDLE || result == WS_CUDA_ERROR_INVALID_VALUE ||
           result == WS_CUDA_ERROR_INVALID_CONTEXT || result == WS_CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED ||
           result == WS_CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
}

static atomic_bool stop;
static atomic_int unexpected;      /* the first result that is not allowed */
static atomic_uint rounds, errors; /* rounds (each a series of calls) without an error, and with one */

struct worker {
    void (*round)(struct worker *worker);
    ws_CUresult result; /* the first error of this round */
    ws_CUstream stream;
    ws_CUevent event;
    ws_CUfunction fill;
    ws_CUdeviceptr memory;
    float host[FLOATS];
};

/* Notes the round's first error. Returns whether the round goes on. */
static bool went_well(struct worker *worker, ws_CUresult result)
{
    if (result == WS_CUDA_SUCCESS)
        return true;
    int none = WS_CUDA_SUCCESS;
    if (!is_expected(result))
        atomic_compare_exchange_strong(&unexpected, &none, result);
    worker->result = result;
    return false;
}

#define GO(call)                        \
    do {                                \
        if (!went_well(worker, (call))) \
            return;                     \
    } while (0)

static void begin_anew(struct worker *worker)
{
    ws_CUcontext context;
    ws_CUmodule module;
    worker->stream = NULL;
    GO(cuDevicePrimaryCtxRetain(&context, 0));
    GO(cuCtxSetCurrent(context));
    GO(cuModuleLoadData(&module, simgpu_ptx));
    GO(cuModuleGetFunction(&worker->fill, module, "fill_f32"));
    GO(cuMemAlloc_v2(&worker->memory, sizeof(worker->host)));
    GO(cuEventCreate(&worker->event, 0));
    GO(cuStreamCreate(&worker->stream, WS_CU_STREAM_NON_BLOCKING));
}

static ws_CUresult launch_fill(struct worker *worker, ws_CUstream stream, float value)
{
    unsigned count = FLOATS;
    void *parameters[] = { &worker->memory, &value, &count };
    return cuLaunchKernel(worker->fill, 16, 1, 1, 256, 1, 1, 0, stream, parameters, NULL);
}

static void launch_round(struct worker *worker)
{
    for (int i = 0; i < 50; i++) {
        GO(launch_fill(worker, worker->stream, 1));
        GO(launch_fill(worker, NULL, 2));
        GO(launch_fill(worker, WS_CU_STREAM_PER_THREAD, 2));
        GO(cuEventRecord(worker->event, worker->stream));
        GO(cuStreamWaitEvent(NULL, worker->event, 0));
    }
}

static void copy_round(struct worker *worker)
{
    GO(cuMemcpyHtoDAsync_v2(worker->memory, worker->host, sizeof(worker->host), worker->stream));
    GO(launch_fill(worker, worker->stream, 3));
    GO(cuMemcpyDtoHAsync_v2(worker->host, worker->memory, sizeof(worker->host), worker->stream));
    GO(cuMemcpyHtoD_v2(worker->memory, worker->host, sizeof(worker->host)));
    GO(cuMemsetD32_v2(worker->memory, 0, FLOATS));
    GO(cuMemcpyDtoH_v2(worker->host, worker->memory, sizeof(worker->host)));
}

/* NOT_READY counts as no error: after a reset the handle may be another worker's event, which is still pending. */
static ws_CUresult ready_or_not(ws_CUresult result)
{
    return result == WS_CUDA_ERROR_NOT_READY ? WS_CUDA_SUCCESS : result;
}

static void wait_round(struct worker *worker)
{
    float milliseconds;
    GO(launch_fill(worker, worker->stream, 4));
    GO(cuEventRecord(worker->event, worker->stream));
    GO(cuEventSynchronize(worker->event));
    GO(cuStreamSynchronize(worker->stream));
    GO(cuCtxSynchronize());
    GO(ready_or_not(cuEventElapsedTime(&milliseconds, worker->event, worker->event)));
    GO(ready_or_not(cuStreamQuery(worker->stream)));
}

static void make_round(struct worker *worker)
{
    ws_CUstream stream;
    ws_CUevent event;
    ws_CUdeviceptr memory, table;
    ws_CUmodule module;
    size_t bytes;
    GO(cuStreamCreate(&stream, 0));
    GO(cuEventCreate(&event, 0));
    GO(cuMemAlloc_v2(&memory, 1 << 20));
    GO(cuModuleLoadData(&module, simgpu_ptx));
    GO(cuModuleGetGlobal_v2(&table, &bytes, module, "table"));
    GO(cuEventRecord(event, stream));
    GO(cuMemAllocAsync(&table, 4096, stream));
    GO(cuMemFreeAsync(table, stream));
    GO(cuMemFree_v2(memory));
    GO(cuModuleUnload(module));
    GO(cuEventDestroy_v2(event));
    GO(cuStreamDestroy_v2(stream));
}

static void capture_round(struct worker *worker)
{
    static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
    ws_CUgraph graph = NULL;
    ws_CUgraphExec exec = NULL;
    pthread_mutex_lock(&one);
    ws_CUresult result = cuStreamBeginCapture_v2(worker->stream, WS_CU_STREAM_CAPTURE_MODE_RELAXED);
    if (result == WS_CUDA_SUCCESS) {
        (void)launch_fill(worker, worker->stream, 5); /* the end of the capture shows whether this failed */
        result = cuStreamEndCapture(worker->stream, &graph);
    }
    /* This error means that the reset has also ended the capture. */
    if (result == WS_CUDA_ERROR_ILLEGAL_STATE)
        result = WS_CUDA_ERROR_CONTEXT_IS_DESTROYED;
    if (result == WS_CUDA_SUCCESS)
        result = cuGraphInstantiateWithFlags(&exec, graph, 0);
    for (int i = 0; result == WS_CUDA_SUCCESS && i < 5; i++)
        result = cuGraphLaunch(exec, worker->stream);
    if (exec)
        cuGraphExecDestroy(exec);
    if (graph)
        cuGraphDestroy(graph);
    pthread_mutex_unlock(&one);
    GO(result);
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    bool again = true;
    while (!atomic_load(&stop)) {
        worker->result = WS_CUDA_SUCCESS;
        if (again)
            begin_anew(worker);
        if (worker->result == WS_CUDA_SUCCESS)
            worker->round(worker);
        again = worker->result != WS_CUDA_SUCCESS;
        atomic_fetch_add(again ? &errors : &rounds, 1);
    }
    return NULL;
}

static void under_load(ws_CUresult (*end)(void))
{
    static void (*const all[])(struct worker *) = { launch_round, copy_round, wait_round, make_round, capture_round };
    static struct worker workers[WORKERS];
    pthread_t threads[WORKERS];
    atomic_store(&stop, false);
    atomic_store(&rounds, 0);
    atomic_store(&errors, 0);
    for (int i = 0; i < WORKERS; i++) {
        workers[i].round = all[(size_t)i % (sizeof(all) / sizeof(all[0]))];
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < RESETS; i++) {
        usleep(BETWEEN_US);
        succeeds(end());
    }
    atomic_store(&stop, true);
    for (int i = 0; i < WORKERS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(atomic_load(&unexpected), WS_CUDA_SUCCESS);
    assert_true(atomic_load(&rounds) > 0);
    assert_true(atomic_load(&errors) > 0);
}

/* Asserts that objects made after the resets work. */
static void still_computes(void)
{
    static struct worker alone, *worker = &alone;
    alone.result = WS_CUDA_SUCCESS;
    begin_anew(worker);
    assert_int_equal(alone.result, WS_CUDA_SUCCESS);
    succeeds(launch_fill(worker, worker->stream, 7));
    succeeds(cuStreamSynchronize(worker->stream));
    succeeds(cuMemcpyDtoH_v2(worker->host, worker->memory, sizeof(worker->host)));
    for (int i = 0; i < FLOATS; i++)
        assert_true(worker->host[i] == 7);
}

static ws_CUresult reset(void)
{
    return cuDevicePrimaryCtxReset_v2(0);
}

static void a_reset_under_load_harms_nobody(void **state)
{
    (void)state;
    succeeds(cuInit(0));
    under_load(reset);
    still_computes();
}

/* The result of the second thread's call. Two threads reset the context at once; the one that finds nothing to reset
 * must succeed, too. */
static atomic_int second_result;

static void *reset_often(void *unused)
{
    (void)unused;
    while (!atomic_load(&stop)) {
        ws_CUresult result = cuDevicePrimaryCtxReset_v2(0);
        if (result != WS_CUDA_SUCCESS)
            atomic_store(&second_result, result);
        usleep(BETWEEN_US);
    }
    return NULL;
}

static void two_resets_at_once_are_two_resets(void **state)
{
    (void)state;
    pthread_t thread;
    atomic_store(&stop, false);
    assert_int_equal(pthread_create(&thread, NULL, reset_often, NULL), 0);
    under_load(reset);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(atomic_load(&second_result), WS_CUDA_SUCCESS);
    still_computes();
}

static void nothing_of_a_former_life_is_known(void **state)
{
    (void)state;
    static struct worker former, *worker = &former;
    former.result = WS_CUDA_SUCCESS;
    begin_anew(worker);
    assert_int_equal(former.result, WS_CUDA_SUCCESS);
    succeeds(reset());
    fails(cuCtxSynchronize(), CONTEXT_IS_DESTROYED);
    fails(launch_fill(worker, NULL, 1), CONTEXT_IS_DESTROYED);
    fails(launch_fill(worker, WS_CU_STREAM_PER_THREAD, 1), CONTEXT_IS_DESTROYED);
    ws_CUcontext context;
    succeeds(cuDevicePrimaryCtxRetain(&context, 0));
    fails(launch_fill(worker, worker->stream, 1), INVALID_HANDLE);
    fails(launch_fill(worker, NULL, 1), INVALID_HANDLE);
    /* The old event is not tested: under the shim, an event of the shim's own may have got the same handle. */
    fails(cuMemcpyDtoH_v2(worker->host, worker->memory, 16), INVALID_VALUE);
}

/* A graph was made before a reset. Its launch must be refused, and destroying it must not touch the new streams. */
static void a_graph_of_a_former_life_ends_quietly(void **state)
{
    (void)state;
    static struct worker former, *worker = &former;
    ws_CUgraph graph;
    ws_CUgraphExec exec;
    ws_CUstream one, two;
    former.result = WS_CUDA_SUCCESS;
    begin_anew(worker);
    assert_int_equal(former.result, WS_CUDA_SUCCESS);
    succeeds(cuStreamBeginCapture_v2(worker->stream, WS_CU_STREAM_CAPTURE_MODE_RELAXED));
    succeeds(launch_fill(worker, worker->stream, 1));
    succeeds(cuStreamEndCapture(worker->stream, &graph));
    succeeds(cuGraphInstantiateWithFlags(&exec, graph, 0));
    succeeds(reset());
    begin_anew(worker);
    fails(cuGraphLaunch(exec, worker->stream), INVALID_HANDLE);
    succeeds(cuGraphExecDestroy(exec));
    succeeds(cuGraphDestroy(graph));
    succeeds(cuStreamCreate(&one, 0));
    succeeds(cuStreamCreate(&two, 0));
    assert_ptr_not_equal(one, two);
    succeeds(cuStreamDestroy_v2(one));
    succeeds(cuStreamSynchronize(two));
    still_computes();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reset_under_load_harms_nobody),
        cmocka_unit_test(two_resets_at_once_are_two_resets),
        cmocka_unit_test(nothing_of_a_former_life_is_known),
        cmocka_unit_test(a_graph_of_a_former_life_ends_quietly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
