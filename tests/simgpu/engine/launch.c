/* Turns the arguments of a launch call into work for the engine. */
#include "engine/engine.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_BLOCK = 1024 };

static struct sim_arguments *arguments_new(const struct sim_function *function)
{
    size_t pointers = function->parameter_count * sizeof(void *);
    size_t values = (function->parameter_bytes + sizeof(void *) - 1) / sizeof(void *) * sizeof(void *);
    struct sim_arguments *arguments = malloc(sizeof(*arguments) + values + pointers);
    if (!arguments)
        return NULL;
    arguments->references = 1;
    arguments->count = function->parameter_count;
    arguments->bytes = function->parameter_bytes;
    arguments->pointers = (void **)(arguments->values + values);
    for (unsigned i = 0; i < function->parameter_count; i++)
        arguments->pointers[i] = arguments->values + function->parameters[i].offset;
    return arguments;
}

/* Returns the parameter buffer that a launch names in `extra`, and sets its size. NULL: there is no such buffer. */
static const char *extra_buffer(void **extra, size_t *size)
{
    const char *buffer = NULL;
    *size = 0;
    for (; extra && *extra; extra += 2) {
        if (*extra == WS_CU_LAUNCH_PARAM_BUFFER_POINTER)
            buffer = extra[1];
        else if (*extra == WS_CU_LAUNCH_PARAM_BUFFER_SIZE)
            *size = *(size_t *)extra[1];
        else
            break;
    }
    return buffer;
}

static struct sim_arguments *keep_arguments(const struct sim_function *function, void **parameters, void **extra)
{
    size_t size = 0;
    const char *buffer = parameters ? NULL : extra_buffer(extra, &size);
    if (!function->parameter_count || (!parameters && !buffer))
        return NULL;
    struct sim_arguments *arguments = arguments_new(function);
    for (unsigned i = 0; arguments && i < function->parameter_count; i++) {
        const struct sim_parameter *parameter = &function->parameters[i];
        const void *from = parameters ? parameters[i] : buffer + parameter->offset;
        if (parameters || parameter->offset + parameter->size <= size)
            memcpy(arguments->pointers[i], from, parameter->size);
        else
            memset(arguments->pointers[i], 0, parameter->size);
    }
    return arguments;
}

static struct sim_function *checked(struct sim_function *function, struct sim_context *context, ws_CUresult *result)
{
    *result = WS_CUDA_ERROR_INVALID_HANDLE;
    if (!function || (function->magic != SIM_FUNCTION && function->magic != SIM_KERNEL))
        return NULL;
    if (function->module && function->module->context != sim_whole(context))
        return NULL;
    *result = WS_CUDA_SUCCESS;
    return function;
}

/* Describes a launch. shape: grid x, y, z, block x, y, z, bytes of dynamic shared memory. keep: copies the arguments
 * even if the kernel computes nothing. */
ws_CUresult sim_launch_describe(struct sim_work *work, struct sim_function *function, struct sim_context *context,
                                const unsigned shape[7], void **parameters, void **extra, bool keep)
{
    ws_CUresult result;
    function = checked(function, context, &result);
    if (!function)
        return result;
    for (int i = 0; i < 6; i++)
        if (!shape[i])
            return WS_CUDA_ERROR_INVALID_VALUE;
    uint64_t threads = (uint64_t)shape[3] * shape[4] * shape[5];
    if (threads > MAX_BLOCK || shape[3] > 1024 || shape[4] > 1024 || shape[5] > 64 || shape[1] > 65535 ||
        shape[2] > 65535)
        return WS_CUDA_ERROR_INVALID_VALUE;
    if (shape[6] > (unsigned)function->attributes[SIM_ATTRIBUTE_MAX_DYNAMIC_SHARED])
        return WS_CUDA_ERROR_INVALID_VALUE;
    if (parameters && extra && *extra)
        return WS_CUDA_ERROR_INVALID_VALUE;
    work->kind = SIM_WORK_KERNEL;
    work->unit = SIM_ENGINE_NONE;
    work->name = function->name;
    work->launch.function = function;
    memcpy(work->launch.grid, shape, sizeof(work->launch.grid));
    memcpy(work->launch.block, shape + 3, sizeof(work->launch.block));
    work->launch.shared_bytes = shape[6];
    const struct sim_kernel *kernel = function->kernel;
    work->launch.arguments = kernel || keep ? keep_arguments(function, parameters, extra) : NULL;
    void **kept = work->launch.arguments ? work->launch.arguments->pointers : NULL;
    int64_t duration = sim_kernel_duration(kernel, function->name, context->device, kept, shape, shape + 3);
    sim_count_launch(&work->launch.counted, kernel, kept, shape, shape + 3);
    work->duration = sim_jitter(duration, shape[0]);
    if (work->launch.arguments && !keep && sim_computes_nothing(kernel)) {
        free(work->launch.arguments);
        work->launch.arguments = NULL;
    }
    return WS_CUDA_SUCCESS;
}
