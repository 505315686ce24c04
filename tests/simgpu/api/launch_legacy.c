/* Launches as programs for CUDA 3 make them: separate calls set the block, parameters and shared memory of a function
 * before the launch. */
#include "api/api.h"

#include <string.h>

enum { PARAMETER_BYTES = 4096 };

/* What the program has set for a function's next launch. */
struct prepared {
    const struct sim_function *function;
    unsigned block[3], shared;
    size_t bytes;
    char values[PARAMETER_BYTES];
    struct prepared *next;
};

static struct prepared *all;

static struct prepared *prepared_of(const struct sim_function *function)
{
    if (!function || function->magic != SIM_FUNCTION)
        return NULL;
    pthread_mutex_lock(&sim_lock);
    struct prepared *found = all;
    while (found && found->function != function)
        found = found->next;
    if (!found && (found = sim_keep(sizeof(*found)))) {
        found->function = function;
        found->block[0] = found->block[1] = found->block[2] = 1;
        found->next = all;
        all = found;
    }
    pthread_mutex_unlock(&sim_lock);
    return found;
}

#define PREPARED(name, function)                   \
    struct prepared *name = prepared_of(function); \
    if (!name)                                     \
    return WS_CUDA_ERROR_INVALID_HANDLE

API(cuFuncSetBlockShape, (struct sim_function * function, int x, int y, int z), (function, x, y, z))
{
    PREPARED(prepared, function);
    NEED(x > 0 && y > 0 && z > 0);
    prepared->block[0] = (unsigned)x;
    prepared->block[1] = (unsigned)y;
    prepared->block[2] = (unsigned)z;
    return WS_CUDA_SUCCESS;
}

API(cuFuncSetSharedSize, (struct sim_function * function, unsigned bytes), (function, bytes))
{
    PREPARED(prepared, function);
    prepared->shared = bytes;
    return WS_CUDA_SUCCESS;
}

API(cuParamSetSize, (struct sim_function * function, unsigned bytes), (function, bytes))
{
    PREPARED(prepared, function);
    NEED(bytes <= PARAMETER_BYTES);
    prepared->bytes = bytes;
    return WS_CUDA_SUCCESS;
}

API(cuParamSetv, (struct sim_function * function, int offset, void *value, unsigned bytes),
    (function, offset, value, bytes))
{
    PREPARED(prepared, function);
    NEED(value && offset >= 0 && (size_t)offset + bytes <= PARAMETER_BYTES);
    memcpy(prepared->values + offset, value, bytes);
    return WS_CUDA_SUCCESS;
}

API(cuParamSeti, (struct sim_function * function, int offset, unsigned value), (function, offset, value))
{
    return body_cuParamSetv(function, offset, &value, sizeof(value));
}

API(cuParamSetf, (struct sim_function * function, int offset, float value), (function, offset, value))
{
    return body_cuParamSetv(function, offset, &value, sizeof(value));
}

static ws_CUresult launch(struct sim_function *function, int width, int height, ws_CUstream handle)
{
    struct sim_stream *stream;
    PREPARED(prepared, function);
    NEED(width > 0 && height > 0);
    TRY(sim_stream_get(handle, &stream));
    const unsigned shape[7] = { (unsigned)width,    (unsigned)height, 1, prepared->block[0], prepared->block[1],
                                prepared->block[2], prepared->shared };
    void *extra[] = { WS_CU_LAUNCH_PARAM_BUFFER_POINTER, prepared->values, WS_CU_LAUNCH_PARAM_BUFFER_SIZE,
                      &prepared->bytes, WS_CU_LAUNCH_PARAM_END };
    struct sim_work work = { .overlaps = false };
    TRY(sim_launch_describe(&work, function, stream->context, shape, NULL, extra, stream->capture != NULL));
    return sim_submit(stream, &work, sim_config.launch_ns, NULL);
}

API(cuLaunch, (struct sim_function * function), (function))
{
    return launch(function, 1, 1, NULL);
}

API(cuLaunchGrid, (struct sim_function * function, int width, int height), (function, width, height))
{
    return launch(function, width, height, NULL);
}

API(cuLaunchGridAsync, (struct sim_function * function, int width, int height, ws_CUstream stream),
    (function, width, height, stream))
{
    return launch(function, width, height, stream);
}
