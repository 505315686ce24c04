/* Device memory that another process can use: its pages become a nameless file, which the other process opens through
 * /proc. */
#include "api/api.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { HANDLE_MAGIC = 0x51c0de50 };

struct handle {
    uint32_t magic;
    int process, file;
    uint64_t block_bytes, offset, bytes;
};

_Static_assert(sizeof(struct handle) <= sizeof(ws_CUipcMemHandle), "a handle has 64 bytes");

API(cuIpcGetMemHandle, (ws_CUipcMemHandle * out, ws_CUdeviceptr address), (out, address))
{
    struct sim_range range;
    struct sim_shared_block block;
    NEED(out && sim_memory_find(address, &range) && range.kind == SIM_MEMORY_DEVICE && !range.mapped && !range.pool);
    TRY(sim_memory_share(&range, &block));
    struct handle handle = { HANDLE_MAGIC, (int)getpid(), block.file, block.bytes, range.start - block.start,
                             range.bytes };
    memset(out, 0, sizeof(*out));
    memcpy(out, &handle, sizeof(handle));
    return WS_CUDA_SUCCESS;
}

API(cuIpcOpenMemHandle_v2, (ws_CUdeviceptr * address, ws_CUipcMemHandle in, unsigned flags), (address, in, flags))
{
    struct sim_context *context;
    struct handle handle;
    char path[64];
    NEED(address && flags <= 1);
    TRY(sim_current(&context));
    memcpy(&handle, &in, sizeof(handle));
    NEED(handle.magic == HANDLE_MAGIC);
    if (handle.process == (int)getpid())
        return WS_CUDA_ERROR_INVALID_CONTEXT; /* a process cannot open its own handle */
    snprintf(path, sizeof(path), "/proc/%d/fd/%d", handle.process, handle.file);
    int file = open(path, O_RDWR | O_CLOEXEC);
    if (file < 0)
        return WS_CUDA_ERROR_INVALID_VALUE;
    char *memory = mmap(NULL, handle.block_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (memory == MAP_FAILED)
        return WS_CUDA_ERROR_OUT_OF_MEMORY;
    struct sim_range range = { .start = (uint64_t)memory + handle.offset,
                               .bytes = handle.bytes,
                               .kind = SIM_MEMORY_DEVICE,
                               .context = context,
                               .device = context->device,
                               .mapped = true };
    ws_CUresult result = sim_memory_add(&range);
    if (result == WS_CUDA_SUCCESS)
        *address = range.start;
    return result;
}

API_SAME(cuIpcOpenMemHandle, cuIpcOpenMemHandle_v2, (ws_CUdeviceptr * address, ws_CUipcMemHandle in, unsigned flags),
         (address, in, flags))

API(cuIpcCloseMemHandle, (ws_CUdeviceptr address), (address))
{
    struct sim_range range;
    NEED(sim_memory_find(address, &range) && range.start == address && range.mapped && range.context);
    TRY(sim_context_wait(range.context));
    sim_memory_remove(address, &range);
    /* cuIpcOpenMemHandle mapped the whole block. Here only the pages of this allocation are unmapped. */
    munmap((void *)(address / 4096 * 4096), range.bytes);
    return WS_CUDA_SUCCESS;
}
