/* Tests of what the simulated driver returns after a fault, in a destroyed context, in a forked child and at exit. */
#include <sys/wait.h>
#include <unistd.h>

#include "simgpu.h"

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

/* Runs in a forked process, before this process uses the driver. The forked process registers an exit handler before
 * the driver registers its own, so that the handler runs after the driver's. */
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

#define TEST(name) cmocka_unit_test_setup_teardown(name, simgpu_setup, simgpu_teardown)

int main(void)
{
    exit_status = exit_after_the_driver_began();
    const struct CMUnitTest tests[] = {
        TEST(errors_of_the_device_stay),
        TEST(what_was_destroyed_is_known_as_such),
        TEST(a_forked_child_has_no_driver),
        cmocka_unit_test(the_driver_ends_before_what_was_registered_before_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
