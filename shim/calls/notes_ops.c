/* The functions of notes.h for operations: launches, copies, memsets and other work of streams. */
#include "shim/calls/notes.h"
#include "shim/calls/params.h"
#include "shim/drain/recording.h"
#include "shim/hook/driver_calls.h"
#include "shim/objects/memory.h"
#include "shim/objects/shapes.h"

/* Largest number of parameter blocks of one shape that a thread keeps per second. PARAMS_THINNED takes the place of
 * this number while records cost more time than --overhead allows. */
enum { PARAMS_PER_WINDOW = 64, PARAMS_THINNED = 4 };

/* Finds or makes the cache entry of an operation that is not a kernel launch. */
static struct shape_entry *describe(struct shim_thread *thread, const struct shape_key *key, struct ws_shape *row)
{
    uint32_t handles = atomic_load_explicit(&shim_page.handles, memory_order_acquire);
    struct shape_entry *entry = shape_find(thread, key, handles);
    return entry ? entry : shape_fill(thread, key, row);
}

/* Is this launch's parameter block to be kept? With --params some, each thread keeps PARAMS_PER_WINDOW blocks of each
 * shape a second. Also sets params_wait, the number of launches until this function is called again: 1 while blocks
 * are kept, PARAMS_PER_WINDOW if the blocks of this second are used up. So once the blocks are used up, most launches
 * do not call this function, and the clock is seldom read. */
static bool params_wanted(struct shape_entry *entry)
{
    entry->params_wait = shim_options.params == WS_PARAMS_NONE ? UINT32_MAX : 1;
    if (shim_options.params != WS_PARAMS_SOME)
        return shim_options.params == WS_PARAMS_ALL;
    if (!entry->params_left) {
        uint64_t now = ticks_now();
        if (now - entry->params_window >= atomic_load_explicit(&ticks_a_second, memory_order_relaxed)) {
            entry->params_window = now;
            entry->params_left = recording_is_thinned() ? PARAMS_THINNED : PARAMS_PER_WINDOW;
        }
    }
    if (entry->params_left > PARAMS_THINNED && recording_is_thinned())
        entry->params_left = PARAMS_THINNED;
    if (!entry->params_left) {
        entry->params_wait = PARAMS_PER_WINDOW;
        return false;
    }
    entry->params_left--;
    return true;
}

/* If this launch's parameter block is to be kept, stores the addresses of the parameters in thread->due.
 * op_end_slowly reads the parameters after the driver has accepted the launch. */
void kernel_params(struct shim_thread *thread, struct shape_entry *shape, void **params, void **extra)
{
    if (!params_wanted(shape))
        return;
    thread->due =
        (struct thread_params){ .wanted = true, .function = shape->function, .params = params, .extra = extra };
    op_needs_slow_end(thread);
}

struct shape_entry *kernel_new(struct shim_thread *thread, const struct shape_key *key)
{
    struct ws_shape row = {
        .kind = WS_OP_KERNEL,
        .grid_x = key->grid_x,
        .grid_y = key->grid_y,
        .grid_z = key->grid_z,
        .block_x = key->block_x,
        .block_y = key->block_y,
        .block_z = key->block_z,
        .shared_bytes = key->shared,
        .inputs = thread->library_inputs,
    };
    return shape_fill(thread, key, &row);
}

void kernel_ex(struct call *call, const ws_CUlaunchConfig *config, ws_CUfunction f, void **params, void **extra)
{
    unsigned flags = 0;
    if (!config)
        return;
    for (unsigned i = 0; i < config->numAttrs && config->attrs; i++) {
        const ws_CUlaunchAttribute *attribute = &config->attrs[i];
        if (attribute->id == WS_CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION &&
            attribute->value.programmaticStreamSerializationAllowed)
            flags |= WS_OP_DEPENDENT;
        if (attribute->id == WS_CU_LAUNCH_ATTRIBUTE_COOPERATIVE && attribute->value.cooperative)
            flags |= WS_OP_COOPERATIVE;
    }
    kernel(call,
           LAUNCH(f, config->gridDimX, config->gridDimY, config->gridDimZ, config->blockDimX, config->blockDimY,
                  config->blockDimZ, config->sharedMemBytes, config->hStream),
           params, extra, flags);
}

void kernel_multi_coming(struct call *call)
{
    call->ticks_begin = ticks_now();
}

/* One call launches on several devices. Each launch gets a record of its own, without device times. If the driver
 * refused the call, its launches are not recorded: their pointers may be invalid. */
void kernel_multi(struct call *call, const ws_CUDA_LAUNCH_PARAMS *launches, unsigned count)
{
    for (unsigned i = 0; call->result == WS_CUDA_SUCCESS && i < count; i++) {
        const ws_CUDA_LAUNCH_PARAMS *launch = &launches[i];
        /* The phase bits for events and hardware counters are cleared in `one`, because an event or a counter would
         * measure all launches of the call together. */
        struct call one = { .id = call->id,
                            .per_thread = call->per_thread,
                            .phase = call->phase & ~(uint32_t)(SHIM_TIMING | SHIM_COUNTING),
                            .thread = call->thread };
        kernel(&one,
               LAUNCH(launch->function, launch->gridDimX, launch->gridDimY, launch->gridDimZ, launch->blockDimX,
                      launch->blockDimY, launch->blockDimZ, launch->sharedMemBytes, launch->hStream),
               launch->kernelParams, NULL, WS_OP_COOPERATIVE);
        if (!one.record)
            continue;
        /* This launch has no event, so the stream's last event does not tell when the next operation may begin. */
        atomic_store_explicit(&stream_at(one.record->stream)->fresh, 1, memory_order_release);
        one.record->ticks_begin = call->ticks_begin;
        op_returned(&one);
    }
}

void graph(struct call *call, ws_CUgraphExec exec, ws_CUstream stream)
{
    uint32_t which = shape_which(call, stream, 0, atomic_load(&shim_page.handles));
    struct shape_key key = { .object = AT(exec), .stream = AT(stream), .which = which };
    struct shape_entry *shape = describe(call->thread, &key, &(struct ws_shape){ .kind = WS_OP_GRAPH });
    if (shape)
        op_ready(call, shape, 0, 0);
}

static void plain_work(struct call *call, enum ws_op_kind kind, enum ws_space from, enum ws_space to, uint64_t bytes,
                       ws_CUstream stream, unsigned flags)
{
    uint32_t handles = atomic_load_explicit(&shim_page.handles, memory_order_relaxed);
    uint32_t which = shape_which(call, stream, (uint32_t)from << 4 | (uint32_t)to, handles);
    struct shape_key key = {
        .object = which, .stream = AT(stream), .which = which, .grid_x = shape_size_class(bytes)
    };
    struct ws_shape row = { .kind = kind, .from_space = from, .to_space = to };
    struct shape_entry *shape = describe(call->thread, &key, &row);
    if (shape)
        op_ready(call, shape, bytes, flags);
}

void work(struct call *call, enum ws_op_kind kind, uint64_t bytes, ws_CUstream stream)
{
    plain_work(call, kind, WS_SPACE_UNKNOWN, WS_SPACE_UNKNOWN, bytes, stream, 0);
}

/* Asks the driver for the kind of memory at an address whose allocation the shim did not see. */
static enum ws_space ask_space(uint64_t address, enum ws_space otherwise)
{
    ws_CUenum type = 0;
    if (!driver.pointer_attribute ||
        driver.pointer_attribute(&type, WS_CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address) != WS_CUDA_SUCCESS)
        return otherwise;
    return type == WS_CU_MEMORYTYPE_DEVICE ? WS_SPACE_DEVICE
           : type == WS_CU_MEMORYTYPE_HOST ? WS_SPACE_PINNED
                                           : otherwise;
}

static enum ws_space space_of(uint64_t address)
{
    bool complete;
    enum ws_space space = memory_space(address, &complete);
    if (space != WS_SPACE_UNKNOWN)
        return space;
    return memory_is_device_address(address) || !complete ? ask_space(address, WS_SPACE_PAGEABLE) : WS_SPACE_PAGEABLE;
}

static bool on_device(enum ws_space space)
{
    return space == WS_SPACE_DEVICE || space == WS_SPACE_PEER || space == WS_SPACE_ARRAY;
}

static bool in_host_memory(enum ws_space space)
{
    return space == WS_SPACE_PAGEABLE || space == WS_SPACE_PINNED;
}

void copy_between(struct call *call, unsigned from, unsigned to, uint64_t source, uint64_t target, uint64_t bytes,
                  ws_CUstream stream, unsigned flags)
{
    enum ws_space source_space = from == NOTE_FIND ? space_of(source) : (enum ws_space)from;
    enum ws_space target_space = to == NOTE_FIND ? space_of(target) : (enum ws_space)to;
    /* Calls that copy between device memories return before the copy ends, even in their synchronous form (driver API
     * documentation, "API synchronization behavior"). */
    if (on_device(source_space) && on_device(target_space))
        flags &= ~(unsigned)WS_OP_BLOCKING;
    /* Calls that copy to pageable memory, or within host memory, return after the copy has ended, even in their
     * asynchronous form (also in "API synchronization behavior"). */
    else if (target_space == WS_SPACE_PAGEABLE || (in_host_memory(source_space) && in_host_memory(target_space)))
        flags |= WS_OP_BLOCKING;
    plain_work(call, WS_OP_COPY, source_space, target_space, bytes, stream, flags);
}

static unsigned space_of_type(ws_CUenum type)
{
    return type == WS_CU_MEMORYTYPE_DEVICE  ? WS_SPACE_DEVICE
           : type == WS_CU_MEMORYTYPE_ARRAY ? WS_SPACE_ARRAY
                                            : NOTE_FIND;
}

/* The address of a copy's source or target (side: src or dst). The address is in a field that depends on the kind of
 * memory. */
#define COPY_SIDE(copy, side) \
    ((copy)->side##MemoryType == WS_CU_MEMORYTYPE_HOST ? AT((copy)->side##Host) : (uint64_t)(copy)->side##Device)

void copy_2d(struct call *call, const ws_CUDA_MEMCPY2D *copy, ws_CUstream stream, unsigned flags)
{
    if (copy)
        copy_between(call, space_of_type(copy->srcMemoryType), space_of_type(copy->dstMemoryType),
                     COPY_SIDE(copy, src), COPY_SIDE(copy, dst), copy->WidthInBytes * copy->Height, stream, flags);
}

void copy_3d(struct call *call, const ws_CUDA_MEMCPY3D *copy, ws_CUstream stream, unsigned flags)
{
    if (copy)
        copy_between(call, space_of_type(copy->srcMemoryType), space_of_type(copy->dstMemoryType),
                     COPY_SIDE(copy, src), COPY_SIDE(copy, dst), copy->WidthInBytes * copy->Height * copy->Depth,
                     stream, flags);
}

/* A batch of copies is recorded as one operation, because the driver may run its copies in any order. */
void copy_batch(struct call *call, const ws_CUdeviceptr *to, const ws_CUdeviceptr *from, const size_t *sizes,
                size_t count, ws_CUstream stream)
{
    if (!to || !from || !count)
        return;
    enum ws_space source = space_of(from[0]), target = space_of(to[0]);
    for (size_t i = 1; i < count; i++) {
        if (space_of(from[i]) != source)
            source = WS_SPACE_UNKNOWN;
        if (space_of(to[i]) != target)
            target = WS_SPACE_UNKNOWN;
    }
    plain_work(call, WS_OP_COPY, source, target, total(sizes, count), stream, 0);
}

/* The extents of these copies are in elements, whose size depends on the arrays. So the number of bytes stays unknown
 * (0). */
void copy_batch_3d(struct call *call, ws_CUstream stream)
{
    plain_work(call, WS_OP_COPY, WS_SPACE_UNKNOWN, WS_SPACE_UNKNOWN, 0, stream, 0);
}

void memset_(struct call *call, uint64_t target, uint64_t bytes, ws_CUstream stream)
{
    bool complete;
    enum ws_space space = memory_space(target, &complete);
    plain_work(call, WS_OP_MEMSET, WS_SPACE_UNKNOWN, space == WS_SPACE_UNKNOWN ? WS_SPACE_DEVICE : space, bytes,
               stream, 0);
}

uint64_t total(const size_t *sizes, size_t count)
{
    uint64_t sum = 0;
    for (size_t i = 0; sizes && i < count; i++)
        sum += sizes[i];
    return sum;
}
