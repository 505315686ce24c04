/* Copies: which way they go, what they cost, and whether the caller has to wait. */
#include "engine/engine.h"

#include <stdlib.h>
#include <string.h>

/* Bytes per ns of the link to the host, pinned and not, and between devices. */
#define LINK_PINNED 50.0
#define LINK_PAGEABLE 12.0
#define LINK_PEER 400.0
enum { COPY_LATENCY_NS = 1000, STAGED_BYTES = 64 << 10 };

struct end_of {
    struct sim_device *device; /* NULL: host memory */
    bool pageable;
};

static ws_CUresult look_up(uint64_t address, uint64_t bytes, enum sim_side side, struct end_of *end)
{
    struct sim_range range;
    *end = (struct end_of){ NULL, false };
    if (!sim_memory_find(address, &range)) {
        end->pageable = true;
        return side == SIM_SIDE_DEVICE ? WS_CUDA_ERROR_INVALID_VALUE : WS_CUDA_SUCCESS;
    }
    if (side == SIM_SIDE_DEVICE && bytes > range.start + range.bytes - address)
        return WS_CUDA_ERROR_INVALID_VALUE;
    if (range.kind == SIM_MEMORY_DEVICE || (range.kind == SIM_MEMORY_MANAGED && side != SIM_SIDE_HOST))
        end->device = range.device;
    return WS_CUDA_SUCCESS;
}

static uint64_t extent(size_t pitch, size_t slice, const struct sim_copy *copy)
{
    return (copy->depth - 1) * slice + (copy->height - 1) * pitch + copy->width;
}

/* A pageable source is copied aside at once, so that the caller may change it. */
static bool stage(struct sim_copy *copy)
{
    size_t bytes = copy->width * copy->height * copy->depth;
    char *aside = malloc(bytes);
    if (!aside)
        return false;
    for (size_t z = 0; z < copy->depth; z++)
        for (size_t y = 0; y < copy->height; y++)
            memcpy(aside + (z * copy->height + y) * copy->width,
                   copy->from + z * copy->from_slice + y * copy->from_pitch, copy->width);
    copy->staging = aside;
    copy->from = aside;
    copy->from_pitch = copy->width;
    copy->from_slice = copy->width * copy->height;
    return true;
}

ws_CUresult sim_transfer(struct sim_stream *stream, struct sim_copy copy, enum sim_side from_side,
                         enum sim_side to_side, bool async)
{
    if (!copy.width || !copy.height || !copy.depth)
        return WS_CUDA_SUCCESS;
    struct end_of from, to;
    ws_CUresult result =
        look_up((uint64_t)copy.from, extent(copy.from_pitch, copy.from_slice, &copy), from_side, &from);
    if (result == WS_CUDA_SUCCESS)
        result = look_up((uint64_t)copy.to, extent(copy.to_pitch, copy.to_slice, &copy), to_side, &to);
    if (result != WS_CUDA_SUCCESS)
        return result;
    struct sim_work work = { .kind = SIM_WORK_COPY, .unit = SIM_ENGINE_NONE };
    work.bytes = (uint64_t)copy.width * copy.height * copy.depth;
    double speed = stream->context->device->model->bytes_per_ns / 2;
    bool waits = !async;
    work.name = from.device ? (to.device ? "DtoD" : "DtoH") : to.device ? "HtoD" : "HtoH";
    if (from.device && to.device) {
        if (from.device != to.device) {
            speed = LINK_PEER;
            work.name = "PtoP";
        }
        waits = false; /* copies inside devices do not hold the host, in no form */
    } else if (from.device) {
        work.unit = SIM_ENGINE_D2H;
        speed = to.pageable ? LINK_PAGEABLE : LINK_PINNED;
        waits |= to.pageable;
    } else if (to.device) {
        work.unit = SIM_ENGINE_H2D;
        speed = from.pageable ? LINK_PAGEABLE : LINK_PINNED;
    } else {
        waits = true;
    }
    work.duration = sim_jitter(COPY_LATENCY_NS + (int64_t)((double)work.bytes / speed), work.bytes);
    work.copy = copy;
    bool captured;
    result = sim_capture_work(stream, &work, &captured);
    if (captured || result != WS_CUDA_SUCCESS)
        return result;
    if (from.pageable && to.device) {
        if (work.bytes <= STAGED_BYTES) {
            if (!stage(&work.copy))
                return WS_CUDA_ERROR_OUT_OF_MEMORY;
            waits = false;
        } else {
            waits = true;
        }
    }
    uint64_t number = 0;
    result = sim_submit(stream, &work, sim_config.launch_ns, &number);
    return waits && result == WS_CUDA_SUCCESS ? sim_finish_through(stream, number) : result;
}
