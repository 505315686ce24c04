/* Is linked with two libraries, which are linked with two different versions of cuBLAS. The calls of each library
 * must reach the version with which it is linked, whichever library calls first. */
#include <stdio.h>

#include "abi/cuda.h"

int call_11(void);
int call_12(void);
ws_CUresult cuInit(unsigned flags);
ws_CUresult cuDevicePrimaryCtxRetain(ws_CUcontext *context, ws_CUdevice device);

int main(void)
{
    ws_CUcontext context;
    int answers[4] = { call_12(), call_11() };
    if (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0))
        return 1;
    answers[2] = call_11(); /* the shim records this call and all later calls */
    answers[3] = call_12();
    printf("%d %d %d %d\n", answers[0], answers[1], answers[2], answers[3]);
    return answers[0] != 12 || answers[1] != 11 || answers[2] != 11 || answers[3] != 12;
}
