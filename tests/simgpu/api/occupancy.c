/* How many blocks of a kernel fit on an SM, by the SM's limits: threads, blocks, registers and shared memory. */
#include "api/api.h"

enum { SM_THREADS = 2048, SM_BLOCKS = 32, SM_REGISTERS = 65536 };

static ws_CUresult blocks_for(int *blocks, const struct sim_function *function, int block_size, size_t shared)
{
    struct sim_context *context;
    NEED(blocks && block_size > 0);
    TRY(sim_current(&context));
    if (!function || (function->magic != SIM_FUNCTION && function->magic != SIM_KERNEL))
        return WS_CUDA_ERROR_INVALID_HANDLE;
    int warps = (block_size + 31) / 32;
    int most = SM_THREADS / (warps * 32);
    int by_registers = SM_REGISTERS / (warps * 32 * (function->attributes[SIM_ATTRIBUTE_REGISTERS] | 1));
    size_t bytes = shared + (size_t)function->attributes[SIM_ATTRIBUTE_SHARED_BYTES];
    int by_shared = bytes ? (int)((size_t)context->device->model->max_shared / bytes) : SM_BLOCKS;
    most = most < by_registers ? most : by_registers;
    most = most < by_shared ? most : by_shared;
    *blocks = most < SM_BLOCKS ? most : SM_BLOCKS;
    return WS_CUDA_SUCCESS;
}

API(cuOccupancyMaxActiveBlocksPerMultiprocessor,
    (int *blocks, struct sim_function *function, int block_size, size_t shared),
    (blocks, function, block_size, shared))
{
    return blocks_for(blocks, function, block_size, shared);
}

API(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
    (int *blocks, struct sim_function *function, int block_size, size_t shared, unsigned flags),
    (blocks, function, block_size, shared, flags))
{
    NEED(flags <= 1);
    return blocks_for(blocks, function, block_size, shared);
}

API(cuOccupancyMaxPotentialBlockSizeWithFlags,
    (int *grid, int *block, struct sim_function *function, ws_CUoccupancyB2DSize shared_for, size_t shared, int limit,
     unsigned flags),
    (grid, block, function, shared_for, shared, limit, flags))
{
    struct sim_context *context;
    NEED(grid && block && flags <= 1);
    TRY(sim_current(&context));
    int best = 0, best_blocks = 0;
    int most = limit > 0 && limit < 1024 ? limit : 1024;
    for (int size = most / 32 * 32; size >= 32; size -= 32) {
        int blocks;
        TRY(blocks_for(&blocks, function, size, shared_for ? shared_for(size) : shared));
        if (blocks * size > best_blocks * best) {
            best = size;
            best_blocks = blocks;
        }
    }
    *block = best;
    *grid = best_blocks * context->device->model->sms;
    return WS_CUDA_SUCCESS;
}

API(cuOccupancyMaxPotentialBlockSize,
    (int *grid, int *block, struct sim_function *function, ws_CUoccupancyB2DSize shared_for, size_t shared,
     int limit),
    (grid, block, function, shared_for, shared, limit))
{
    return body_cuOccupancyMaxPotentialBlockSizeWithFlags(grid, block, function, shared_for, shared, limit, 0);
}

API(cuOccupancyAvailableDynamicSMemPerBlock,
    (size_t * bytes, struct sim_function *function, int blocks, int block_size),
    (bytes, function, blocks, block_size))
{
    struct sim_context *context;
    int fit;
    NEED(bytes && blocks > 0);
    TRY(sim_current(&context));
    TRY(blocks_for(&fit, function, block_size, 0));
    *bytes = (size_t)(context->device->model->max_shared / blocks - 1024);
    return WS_CUDA_SUCCESS;
}

API(cuOccupancyMaxActiveClusters, (int *clusters, struct sim_function *function, const ws_CUlaunchConfig *config),
    (clusters, function, config))
{
    struct sim_context *context;
    int blocks;
    NEED(clusters && config);
    TRY(sim_current(&context));
    int size = (int)(config->blockDimX * config->blockDimY * config->blockDimZ);
    TRY(blocks_for(&blocks, function, size, config->sharedMemBytes));
    *clusters = blocks * context->device->model->sms / 8;
    return WS_CUDA_SUCCESS;
}

API(cuOccupancyMaxPotentialClusterSize, (int *size, struct sim_function *function, const ws_CUlaunchConfig *config),
    (size, function, config))
{
    NEED(size && function && config);
    *size = 8;
    return WS_CUDA_SUCCESS;
}
