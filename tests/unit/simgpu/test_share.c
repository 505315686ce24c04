/* Tests of device memory that another process opens by an IPC handle. */
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "simgpu.h"

ws_CUresult cuIpcGetMemHandle(ws_CUipcMemHandle *, ws_CUdeviceptr);
ws_CUresult cuIpcOpenMemHandle_v2(ws_CUdeviceptr *, ws_CUipcMemHandle, unsigned);
ws_CUresult cuIpcCloseMemHandle(ws_CUdeviceptr);

enum { WORDS = 1000 };

static int channel[2];
static int child_status;

/* The child checks that it sees the 5s that the parent wrote, and writes 6s, which the parent must see. Returns 0, or
 * the number of the step that failed. */
static int run_child(void)
{
    ws_CUipcMemHandle handle;
    ws_CUcontext context;
    ws_CUdeviceptr shared;
    unsigned words[WORDS];
    char done = 1;
    if (read(channel[1], &handle, sizeof(handle)) != (ssize_t)sizeof(handle))
        return 1;
    if (cuInit(0) || cuCtxCreate_v2(&context, 0, 0) || cuIpcOpenMemHandle_v2(&shared, handle, 1))
        return 2;
    if (cuMemcpyDtoH_v2(words, shared, sizeof(words)) || words[0] != 5 || words[WORDS - 1] != 5)
        return 3;
    if (cuMemsetD32_v2(shared, 6, WORDS) || cuCtxSynchronize() || cuIpcCloseMemHandle(shared))
        return 4;
    return write(channel[1], &done, 1) == 1 ? 0 : 5;
}

static void the_other_process_sees_the_same_memory(void **state)
{
    (void)state;
    ws_CUipcMemHandle handle;
    ws_CUdeviceptr first, shared;
    unsigned words[WORDS];
    char done;
    succeeds(cuMemAlloc_v2(&first, 100));
    succeeds(cuMemAlloc_v2(&shared, sizeof(words)));
    succeeds(cuMemsetD32_v2(shared, 5, WORDS));
    succeeds(cuCtxSynchronize());
    succeeds(cuIpcGetMemHandle(&handle, shared));
    fails(cuIpcOpenMemHandle_v2(&first, handle, 1), INVALID_CONTEXT);
    assert_true(write(channel[0], &handle, sizeof(handle)) == (ssize_t)sizeof(handle));
    assert_int_equal(read(channel[0], &done, 1), 1);
    succeeds(cuMemcpyDtoH_v2(words, shared, sizeof(words)));
    assert_int_equal(words[0], 6);
    assert_int_equal(words[WORDS - 1], 6);
    assert_true(wait(&child_status) > 0);
    assert_int_equal(child_status, 0);
}

int main(void)
{
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, channel) != 0)
        return 1;
    /* Forks before this process uses the driver, because the driver does not work in a child that is forked later. */
    pid_t child = fork();
    if (child == 0) {
        close(channel[0]);
        return run_child();
    }
    close(channel[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_other_process_sees_the_same_memory, simgpu_setup, simgpu_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
