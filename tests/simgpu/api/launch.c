#include "api/api.h"

#include <string.h>

static ws_CUresult launch(struct sim_function *function, const unsigned shape[7], ws_CUstream handle,
                          void **parameters, void **extra, bool overlaps)
{
    struct sim_stream *stream;
    TRY(sim_stream_get(handle, &stream));
    struct sim_work work = { .overlaps = overlaps };
    TRY(sim_launch_describe(&work, function, stream->context, shape, parameters, extra, stream->capture != NULL));
    return sim_submit(stream, &work, sim_config.launch_ns, NULL);
}

#define GRID_PARAMETERS                                                                                      \
    unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z, \
        unsigned shared
#define GRID_ARGUMENTS grid_x, grid_y, grid_z, block_x, block_y, block_z, shared

API_TWIN(cuLaunchKernel, _ptsz,
         (struct sim_function * function, GRID_PARAMETERS, ws_CUstream stream, void **parameters, void **extra),
         (function, GRID_ARGUMENTS, stream, parameters, extra))
{
    const unsigned shape[7] = { GRID_ARGUMENTS };
    return launch(function, shape, stream, parameters, extra, false);
}

API_TWIN(cuLaunchCooperativeKernel, _ptsz,
         (struct sim_function * function, GRID_PARAMETERS, ws_CUstream stream, void **parameters),
         (function, GRID_ARGUMENTS, stream, parameters))
{
    const unsigned shape[7] = { GRID_ARGUMENTS };
    struct sim_context *context;
    TRY(sim_current(&context));
    uint64_t blocks = (uint64_t)grid_x * grid_y * grid_z;
    if (blocks > (uint64_t)context->device->model->sms * 32)
        return WS_CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
    return launch(function, shape, stream, parameters, NULL, false);
}

/* Records the event that a launch attribute names, after the kernel. */
static ws_CUresult record_attribute(struct sim_event *event, ws_CUstream handle)
{
    struct sim_stream *stream;
    TRY(event_check(event));
    TRY(sim_stream_get(handle, &stream));
    struct sim_work work = { .kind = SIM_WORK_EVENT, .unit = SIM_ENGINE_NONE, .event.event = event };
    bool captured;
    ws_CUresult result = sim_capture_record(stream, event, 0, &captured);
    if (captured || result != WS_CUDA_SUCCESS)
        return result;
    return sim_submit(stream, &work, 0, NULL);
}

API_TWIN(cuLaunchKernelEx, _ptsz,
         (const ws_CUlaunchConfig *config, struct sim_function *function, void **parameters, void **extra),
         (config, function, parameters, extra))
{
    NEED(config && (config->attrs || !config->numAttrs));
    const unsigned shape[7] = { config->gridDimX,  config->gridDimY,  config->gridDimZ,      config->blockDimX,
                                config->blockDimY, config->blockDimZ, config->sharedMemBytes };
    bool overlaps = false;
    struct sim_event *event = NULL;
    for (unsigned i = 0; i < config->numAttrs; i++) {
        const ws_CUlaunchAttribute *attribute = &config->attrs[i];
        if (attribute->id == WS_CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
            overlaps = attribute->value.programmaticStreamSerializationAllowed != 0;
        else if (attribute->id == WS_CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT)
            event = (struct sim_event *)attribute->value.programmaticEvent.event;
        else if (attribute->id == WS_CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT)
            event = (struct sim_event *)attribute->value.launchCompletionEvent.event;
    }
    if (event)
        TRY(event_check(event));
    TRY(launch(function, shape, config->hStream, parameters, extra, overlaps));
    return event ? record_attribute(event, config->hStream) : WS_CUDA_SUCCESS;
}

API(cuLaunchCooperativeKernelMultiDevice, (const ws_CUDA_LAUNCH_PARAMS *launches, unsigned count, unsigned flags),
    (launches, count, flags))
{
    NEED(launches && count && flags <= 3);
    for (unsigned i = 0; i < count; i++) {
        const ws_CUDA_LAUNCH_PARAMS *one = &launches[i];
        const unsigned shape[7] = { one->gridDimX,  one->gridDimY,  one->gridDimZ,      one->blockDimX,
                                    one->blockDimY, one->blockDimZ, one->sharedMemBytes };
        TRY(launch((struct sim_function *)one->function, shape, one->hStream, one->kernelParams, NULL, false));
    }
    return WS_CUDA_SUCCESS;
}
