/* A library between program and driver whose cuStreamQuery and cuLaunchKernel may not return: a signal handler or a
 * C++ exception that leaves a call does the same. */
#include "shim/abi/cuda.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stddef.h>

extern jmp_buf *jump_out, *jump_out_of_launch;
jmp_buf *jump_out, *jump_out_of_launch;

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
    if (!real)
        real = (launch *)dlsym(RTLD_NEXT, "cuLaunchKernel");
    return real(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream, parameters, extra);
}
