/* A library between the shim and the driver. Its cuStreamQuery, cuLaunchKernel and ncclAllReduce may leave by
 * longjmp, like a call that a signal handler or a C++ exception leaves. Its cuLaunchKernel may also raise a signal,
 * as if the launch were interrupted. */
#include "abi/cuda.h"
#include "abi/nccl.h"

#include <dlfcn.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>

extern jmp_buf *jump_out, *jump_out_of_launch, *jump_out_of_collective;
jmp_buf *jump_out, *jump_out_of_launch, *jump_out_of_collective;
extern int interrupt_launches;
int interrupt_launches;
/* The steps of meet_waits (../jumping.c): one thread's wait for an event enters a stream while another thread
 * launches into the same stream. */
enum { WAIT_COMES = 1, LAUNCH_COMES, WAIT_IS_IN, LAUNCH_IS_IN };
extern int meeting;
int meeting; /* the last step that was reached; 0: none */

static void meet(int reached, int next)
{
    __atomic_store_n(&meeting, reached, __ATOMIC_RELEASE);
    while (__atomic_load_n(&meeting, __ATOMIC_ACQUIRE) < next)
        sched_yield();
}

ws_CUresult cuStreamWaitEvent(ws_CUstream stream, ws_CUevent event, unsigned flags);
ws_CUresult cuStreamWaitEvent(ws_CUstream stream, ws_CUevent event, unsigned flags)
{
    typedef ws_CUresult wait(ws_CUstream, ws_CUevent, unsigned);
    wait *real = (wait *)dlsym(RTLD_NEXT, "cuStreamWaitEvent");
    meet(WAIT_COMES, LAUNCH_COMES);
    ws_CUresult result = real(stream, event, flags);
    meet(WAIT_IS_IN, LAUNCH_IS_IN);
    return result;
}

ws_ncclResult ncclAllReduce(const void *send, void *receive, size_t count, ws_ncclEnum type, ws_ncclEnum reduction,
                            ws_ncclComm comm, ws_CUstream stream);
ws_ncclResult ncclAllReduce(const void *send, void *receive, size_t count, ws_ncclEnum type, ws_ncclEnum reduction,
                            ws_ncclComm comm, ws_CUstream stream)
{
    (void)send, (void)receive, (void)count, (void)type, (void)reduction, (void)comm, (void)stream;
    if (jump_out_of_collective)
        longjmp(*jump_out_of_collective, 1);
    return WS_ncclSuccess;
}

ws_CUresult cuStreamQuery(ws_CUstream stream);
ws_CUresult cuStreamQuery(ws_CUstream stream)
{
    (void)stream;
    if (jump_out)
        longjmp(*jump_out, 1);
    return WS_CUDA_SUCCESS;
}

typedef ws_CUresult launch(ws_CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                           unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared, ws_CUstream stream,
                           void **parameters, void **extra);
launch cuLaunchKernel;
ws_CUresult cuLaunchKernel(ws_CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                           unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared, ws_CUstream stream,
                           void **parameters, void **extra)
{
    static launch *real;
    if (jump_out_of_launch)
        longjmp(*jump_out_of_launch, 1);
    if (interrupt_launches)
        raise(SIGUSR1);
    if (__atomic_load_n(&meeting, __ATOMIC_ACQUIRE) == WAIT_COMES)
        meet(LAUNCH_COMES, WAIT_IS_IN);
    if (!real)
        real = (launch *)dlsym(RTLD_NEXT, "cuLaunchKernel");
    return real(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream, parameters, extra);
}
