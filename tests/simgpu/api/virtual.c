/* Virtual memory management: reserving addresses, creating memory, and mapping memory at the addresses. Memory is a
 * nameless file, so that it can be mapped more than once and passed to another process. */
#include "api/api.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define GRANULARITY ((size_t)2 << 20)
enum { HANDLE_MAGIC = 0x51c0de40 };

struct memory {
    unsigned magic, references;
    struct sim_device *device;
    size_t bytes;
    int file;
    ws_CUmemAllocationProp properties;
};

static ws_CUresult memory_check(const struct memory *memory)
{
    return memory && memory->magic == HANDLE_MAGIC ? WS_CUDA_SUCCESS : WS_CUDA_ERROR_INVALID_VALUE;
}

API(cuMemGetAllocationGranularity, (size_t * bytes, const ws_CUmemAllocationProp *properties, ws_CUenum option),
    (bytes, properties, option))
{
    NEED(bytes && properties && option >= 0 && option <= 1);
    *bytes = GRANULARITY;
    return WS_CUDA_SUCCESS;
}

API(cuMemAddressReserve,
    (ws_CUdeviceptr * address, size_t bytes, size_t alignment, ws_CUdeviceptr hint, unsigned long long flags),
    (address, bytes, alignment, hint, flags))
{
    NEED(address && bytes && bytes % GRANULARITY == 0 && !flags);
    size_t room = alignment > GRANULARITY ? alignment : GRANULARITY;
    char *memory = mmap((void *)(hint ? hint : (ws_CUdeviceptr)0x380000000000), bytes + room, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return WS_CUDA_ERROR_OUT_OF_MEMORY;
    char *start = (char *)(((uintptr_t)memory + room - 1) / room * room);
    if (start > memory)
        munmap(memory, (size_t)(start - memory));
    munmap(start + bytes, room - (size_t)(start - memory));
    *address = (ws_CUdeviceptr)start;
    return WS_CUDA_SUCCESS;
}

API(cuMemAddressFree, (ws_CUdeviceptr address, size_t bytes), (address, bytes))
{
    struct sim_range range;
    NEED(address && bytes && !sim_memory_find(address, &range));
    return munmap((void *)address, bytes) == 0 ? WS_CUDA_SUCCESS : WS_CUDA_ERROR_INVALID_VALUE;
}

static ws_CUresult memory_new(struct memory **made, struct sim_device *device, size_t bytes, int file)
{
    struct memory *memory = sim_keep(sizeof(*memory));
    if (!memory || file < 0 || !sim_memory_charge(device, (int64_t)bytes)) {
        if (file >= 0)
            close(file);
        return WS_CUDA_ERROR_OUT_OF_MEMORY;
    }
    *memory =
        (struct memory){ .magic = HANDLE_MAGIC, .references = 1, .device = device, .bytes = bytes, .file = file };
    *made = memory;
    return WS_CUDA_SUCCESS;
}

API(cuMemCreate,
    (struct memory * *handle, size_t bytes, const ws_CUmemAllocationProp *properties, unsigned long long flags),
    (handle, bytes, properties, flags))
{
    NEED(handle && properties && bytes && bytes % GRANULARITY == 0 && !flags);
    struct sim_device *device = sim_device_at(properties->location.id);
    NEED(device && properties->type == WS_CU_MEM_ALLOCATION_TYPE_PINNED);
    int file = memfd_create("simgpu", MFD_CLOEXEC);
    if (file >= 0 && ftruncate(file, (off_t)bytes) != 0) {
        close(file);
        file = -1;
    }
    TRY(memory_new(handle, device, bytes, file));
    (*handle)->properties = *properties;
    return WS_CUDA_SUCCESS;
}

static void memory_release(struct memory *memory)
{
    if (--memory->references)
        return;
    sim_memory_charge(memory->device, -(int64_t)memory->bytes);
    close(memory->file);
    memory->magic = 0;
}

API(cuMemRelease, (struct memory * memory), (memory))
{
    TRY(memory_check(memory));
    memory_release(memory);
    return WS_CUDA_SUCCESS;
}

API(cuMemMap, (ws_CUdeviceptr address, size_t bytes, size_t offset, struct memory *memory, unsigned long long flags),
    (address, bytes, offset, memory, flags))
{
    TRY(memory_check(memory));
    NEED(address && bytes && offset + bytes <= memory->bytes && !flags);
    void *mapped =
        mmap((void *)address, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, memory->file, (off_t)offset);
    if (mapped == MAP_FAILED)
        return WS_CUDA_ERROR_OUT_OF_MEMORY;
    struct sim_range range = {
        .start = address, .bytes = bytes, .kind = SIM_MEMORY_DEVICE, .device = memory->device, .mapped = true
    };
    return sim_memory_add(&range) == WS_CUDA_SUCCESS ? WS_CUDA_SUCCESS : WS_CUDA_ERROR_INVALID_VALUE;
}

API(cuMemUnmap, (ws_CUdeviceptr address, size_t bytes), (address, bytes))
{
    struct sim_range range;
    struct sim_context *context = sim_current_or_null();
    NEED(sim_memory_find(address, &range) && range.mapped && range.start == address && range.bytes == bytes);
    if (context)
        TRY(sim_context_wait(context));
    sim_memory_remove(address, &range);
    void *left =
        mmap((void *)address, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    return left == MAP_FAILED ? WS_CUDA_ERROR_UNKNOWN : WS_CUDA_SUCCESS;
}

API(cuMemSetAccess, (ws_CUdeviceptr address, size_t bytes, const ws_CUmemAccessDesc *access, size_t count),
    (address, bytes, access, count))
{
    struct sim_range range;
    NEED(bytes && access && count && sim_memory_find(address, &range) && range.mapped);
    return WS_CUDA_SUCCESS;
}

API(cuMemGetAccess, (unsigned long long *flags, const ws_CUmemLocation *location, ws_CUdeviceptr address),
    (flags, location, address))
{
    struct sim_range range;
    NEED(flags && location && sim_memory_find(address, &range));
    *flags = 3;
    return WS_CUDA_SUCCESS;
}

API(cuMemGetAllocationPropertiesFromHandle, (ws_CUmemAllocationProp * properties, struct memory *memory),
    (properties, memory))
{
    NEED(properties);
    TRY(memory_check(memory));
    *properties = memory->properties;
    return WS_CUDA_SUCCESS;
}

/* Shareable handles are file descriptors (type 1), as on Linux. */
API(cuMemExportToShareableHandle, (void *shared, struct memory *memory, ws_CUenum type, unsigned long long flags),
    (shared, memory, type, flags))
{
    NEED(shared && type == 1 && !flags);
    TRY(memory_check(memory));
    *(int *)shared = dup(memory->file);
    return *(int *)shared >= 0 ? WS_CUDA_SUCCESS : WS_CUDA_ERROR_OPERATING_SYSTEM;
}

API(cuMemImportFromShareableHandle, (struct memory * *handle, void *shared, ws_CUenum type), (handle, shared, type))
{
    struct sim_context *context;
    struct stat status;
    NEED(handle && type == 1);
    TRY(sim_current(&context));
    int file = dup((int)(intptr_t)shared);
    NEED(file >= 0 && fstat(file, &status) == 0);
    return memory_new(handle, context->device, (size_t)status.st_size, file);
}
