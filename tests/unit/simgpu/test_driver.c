/* Tests that the simulated driver behaves like the real one: order and times, kernels and copies. */
#include <pthread.h>

#include "tests/simgpu/simgpu.h"
#include "simgpu.h"

static float elapsed(ws_CUevent begin, ws_CUevent end)
{
    float milliseconds;
    succeeds(cuEventElapsedTime(&milliseconds, begin, end));
    return milliseconds;
}

static ws_CUevent event(unsigned flags)
{
    ws_CUevent made;
    succeeds(cuEventCreate(&made, flags));
    return made;
}

static void events_show_the_models_time(void **state)
{
    const struct simgpu_fixture *fixture = *state;
    ws_CUevent begin = event(0), end = event(0), untimed = event(WS_CU_EVENT_DISABLE_TIMING), never = event(0);
    float milliseconds;
    succeeds(cuEventQuery(never));
    simgpu_hold(fixture, fixture->stream);
    succeeds(cuEventRecord(begin, fixture->stream));
    simgpu_spin(fixture, fixture->stream, 5000000);
    succeeds(cuEventRecord(end, fixture->stream));
    succeeds(cuEventRecord(untimed, fixture->stream));
    fails(cuEventQuery(end), NOT_READY);
    fails(cuEventElapsedTime(&milliseconds, begin, end), NOT_READY);
    fails(cuEventElapsedTime(&milliseconds, begin, never), INVALID_HANDLE);
    fails(cuEventElapsedTime(&milliseconds, begin, untimed), INVALID_HANDLE);
    fails(cuStreamQuery(fixture->stream), NOT_READY);
    simgpu_release(fixture);
    succeeds(cuEventSynchronize(end));
    succeeds(cuEventQuery(end));
    /* The kernel takes 5 ms; launch and dispatch are added to that. */
    assert_true(elapsed(begin, end) >= 5.0f);
    /* The resolution of events is 32 ns. A float of some milliseconds is exact to half a nanosecond. */
    double steps = (double)elapsed(begin, end) * 1e6 / 32, off = steps - (double)(long)(steps + 0.5);
    assert_true(off < 0.03 && off > -0.03);
}

static void streams_run_beside_each_other_and_wait_for_events(void **state)
{
    const struct simgpu_fixture *fixture = *state;
    ws_CUevent begin = event(0), first = event(0), second = event(0), third = event(0);
    simgpu_hold(fixture, fixture->stream);
    simgpu_hold(fixture, fixture->other);
    succeeds(cuEventRecord(begin, fixture->stream));
    simgpu_spin(fixture, fixture->stream, 50000000);
    simgpu_spin(fixture, fixture->other, 20000000);
    succeeds(cuEventRecord(first, fixture->stream));
    succeeds(cuEventRecord(second, fixture->other));
    succeeds(cuStreamWaitEvent(fixture->other, first, 0));
    simgpu_spin(fixture, fixture->other, 1000000);
    succeeds(cuEventRecord(third, fixture->other));
    simgpu_release(fixture);
    succeeds(cuEventSynchronize(third));
    assert_true(elapsed(begin, second) < 50.0f);
    assert_true(elapsed(begin, third) >= 51.0f);
    assert_true(elapsed(first, third) < 10.0f);
}

static void the_legacy_stream_orders_blocking_streams(void **state)
{
    const struct simgpu_fixture *fixture = *state;
    ws_CUstream blocking;
    ws_CUevent before = event(0), legacy = event(0), after = event(0), beside = event(0);
    succeeds(cuStreamCreate(&blocking, 0));
    simgpu_hold(fixture, blocking);
    simgpu_spin(fixture, blocking, 30000000);
    succeeds(cuEventRecord(before, blocking));
    simgpu_spin(fixture, NULL, 10000000);
    succeeds(cuEventRecord(legacy, NULL));
    simgpu_spin(fixture, blocking, 1000);
    succeeds(cuEventRecord(after, blocking));
    succeeds(cuEventRecord(beside, fixture->stream));
    simgpu_release(fixture);
    succeeds(cuStreamSynchronize(NULL));
    succeeds(cuEventQuery(after));
    assert_true(elapsed(before, legacy) >= 10.0f);
    assert_true(elapsed(legacy, after) >= 0.0f);
    assert_true(elapsed(beside, before) > 0.0f);
}

static void twins_take_the_threads_own_default_stream(void **state)
{
    (void)state;
    unsigned long long legacy, own;
    succeeds(cuStreamGetId(NULL, &legacy));
    succeeds(cuStreamGetId_ptsz(NULL, &own));
    assert_true(legacy != own);
    unsigned long long named;
    succeeds(cuStreamGetId(WS_CU_STREAM_PER_THREAD, &named));
    assert_true(named == own);
    succeeds(cuStreamGetId_ptsz(WS_CU_STREAM_LEGACY, &named));
    assert_true(named == legacy);
}

static void kernels_compute_and_copies_move_bytes(void **state)
{
    const struct simgpu_fixture *fixture = *state;
    enum { N = 1000 };
    float host[N], back[N];
    ws_CUdeviceptr a, b, out;
    unsigned n = N;
    for (int i = 0; i < N; i++)
        host[i] = (float)i;
    succeeds(cuMemAlloc_v2(&a, sizeof(host)));
    succeeds(cuMemAlloc_v2(&b, sizeof(host)));
    succeeds(cuMemAlloc_v2(&out, sizeof(host)));
    succeeds(cuMemcpyHtoD_v2(a, host, sizeof(host)));
    /* A small pageable source may be changed as soon as the call returns. */
    succeeds(cuMemcpyHtoDAsync_v2(b, host, sizeof(host), fixture->stream));
    memset(host, 0, sizeof(host));
    void *parameters[] = { &out, &a, &b, &n };
    succeeds(cuLaunchKernel(simgpu_function(fixture, "vector_add"), 4, 1, 1, 256, 1, 1, 0, fixture->stream,
                            parameters, NULL));
    /* A copy to pageable memory returns only when the copy is done. */
    succeeds(cuMemcpyDtoHAsync_v2(back, out, sizeof(back), fixture->stream));
    for (int i = 0; i < N; i++)
        assert_true(back[i] == 2.0f * (float)i);

    /* The same launch with its parameters in one buffer. */
    struct {
        ws_CUdeviceptr out, a, b;
        unsigned n;
    } packed = { out, a, a, N };
    size_t size = sizeof(packed);
    void *extra[] = { WS_CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, WS_CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                      WS_CU_LAUNCH_PARAM_END };
    succeeds(cuMemsetD32_v2(out, 0, N));
    succeeds(cuLaunchKernel(simgpu_function(fixture, "vector_add"), 4, 1, 1, 256, 1, 1, 0, NULL, NULL, extra));
    succeeds(cuMemcpyDtoH_v2(back, out, sizeof(back)));
    assert_true(back[N - 1] == 2.0f * (N - 1));
}

static void layouts_come_from_the_image(void **state)
{
    const struct simgpu_fixture *fixture = *state;
    static const size_t expected[][2] = { { 0, 24 }, { 24, 1 }, { 32, 8 } };
    ws_CUfunction function = simgpu_function(fixture, "unknown");
    size_t offset, size;
    for (size_t i = 0; i < 3; i++) {
        succeeds(cuFuncGetParamInfo(function, i, &offset, &size));
        assert_int_equal(offset, expected[i][0]);
        assert_int_equal(size, expected[i][1]);
    }
    fails(cuFuncGetParamInfo(function, 3, &offset, &size), INVALID_VALUE);
    ws_CUdeviceptr address;
    succeeds(cuModuleGetGlobal_v2(&address, &size, fixture->module, "table"));
    assert_int_equal(size, 64);
    ws_CUmodule module;
    fails(cuModuleLoadData(&module, "no image at all"), INVALID_IMAGE);
    fails(cuModuleGetFunction(&function, fixture->module, "absent"), NOT_FOUND);
}

static unsigned own_calls;

static void own_run(void **parameters, const unsigned grid[3], const unsigned block[3])
{
    own_calls += *(unsigned *)parameters[1] * grid[0] * block[0];
}

static uint64_t own_duration(void **parameters, const unsigned grid[3], const unsigned block[3])
{
    (void)parameters, (void)grid, (void)block;
    return 3000000;
}

static void programs_bring_kernels_of_their_own(void **state)
{
    const struct simgpu_fixture *fixture = *state;
    assert_int_equal(simgpuRegisterKernel("own_kernel", own_run, own_duration), 0);
    ws_CUmodule module;
    ws_CUfunction function;
    ws_CUdeviceptr pointer = 0;
    unsigned factor = 3;
    void *parameters[] = { &pointer, &factor };
    ws_CUevent begin = event(0), end = event(0);
    succeeds(cuModuleLoadData(&module, simgpu_ptx));
    succeeds(cuModuleGetFunction(&function, module, "own_kernel"));
    succeeds(cuEventRecord(begin, fixture->stream));
    succeeds(cuLaunchKernel(function, 2, 1, 1, 5, 1, 1, 0, fixture->stream, parameters, NULL));
    succeeds(cuEventRecord(end, fixture->stream));
    succeeds(cuStreamSynchronize(fixture->stream));
    assert_int_equal(own_calls, 30);
    assert_true(elapsed(begin, end) >= 3.0f);
}

static void kernels_of_libraries_are_functions_too(void **state)
{
    const struct simgpu_fixture *fixture = *state;
    ws_CUlibrary library;
    ws_CUkernel kernel;
    ws_CUfunction function;
    const char *name;
    uint64_t ns = 1000;
    void *parameters[] = { &ns };
    succeeds(cuLibraryLoadData(&library, simgpu_ptx, NULL, NULL, 0, NULL, NULL, 0));
    succeeds(cuLibraryGetKernel(&kernel, library, "spin"));
    succeeds(cuKernelGetName(&name, kernel));
    assert_string_equal(name, "spin");
    succeeds(cuLaunchKernel((ws_CUfunction)kernel, 1, 1, 1, 1, 1, 1, 0, fixture->stream, parameters, NULL));
    succeeds(cuKernelGetFunction(&function, kernel));
    succeeds(cuFuncGetName(&name, function));
    assert_string_equal(name, "spin");
    succeeds(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, fixture->stream, parameters, NULL));
    succeeds(cuStreamSynchronize(fixture->stream));
    succeeds(cuLibraryUnload(library));
    fails(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, fixture->stream, parameters, NULL), INVALID_HANDLE);
}

static void programmatic_launches_overlap_but_not_across_an_event(void **state)
{
    const struct simgpu_fixture *fixture = *state;
    uint64_t ns = 20000000;
    void *parameters[] = { &ns };
    ws_CUlaunchAttribute attribute = { .id = WS_CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION };
    attribute.value.programmaticStreamSerializationAllowed = 1;
    ws_CUlaunchConfig config = { 1, 1, 1, 1, 1, 1, 0, fixture->stream, &attribute, 1 };
    float took[2];
    for (int between = 0; between < 2; between++) {
        ws_CUevent begin = event(0), middle = event(0), end = event(0);
        simgpu_hold(fixture, fixture->stream);
        succeeds(cuEventRecord(begin, fixture->stream));
        simgpu_spin(fixture, fixture->stream, ns);
        if (between)
            succeeds(cuEventRecord(middle, fixture->stream));
        succeeds(cuLaunchKernelEx(&config, simgpu_function(fixture, "spin"), parameters, NULL));
        succeeds(cuEventRecord(end, fixture->stream));
        simgpu_release(fixture);
        succeeds(cuEventSynchronize(end));
        took[between] = elapsed(begin, end);
    }
    assert_true(took[0] < 39.0f);
    assert_true(took[1] >= 40.0f);
}

static void unknown_kernels_take_the_same_time_each_time(void **state)
{
    const struct simgpu_fixture *fixture = *state;
    struct {
        char bytes[24];
    } block = { { 0 } };
    unsigned char byte = 0;
    ws_CUdeviceptr pointer = 0;
    void *parameters[] = { &block, &byte, &pointer };
    ws_CUevent marks[3] = { event(0), event(0), event(0) };
    simgpu_hold(fixture, fixture->stream);
    for (int i = 0; i < 3; i++) {
        if (i)
            succeeds(cuLaunchKernel(simgpu_function(fixture, "unknown"), 3, 1, 1, 32, 1, 1, 0, fixture->stream,
                                    parameters, NULL));
        succeeds(cuEventRecord(marks[i], fixture->stream));
    }
    simgpu_release(fixture);
    succeeds(cuStreamSynchronize(fixture->stream));
    float first = elapsed(marks[0], marks[1]), second = elapsed(marks[1], marks[2]);
    /* the kernel takes 2 to 20 µs; its dispatch behind the event adds some 2 µs */
    assert_true(first >= 0.0025f && first <= 0.0215f);
    assert_true(first - second < 0.0006f && second - first < 0.0006f);
}

static void pinned_copies_do_not_hold_the_host(void **state)
{
    const struct simgpu_fixture *fixture = *state;
    ws_CUdeviceptr memory;
    volatile unsigned *host;
    succeeds(cuMemAlloc_v2(&memory, 4));
    succeeds(cuMemAllocHost_v2((void **)&host, 8));
    host[0] = 17;
    host[1] = 0;
    simgpu_hold(fixture, fixture->stream);
    succeeds(cuMemcpyHtoDAsync_v2(memory, (const void *)host, 4, fixture->stream));
    succeeds(cuMemcpyDtoHAsync_v2((void *)&host[1], memory, 4, fixture->stream));
    fails(cuStreamQuery(fixture->stream), NOT_READY);
    assert_int_equal(host[1], 0);
    simgpu_release(fixture);
    succeeds(cuStreamSynchronize(fixture->stream));
    assert_int_equal(host[1], 17);
}

static void set_flag(void *argument)
{
    *(volatile int *)argument = 1;
}

static void host_functions_run_in_their_place(void **state)
{
    const struct simgpu_fixture *fixture = *state;
    volatile int called = 0;
    ws_CUdeviceptr flag;
    succeeds(cuMemAlloc_v2(&flag, 4));
    succeeds(cuMemsetD32_v2(flag, 0, 1));
    /* `stream` waits for a value, which `other` writes after its host function has run. */
    succeeds(cuStreamWaitValue32_v2(fixture->stream, flag, 9, 1));
    simgpu_spin(fixture, fixture->stream, 1000);
    simgpu_hold(fixture, fixture->other);
    simgpu_spin(fixture, fixture->other, 2000000);
    succeeds(cuLaunchHostFunc(fixture->other, set_flag, (void *)&called));
    succeeds(cuStreamWriteValue32_v2(fixture->other, flag, 9, 0));
    fails(cuStreamQuery(fixture->stream), NOT_READY);
    assert_int_equal(called, 0);
    simgpu_release(fixture);
    succeeds(cuStreamSynchronize(fixture->stream));
    assert_int_equal(called, 1);
}

struct launcher {
    const struct simgpu_fixture *fixture;
    ws_CUstream stream;
    ws_CUdeviceptr counter;
};

/* Each thread adds 1 to its own float, 500 times, on a stream that all share or on one of its own. */
static void *launch_many(void *argument)
{
    const struct launcher *launcher = argument;
    cuCtxSetCurrent(launcher->fixture->context);
    ws_CUdeviceptr y = launcher->counter, x = launcher->counter + 4;
    float one = 1;
    unsigned n = 1;
    void *parameters[] = { &y, &x, &one, &n };
    ws_CUfunction function;
    cuModuleGetFunction(&function, launcher->fixture->module, "saxpy");
    for (int i = 0; i < 500; i++)
        cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, launcher->stream, parameters, NULL);
    return NULL;
}

static void threads_launch_together(void **state)
{
    const struct simgpu_fixture *fixture = *state;
    enum { THREADS = 8 };
    pthread_t threads[THREADS];
    struct launcher launchers[THREADS];
    float zero_and_one[2] = { 0, 1 }, counted;
    for (int i = 0; i < THREADS; i++) {
        launchers[i] = (struct launcher){ .fixture = fixture, .stream = fixture->stream };
        if (i % 2)
            succeeds(cuStreamCreate(&launchers[i].stream, i % 4 == 1));
        succeeds(cuMemAlloc_v2(&launchers[i].counter, 8));
        succeeds(cuMemcpyHtoD_v2(launchers[i].counter, zero_and_one, 8));
    }
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, launch_many, &launchers[i]), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    succeeds(cuCtxSynchronize());
    for (int i = 0; i < THREADS; i++) {
        succeeds(cuMemcpyDtoH_v2(&counted, launchers[i].counter, 4));
        assert_true(counted == 500);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, simgpu_setup, simgpu_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(events_show_the_models_time),
        TEST(streams_run_beside_each_other_and_wait_for_events),
        TEST(the_legacy_stream_orders_blocking_streams),
        TEST(twins_take_the_threads_own_default_stream),
        TEST(kernels_compute_and_copies_move_bytes),
        TEST(layouts_come_from_the_image),
        TEST(programs_bring_kernels_of_their_own),
        TEST(kernels_of_libraries_are_functions_too),
        TEST(programmatic_launches_overlap_but_not_across_an_event),
        TEST(unknown_kernels_take_the_same_time_each_time),
        TEST(pinned_copies_do_not_hold_the_host),
        TEST(host_functions_run_in_their_place),
        TEST(threads_launch_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
