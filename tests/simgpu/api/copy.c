#include "api/api.h"

static struct sim_copy line(const void *to, const void *from, size_t bytes)
{
    return (struct sim_copy){ .to = (char *)to,
                              .from = from,
                              .width = bytes,
                              .height = 1,
                              .depth = 1,
                              .to_pitch = bytes,
                              .from_pitch = bytes,
                              .to_slice = bytes,
                              .from_slice = bytes };
}

static ws_CUresult copy_line(uint64_t to, enum sim_side to_side, uint64_t from, enum sim_side from_side, size_t bytes,
                             ws_CUstream handle, bool async)
{
    struct sim_stream *stream;
    TRY(sim_stream_get(handle, &stream));
    if (!async)
        TRY(sim_capture_forbids_sync(stream));
    NEED(!bytes || (to && from));
    struct sim_copy copy = line((void *)to, (const void *)from, bytes);
    return sim_transfer(stream, &copy, from_side, to_side, async);
}

#define A SIM_SIDE_ANY
#define H SIM_SIDE_HOST
#define D SIM_SIDE_DEVICE

/* Defines the two functions for a copy of bytes: a synchronous one with a _ptds twin, and an asynchronous one with a
 * _ptsz twin. */
#define LINE_COPY(sync, async, to_type, to_side, from_type, from_side)                           \
    API_TWIN(sync, _ptds, (to_type to, from_type from, size_t bytes), (to, from, bytes))         \
    {                                                                                            \
        return copy_line((uint64_t)to, to_side, (uint64_t)from, from_side, bytes, NULL, false);  \
    }                                                                                            \
    API_TWIN(async, _ptsz, (to_type to, from_type from, size_t bytes, ws_CUstream stream),       \
             (to, from, bytes, stream))                                                          \
    {                                                                                            \
        return copy_line((uint64_t)to, to_side, (uint64_t)from, from_side, bytes, stream, true); \
    }

LINE_COPY(cuMemcpyHtoD_v2, cuMemcpyHtoDAsync_v2, ws_CUdeviceptr, D, const void *, H)
LINE_COPY(cuMemcpyDtoH_v2, cuMemcpyDtoHAsync_v2, void *, H, ws_CUdeviceptr, D)
LINE_COPY(cuMemcpyDtoD_v2, cuMemcpyDtoDAsync_v2, ws_CUdeviceptr, D, ws_CUdeviceptr, D)
LINE_COPY(cuMemcpy, cuMemcpyAsync, ws_CUdeviceptr, A, ws_CUdeviceptr, A)

API_TWIN(cuMemcpyPeer, _ptds,
         (ws_CUdeviceptr to, ws_CUcontext to_context, ws_CUdeviceptr from, ws_CUcontext from_context, size_t bytes),
         (to, to_context, from, from_context, bytes))
{
    (void)to_context, (void)from_context;
    return copy_line(to, D, from, D, bytes, NULL, false);
}

API_TWIN(cuMemcpyPeerAsync, _ptsz,
         (ws_CUdeviceptr to, ws_CUcontext to_context, ws_CUdeviceptr from, ws_CUcontext from_context, size_t bytes,
          ws_CUstream stream),
         (to, to_context, from, from_context, bytes, stream))
{
    (void)to_context, (void)from_context;
    return copy_line(to, D, from, D, bytes, stream, true);
}

static ws_CUresult fill(uint64_t to, size_t pitch, unsigned value, unsigned element, size_t width, size_t height,
                        ws_CUstream handle, bool async)
{
    struct sim_stream *stream;
    TRY(sim_stream_get(handle, &stream));
    if (!async)
        TRY(sim_capture_forbids_sync(stream));
    if (!width || !height)
        return WS_CUDA_SUCCESS;
    struct sim_work work;
    bool pinned;
    struct sim_memset what = { (char *)to, pitch, width, height, value, element };
    TRY(sim_memset_describe(&work, stream->context->device, &what, &pinned));
    uint64_t number = 0;
    TRY(sim_submit(stream, &work, sim_config.launch_ns, &number));
    /* A synchronous memset makes the caller wait only if it writes pinned host memory. */
    return pinned && !async ? sim_finish_through(stream, number) : WS_CUDA_SUCCESS;
}

#define FILLS(bits, type)                                                                                      \
    API_TWIN(cuMemsetD##bits##_v2, _ptds, (ws_CUdeviceptr to, type value, size_t count), (to, value, count))   \
    {                                                                                                          \
        return fill(to, count * (bits / 8), value, bits / 8, count, 1, NULL, false);                           \
    }                                                                                                          \
    API_TWIN(cuMemsetD##bits##Async, _ptsz, (ws_CUdeviceptr to, type value, size_t count, ws_CUstream stream), \
             (to, value, count, stream))                                                                       \
    {                                                                                                          \
        return fill(to, count * (bits / 8), value, bits / 8, count, 1, stream, true);                          \
    }                                                                                                          \
    API_TWIN(cuMemsetD2D##bits##_v2, _ptds,                                                                    \
             (ws_CUdeviceptr to, size_t pitch, type value, size_t width, size_t height),                       \
             (to, pitch, value, width, height))                                                                \
    {                                                                                                          \
        return fill(to, pitch, value, bits / 8, width, height, NULL, false);                                   \
    }                                                                                                          \
    API_TWIN(cuMemsetD2D##bits##Async, _ptsz,                                                                  \
             (ws_CUdeviceptr to, size_t pitch, type value, size_t width, size_t height, ws_CUstream stream),   \
             (to, pitch, value, width, height, stream))                                                        \
    {                                                                                                          \
        return fill(to, pitch, value, bits / 8, width, height, stream, true);                                  \
    }

FILLS(8, unsigned char)
FILLS(16, unsigned short)
FILLS(32, unsigned)
