/* Tests of stream capture and graphs on the simulated GPU. */
#include <pthread.h>

#include "simgpu.h"

static float value_at(ws_CUdeviceptr address)
{
    float value;
    succeeds(cuMemcpyDtoH_v2(&value, address, sizeof(value)));
    return value;
}

static void fill(const struct simgpu_fixture *fixture, ws_CUstream stream, ws_CUdeviceptr to, float value)
{
    unsigned n = 4;
    void *parameters[] = { &to, &value, &n };
    succeeds(cuLaunchKernel(simgpu_function(fixture, "fill_f32"), 1, 1, 1, 4, 1, 1, 0, stream, parameters, NULL));
}

static void captured_work_runs_at_launch_only(void **state)
{
    const struct simgpu_fixture *fixture = *state;
    ws_CUdeviceptr memory;
    ws_CUgraph graph;
    ws_CUgraphExec exec;
    succeeds(cuMemAlloc_v2(&memory, 16));
    succeeds(cuMemsetD32_v2(memory, 0, 4));
    succeeds(cuStreamBeginCapture_v2(fixture->stream, WS_CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    fill(fixture, fixture->stream, memory, 5);
    int status;
    succeeds(cuStreamIsCapturing(fixture->stream, &status));
    assert_int_equal(status, WS_CU_STREAM_CAPTURE_STATUS_ACTIVE);
    succeeds(cuStreamEndCapture(fixture->stream, &graph));
    assert_true(value_at(memory) == 0);
    succeeds(cuGraphInstantiateWithFlags(&exec, graph, 0));
    succeeds(cuGraphLaunch(exec, fixture->stream));
    succeeds(cuStreamSynchronize(fixture->stream));
    assert_true(value_at(memory) == 5);

    ws_CUgraphNode node;
    size_t count = 1;
    succeeds(cuGraphGetNodes(graph, &node, &count));
    ws_CUDA_KERNEL_NODE_PARAMS_v1 parameters;
    succeeds(cuGraphKernelNodeGetParams(node, &parameters));
    float value = 7;
    void *changed[] = { parameters.kernelParams[0], &value, parameters.kernelParams[2] };
    parameters.kernelParams = changed;
    succeeds(cuGraphExecKernelNodeSetParams(exec, node, &parameters));
    succeeds(cuGraphLaunch(exec, fixture->stream));
    succeeds(cuStreamSynchronize(fixture->stream));
    assert_true(value_at(memory) == 7);

    succeeds(cuMemsetD32_v2(memory, 0, 4));
    succeeds(cuGraphNodeSetEnabled(exec, node, 0));
    succeeds(cuGraphLaunch(exec, fixture->stream));
    succeeds(cuStreamSynchronize(fixture->stream));
    assert_true(value_at(memory) == 0);
    succeeds(cuGraphExecDestroy(exec));
    succeeds(cuGraphDestroy(graph));
}

static void fork_and_join_become_edges(void **state)
{
    const struct simgpu_fixture *fixture = *state;
    ws_CUevent forked, joined;
    ws_CUgraph graph;
    succeeds(cuEventCreate(&forked, WS_CU_EVENT_DISABLE_TIMING));
    succeeds(cuEventCreate(&joined, WS_CU_EVENT_DISABLE_TIMING));
    succeeds(cuStreamBeginCapture_v2(fixture->stream, WS_CU_STREAM_CAPTURE_MODE_RELAXED));
    simgpu_spin(fixture, fixture->stream, 1000);
    succeeds(cuEventRecord(forked, fixture->stream));
    succeeds(cuStreamWaitEvent(fixture->other, forked, 0));
    simgpu_spin(fixture, fixture->stream, 1000);
    simgpu_spin(fixture, fixture->other, 1000);
    succeeds(cuEventRecord(joined, fixture->other));
    succeeds(cuStreamWaitEvent(fixture->stream, joined, 0));
    simgpu_spin(fixture, fixture->stream, 1000);
    succeeds(cuStreamEndCapture(fixture->stream, &graph));
    size_t nodes = 0, edges = 0;
    succeeds(cuGraphGetNodes(graph, NULL, &nodes));
    succeeds(cuGraphGetEdges(graph, NULL, NULL, &edges));
    assert_int_equal(nodes, 4);
    assert_int_equal(edges, 4);
    fails(cuEventQuery(joined), CAPTURED_EVENT);
    succeeds(cuGraphDestroy(graph));
}

static void unjoined_work_fails_the_capture(void **state)
{
    const struct simgpu_fixture *fixture = *state;
    ws_CUevent forked;
    ws_CUgraph graph;
    succeeds(cuEventCreate(&forked, 0));
    succeeds(cuStreamBeginCapture_v2(fixture->stream, WS_CU_STREAM_CAPTURE_MODE_RELAXED));
    succeeds(cuEventRecord(forked, fixture->stream));
    succeeds(cuStreamWaitEvent(fixture->other, forked, 0));
    simgpu_spin(fixture, fixture->other, 1000);
    fails(cuStreamEndCapture(fixture->stream, &graph), STREAM_CAPTURE_UNJOINED);
    assert_null(graph);
    succeeds(cuStreamQuery(fixture->other));
}

static void waiting_for_a_capturing_stream_ends_its_capture(void **state)
{
    const struct simgpu_fixture *fixture = *state;
    ws_CUgraph graph;
    int status;
    succeeds(cuStreamBeginCapture_v2(fixture->stream, WS_CU_STREAM_CAPTURE_MODE_RELAXED));
    fails(cuStreamSynchronize(fixture->stream), STREAM_CAPTURE_UNSUPPORTED);
    succeeds(cuStreamIsCapturing(fixture->stream, &status));
    assert_int_equal(status, WS_CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    fails(cuStreamEndCapture(fixture->stream, &graph), STREAM_CAPTURE_INVALIDATED);
}

static void the_legacy_stream_is_unusable_beside_a_blocking_capture(void **state)
{
    const struct simgpu_fixture *fixture = *state;
    ws_CUstream blocking;
    ws_CUgraph graph;
    int status;
    succeeds(cuStreamCreate(&blocking, 0));
    fails(cuStreamBeginCapture_v2(NULL, WS_CU_STREAM_CAPTURE_MODE_RELAXED), STREAM_CAPTURE_UNSUPPORTED);
    succeeds(cuStreamBeginCapture_v2(blocking, WS_CU_STREAM_CAPTURE_MODE_RELAXED));
    fails(cuStreamIsCapturing(NULL, &status), STREAM_CAPTURE_IMPLICIT);
    succeeds(cuStreamIsCapturing(blocking, &status));
    assert_int_equal(status, WS_CU_STREAM_CAPTURE_STATUS_ACTIVE);
    uint64_t ns = 10;
    void *parameters[] = { &ns };
    fails(cuLaunchKernel(simgpu_function(fixture, "spin"), 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL),
          STREAM_CAPTURE_IMPLICIT);
    fails(cuStreamEndCapture(blocking, &graph), STREAM_CAPTURE_INVALIDATED);
}

struct intruder {
    ws_CUcontext context;
    ws_CUevent event;
    int mode;
    ws_CUresult result;
};

static void *query_from_elsewhere(void *argument)
{
    struct intruder *intruder = argument;
    cuCtxSetCurrent(intruder->context);
    cuThreadExchangeStreamCaptureMode(&intruder->mode);
    intruder->result = cuEventQuery(intruder->event);
    return NULL;
}

static ws_CUresult query_during_capture(const struct simgpu_fixture *fixture, int capture_mode, int thread_mode,
                                        ws_CUresult *end)
{
    struct intruder intruder = { .context = fixture->context, .mode = thread_mode };
    pthread_t thread;
    ws_CUgraph graph;
    succeeds(cuEventCreate(&intruder.event, 0));
    succeeds(cuStreamBeginCapture_v2(fixture->stream, capture_mode));
    assert_int_equal(pthread_create(&thread, NULL, query_from_elsewhere, &intruder), 0);
    pthread_join(thread, NULL);
    *end = cuStreamEndCapture(fixture->stream, &graph);
    if (*end == WS_CUDA_SUCCESS)
        succeeds(cuGraphDestroy(graph));
    return intruder.result;
}

static void unsafe_calls_follow_both_modes(void **state)
{
    const struct simgpu_fixture *fixture = *state;
    ws_CUresult end;
    fails(query_during_capture(fixture, WS_CU_STREAM_CAPTURE_MODE_GLOBAL, WS_CU_STREAM_CAPTURE_MODE_GLOBAL, &end),
          STREAM_CAPTURE_UNSUPPORTED);
    assert_int_equal(end, WS_CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    succeeds(
        query_during_capture(fixture, WS_CU_STREAM_CAPTURE_MODE_GLOBAL, WS_CU_STREAM_CAPTURE_MODE_RELAXED, &end));
    succeeds(end);
    succeeds(query_during_capture(fixture, WS_CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, WS_CU_STREAM_CAPTURE_MODE_GLOBAL,
                                  &end));
    succeeds(end);
}

static void count_up(void *argument)
{
    ++*(int *)argument;
}

static void host_and_child_nodes_run_in_order(void **state)
{
    const struct simgpu_fixture *fixture = *state;
    int calls = 0;
    ws_CUgraph child, graph;
    ws_CUgraphNode first, nested, last;
    ws_CUgraphExec exec;
    ws_CUDA_HOST_NODE_PARAMS host = { count_up, &calls };
    succeeds(cuGraphCreate(&child, 0));
    succeeds(cuGraphAddHostNode(&first, child, NULL, 0, &host));
    succeeds(cuGraphAddHostNode(&last, child, &first, 1, &host));
    succeeds(cuGraphCreate(&graph, 0));
    succeeds(cuGraphAddChildGraphNode(&nested, graph, NULL, 0, child));
    succeeds(cuGraphAddHostNode(&last, graph, &nested, 1, &host));
    succeeds(cuGraphDestroy(child));
    succeeds(cuGraphInstantiateWithFlags(&exec, graph, 0));
    succeeds(cuGraphLaunch(exec, fixture->stream));
    succeeds(cuGraphLaunch(exec, fixture->other));
    succeeds(cuStreamSynchronize(fixture->other));
    assert_int_equal(calls, 6);
    int result;
    succeeds(cuGraphExecUpdate(exec, graph, NULL, &result));
    succeeds(cuGraphAddHostNode(&last, graph, NULL, 0, &host));
    fails(cuGraphExecUpdate(exec, graph, NULL, &result), GRAPH_EXEC_UPDATE_FAILURE);
    succeeds(cuGraphExecDestroy(exec));
    succeeds(cuGraphDestroy(graph));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, simgpu_setup, simgpu_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(captured_work_runs_at_launch_only),
        TEST(fork_and_join_become_edges),
        TEST(unjoined_work_fails_the_capture),
        TEST(waiting_for_a_capturing_stream_ends_its_capture),
        TEST(the_legacy_stream_is_unusable_beside_a_blocking_capture),
        TEST(unsafe_calls_follow_both_modes),
        TEST(host_and_child_nodes_run_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
