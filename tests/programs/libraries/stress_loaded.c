/* A library that uses CUDA. ../stress.c loads and closes it again and again. */
#include "../program.h"

int loaded_run(ws_CUfunction function, ws_CUstream stream, int times);
int loaded_run(ws_CUfunction function, ws_CUstream stream, int times)
{
    int refused = 0;
    for (int i = 0; i < times; i++)
        refused += spin(function, stream, 1000) != WS_CUDA_SUCCESS;
    return refused;
}
