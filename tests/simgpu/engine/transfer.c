/* Copies and memsets: their direction, their duration, and whether the caller has to wait. */
#include "engine/engine.h"

#include <stdlib.h>
#include <string.h>

/* Bytes per ns of the link to the host, for pinned and pageable memory, and of the link between devices. */
#define LINK_PINNED 50.0
#define LINK_PAGEABLE 12.0
#define LINK_PEER 400.0
enum { COPY_LATENCY_NS = 1000, MEMSET_LATENCY_NS = 1500, STAGED_BYTES = 64 << 10 };

struct end_of {
    struct sim_device *device; /* device whose memory it is; NULL: host memory */
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

/* Copies a pageable source into a buffer at once, so that the caller may change the source. */
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

/* Fills in the work of a copy. *hold receives whether the calling thread has to wait for the copy. */
ws_CUresult sim_transfer_describe(struct sim_work *work, const struct sim_device *device, const struct sim_copy *copy,
                                  enum sim_side from_side, enum sim_side to_side, enum sim_hold *hold)
{
    struct end_of from, to;
    ws_CUresult result =
        look_up((uint64_t)copy->from, extent(copy->from_pitch, copy->from_slice, copy), from_side, &from);
    if (result == WS_CUDA_SUCCESS)
        result = look_up((uint64_t)copy->to, extent(copy->to_pitch, copy->to_slice, copy), to_side, &to);
    if (result != WS_CUDA_SUCCESS)
        return result;
    *work = (struct sim_work){ .kind = SIM_WORK_COPY, .unit = SIM_ENGINE_NONE, .copy = *copy };
    work->bytes = (uint64_t)copy->width * copy->height * copy->depth;
    double speed = device->model->bytes_per_ns / 2;
    *hold = SIM_HOLD_SYNC;
    work->name = from.device ? (to.device ? "DtoD" : "DtoH") : to.device ? "HtoD" : "HtoH";
    if (from.device && to.device) {
        if (from.device != to.device) {
            speed = LINK_PEER;
            work->name = "PtoP";
        }
        *hold = SIM_HOLD_NEVER;
    } else if (from.device) {
        work->unit = SIM_ENGINE_D2H;
        speed = to.pageable ? LINK_PAGEABLE : LINK_PINNED;
        *hold = to.pageable ? SIM_HOLD_ALWAYS : SIM_HOLD_SYNC;
    } else if (to.device) {
        work->unit = SIM_ENGINE_H2D;
        speed = from.pageable ? LINK_PAGEABLE : LINK_PINNED;
        if (from.pageable)
            *hold = work->bytes <= STAGED_BYTES ? SIM_HOLD_STAGED : SIM_HOLD_ALWAYS;
    } else {
        *hold = SIM_HOLD_ALWAYS;
    }
    work->duration = sim_jitter(COPY_LATENCY_NS + (int64_t)((double)work->bytes / speed), work->bytes);
    return WS_CUDA_SUCCESS;
}

ws_CUresult sim_transfer(struct sim_stream *stream, const struct sim_copy *copy, enum sim_side from_side,
                         enum sim_side to_side, bool async)
{
    if (!copy->width || !copy->height || !copy->depth)
        return WS_CUDA_SUCCESS;
    struct sim_work work;
    enum sim_hold hold;
    bool captured;
    ws_CUresult result = sim_transfer_describe(&work, stream->context->device, copy, from_side, to_side, &hold);
    if (result == WS_CUDA_SUCCESS)
        result = sim_capture_work(stream, &work, &captured);
    if (result != WS_CUDA_SUCCESS || captured)
        return result;
    if (hold == SIM_HOLD_STAGED && !stage(&work.copy))
        return WS_CUDA_ERROR_OUT_OF_MEMORY;
    uint64_t number = 0;
    result = sim_submit(stream, &work, sim_config.launch_ns, &number);
    bool waits = hold == SIM_HOLD_ALWAYS || (hold == SIM_HOLD_SYNC && !async);
    if (!waits || result != WS_CUDA_SUCCESS)
        return result;
    sim_copy_meanwhile(stream, number);
    return sim_finish_through(stream, number);
}

ws_CUresult sim_memset_describe(struct sim_work *work, const struct sim_device *device, const struct sim_memset *what,
                                bool *pinned)
{
    struct sim_range range;
    uint64_t to = (uint64_t)what->to;
    if (to % what->element || !sim_memory_find(to, &range))
        return WS_CUDA_ERROR_INVALID_VALUE;
    if ((what->height - 1) * what->pitch + what->width * what->element > range.start + range.bytes - to)
        return WS_CUDA_ERROR_INVALID_VALUE;
    *work = (struct sim_work){ .kind = SIM_WORK_MEMSET,
                               .unit = SIM_ENGINE_NONE,
                               .bytes = (uint64_t)what->width * what->height * what->element,
                               .memset = *what };
    double nanoseconds = (double)work->bytes / device->model->bytes_per_ns;
    work->duration = sim_jitter(MEMSET_LATENCY_NS + (int64_t)nanoseconds, work->bytes);
    *pinned = range.kind == SIM_MEMORY_PINNED;
    return WS_CUDA_SUCCESS;
}
