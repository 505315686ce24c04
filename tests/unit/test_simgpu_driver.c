/* What the simulated driver must do as the real one does: order, time, memory, errors. */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

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
    /* 5 ms, and what lies between: the launch's own cost and dispatch. */
    assert_true(elapsed(begin, end) >= 5.0f);
    /* Half a microsecond is the resolution. */
    double half_microseconds = (double)elapsed(begin, end) * 2000;
    assert_true(half_microseconds - (double)(long)(half_microseconds + 0.5) < 0.01);
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
    /* Pageable memory is not written to behind the caller's back: this waits. */
    succeeds(cuMemcpyDtoHAsync_v2(back, out, sizeof(back), fixture->stream));
    for (int i = 0; i < N; i++)
        assert_true(back[i] == 2.0f * (float)i);

    /* The same by a buffer. */
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
    /* The other stream writes what this one waits for, after a host function. */
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

static void memory_runs_out_and_comes_back(void **state)
{
    (void)state;
    size_t total, left, before;
    ws_CUdeviceptr pointer;
    succeeds(cuMemGetInfo_v2(&before, &total));
    fails(cuMemAlloc_v2(&pointer, total + 1), OUT_OF_MEMORY);
    fails(cuMemAlloc_v2(&pointer, 0), INVALID_VALUE);
    succeeds(cuMemAlloc_v2(&pointer, 64 << 20));
    succeeds(cuMemGetInfo_v2(&left, &total));
    assert_int_equal(before - left, 64 << 20);
    unsigned type;
    succeeds(cuPointerGetAttribute(&type, WS_CU_POINTER_ATTRIBUTE_MEMORY_TYPE, pointer + 5));
    assert_int_equal(type, WS_CU_MEMORYTYPE_DEVICE);
    char byte = 1;
    fails(cuMemcpyHtoD_v2(pointer + (64 << 20) - 1, &byte, 2), INVALID_VALUE);
    succeeds(cuMemFree_v2(pointer));
    fails(cuMemFree_v2(pointer), INVALID_VALUE);
    fails(cuPointerGetAttribute(&type, WS_CU_POINTER_ATTRIBUTE_MEMORY_TYPE, pointer), INVALID_VALUE);
    succeeds(cuMemGetInfo_v2(&left, &total));
    assert_int_equal(before, left);
}

static void memory_in_stream_order_and_by_hand(void **state)
{
    const struct simgpu_fixture *fixture = *state;
    ws_CUdeviceptr pointer, reserved;
    size_t bytes = 4 << 20, before, left, total;
    unsigned value;
    succeeds(cuMemGetInfo_v2(&before, &total));
    succeeds(cuMemAllocAsync(&pointer, bytes, fixture->stream));
    succeeds(cuMemsetD32Async(pointer, 7, bytes / 4, fixture->stream));
    succeeds(cuMemcpyDtoHAsync_v2(&value, pointer + bytes - 4, 4, fixture->stream));
    assert_int_equal(value, 7);
    succeeds(cuMemFreeAsync(pointer, fixture->stream));
    succeeds(cuStreamSynchronize(fixture->stream));
    succeeds(cuMemGetInfo_v2(&left, &total));
    assert_int_equal(before, left);

    ws_CUmemGenericAllocationHandle handle;
    ws_CUmemAllocationProp properties = { .type = WS_CU_MEM_ALLOCATION_TYPE_PINNED };
    properties.location.type = WS_CU_MEM_LOCATION_TYPE_DEVICE;
    ws_CUmemAccessDesc access = { properties.location, 3 };
    succeeds(cuMemAddressReserve(&reserved, 2 * bytes, 0, 0, 0));
    succeeds(cuMemCreate(&handle, bytes, &properties, 0));
    succeeds(cuMemMap(reserved, bytes, 0, handle, 0));
    succeeds(cuMemMap(reserved + bytes, bytes, 0, handle, 0));
    succeeds(cuMemSetAccess(reserved, bytes, &access, 1));
    succeeds(cuMemsetD32_v2(reserved, 11, bytes / 4));
    succeeds(cuMemcpyDtoH_v2(&value, reserved + bytes, 4)); /* the same memory, mapped again */
    assert_int_equal(value, 11);
    succeeds(cuMemUnmap(reserved, bytes));
    succeeds(cuMemUnmap(reserved + bytes, bytes));
    succeeds(cuMemRelease(handle));
    succeeds(cuMemAddressFree(reserved, 2 * bytes));
}

static void errors_of_the_device_stay(void **state)
{
    const struct simgpu_fixture *fixture = *state;
    ws_CUdeviceptr pointer;
    ws_CUcontext fresh;
    succeeds(cuLaunchKernel(simgpu_function(fixture, "illegal_address"), 1, 1, 1, 1, 1, 1, 0, fixture->stream, NULL,
                            NULL));
    fails(cuStreamSynchronize(fixture->stream), ILLEGAL_ADDRESS);
    fails(cuMemAlloc_v2(&pointer, 16), ILLEGAL_ADDRESS);
    succeeds(cuCtxCreate_v2(&fresh, 0, 0));
    succeeds(cuMemAlloc_v2(&pointer, 16));
    succeeds(cuCtxDestroy_v2(fresh));
}

static void what_was_destroyed_is_known_as_such(void **state)
{
    (void)state;
    ws_CUcontext context, current;
    ws_CUstream stream;
    ws_CUevent made;
    succeeds(cuCtxCreate_v2(&context, 0, 0));
    succeeds(cuStreamCreate(&stream, 0));
    succeeds(cuEventCreate(&made, 0));
    succeeds(cuCtxPushCurrent_v2(context));
    succeeds(cuCtxDestroy_v2(context));
    fails(cuStreamSynchronize(stream), INVALID_HANDLE);
    fails(cuEventQuery(made), INVALID_HANDLE);
    fails(cuCtxSynchronize(), CONTEXT_IS_DESTROYED);
    succeeds(cuCtxPopCurrent_v2(&current));
    assert_ptr_equal(current, context);
    fails(cuCtxDestroy_v2(context), CONTEXT_IS_DESTROYED);
}

static void a_forked_child_has_no_driver(void **state)
{
    (void)state;
    int status, count;
    pid_t child = fork();
    if (!child)
        _exit(cuDeviceGetCount(&count) == WS_CUDA_ERROR_NOT_INITIALIZED && cuInit(0) != WS_CUDA_SUCCESS ? 0 : 1);
    assert_true(waitpid(child, &status, 0) == child);
    assert_int_equal(status, 0);
}

static void after_the_driver(void)
{
    int count;
    _exit(cuDeviceGetCount(&count) == WS_CUDA_ERROR_DEINITIALIZED ? 0 : 1);
}

/* In a process of its own, before this one uses the driver. What is registered before runs after. */
static int exit_after_the_driver_began(void)
{
    int status = 1;
    pid_t child = fork();
    if (!child) {
        ws_CUcontext context;
        if (atexit(after_the_driver) || cuInit(0) || cuCtxCreate_v2(&context, 0, 0))
            _exit(2);
        exit(3);
    }
    return waitpid(child, &status, 0) == child ? status : 1;
}

static int exit_status;

static void the_driver_ends_before_what_was_registered_before_it(void **state)
{
    (void)state;
    assert_int_equal(exit_status, 0);
}

struct launcher {
    const struct simgpu_fixture *fixture;
    ws_CUstream stream;
    ws_CUdeviceptr counter;
};

/* Each adds 1 to its own float, 500 times, on a stream all share or on its own. */
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
        TEST(host_functions_run_in_their_place),
        TEST(memory_runs_out_and_comes_back),
        TEST(memory_in_stream_order_and_by_hand),
        TEST(errors_of_the_device_stay),
        TEST(what_was_destroyed_is_known_as_such),
        TEST(a_forked_child_has_no_driver),
        TEST(threads_launch_together),
        cmocka_unit_test(the_driver_ends_before_what_was_registered_before_it),
    };
    exit_status = exit_after_the_driver_began();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
