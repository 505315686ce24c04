#include "notes.h"

#include "base/log.h"
#include "driver_calls.h"
#include "functions.h"
#include "memory.h"
#include "params.h"
#include "registry.h"

enum { PARAMS_PER_WINDOW = 64 };

/* --- operations -------------------------------------------------------------------------------- */

/* Finds or makes the entry for anything but the common kernel launch. */
static bool describe(struct call *call, struct shape_key key, struct ws_shape *row, const void *object,
                     ws_CUstream stream)
{
    call->shape = shape_find(call->thread, key, atomic_load_explicit(&shim_page->handles, memory_order_acquire));
    if (!call->shape)
        call->shape = op_shape_fill(call, key, row, object, stream);
    return call->shape != NULL;
}

/* Is this launch's block to be kept? Says when to ask again: at the next launch while blocks are kept,
 * after a good many once the window's share is used up, so that the clock is read seldom. */
static bool params_wanted(struct shape_entry *entry)
{
    bool all = *shim_options.params == 'a';
    entry->params_wait = *shim_options.params == 'n' ? UINT32_MAX : 1;
    if (all || *shim_options.params == 'n')
        return all;
    if (!entry->params_left) {
        uint64_t now = ticks_now();
        if (now - entry->params_window >= atomic_load_explicit(&ticks_a_second, memory_order_relaxed)) {
            entry->params_window = now;
            entry->params_left = PARAMS_PER_WINDOW;
        }
    }
    if (!entry->params_left) {
        entry->params_wait = PARAMS_PER_WINDOW;
        return false;
    }
    entry->params_left--;
    return true;
}

void kernel_params(struct call *call, void **params, void **extra)
{
    if (params_wanted(call->shape) && params_keep(call->thread, call->shape->function, params, extra))
        call->inner |= WS_RING_OP_HAS_PARAMS;
}

void kernel_new(struct call *call, struct shape_key key, struct ws_shape *row, ws_CUfunction f, ws_CUstream stream)
{
    call->shape = op_shape_fill(call, key, row, f, stream);
    if (call->shape)
        call->shape->params_wait = 1;
}

void kernel_ex(struct call *call, const ws_CUlaunchConfig *config, ws_CUfunction f, void **params, void **extra)
{
    unsigned flags = 0;
    if (!config)
        return;
    for (unsigned i = 0; config->attrs && i < config->numAttrs; i++) {
        const ws_CUlaunchAttribute *attribute = &config->attrs[i];
        if (attribute->id == WS_CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION &&
            attribute->value.programmaticStreamSerializationAllowed)
            flags |= WS_OP_DEPENDENT;
        if (attribute->id == WS_CU_LAUNCH_ATTRIBUTE_COOPERATIVE && attribute->value.cooperative)
            flags |= WS_OP_COOPERATIVE;
    }
    kernel(call, f, config->gridDimX, config->gridDimY, config->gridDimZ, config->blockDimX, config->blockDimY,
           config->blockDimZ, config->sharedMemBytes, config->hStream, params, extra, flags);
}

/* Several devices in one call: each launch is put into the ring by itself, untimed. */
void kernel_multi(struct call *call, const ws_CUDA_LAUNCH_PARAMS *launches, unsigned count)
{
    for (unsigned i = 0; launches && i < count; i++) {
        const ws_CUDA_LAUNCH_PARAMS *launch = &launches[i];
        /* Without a phase nothing is timed: the call is one for all. */
        struct call one = { .id = call->id, .per_thread = call->per_thread, .thread = call->thread };
        kernel(&one, launch->function, launch->gridDimX, launch->gridDimY, launch->gridDimZ, launch->blockDimX,
               launch->blockDimY, launch->blockDimZ, launch->sharedMemBytes, launch->hStream, launch->kernelParams,
               NULL, WS_OP_COOPERATIVE);
        if (!one.shape)
            continue;
        one.ticks_begin = one.ticks_end = ticks_now();
        /* No marks: the call is one for all, and the next operation's begin is not to be taken from before. */
        atomic_store_explicit(&one.shape->stream->fresh, 1, memory_order_release);
        op_finish(&one);
    }
}

void graph(struct call *call, ws_CUgraphExec exec, ws_CUstream stream)
{
    uint64_t which = shape_call(call, stream, 0, atomic_load(&shim_page->handles));
    struct shape_key key = { .object = AT(exec), .rest = shape_mix(0, 0, 0, AT(stream), which) };
    if (describe(call, key, &(struct ws_shape){ .kind = WS_OP_GRAPH }, exec, stream))
        op_ready(call);
}

static void plain_work(struct call *call, enum ws_op_kind kind, enum ws_space from, enum ws_space to, uint64_t bytes,
                       ws_CUstream stream, unsigned flags)
{
    uint32_t handles = atomic_load_explicit(&shim_page->handles, memory_order_relaxed);
    uint64_t which = shape_call(call, stream, (uint32_t)from << 4 | (uint32_t)to, handles);
    struct shape_key key = { .object = kind, .rest = shape_mix(0, 0, 0, AT(stream), which) };
    struct ws_shape row = { .kind = kind, .from_space = from, .to_space = to };
    call->flags = (uint16_t)flags;
    call->bytes = bytes;
    if (describe(call, key, &row, NULL, stream))
        op_ready(call);
}

void work(struct call *call, enum ws_op_kind kind, uint64_t bytes, ws_CUstream stream)
{
    plain_work(call, kind, WS_SPACE_UNKNOWN, WS_SPACE_UNKNOWN, bytes, stream, 0);
}

/* What the driver says of an address we did not see allocated. */
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
    enum ws_space space = memory_space(address);
    if (space != WS_SPACE_UNKNOWN)
        return space;
    return memory_is_device_address(address) ? ask_space(address, WS_SPACE_PAGEABLE) : WS_SPACE_PAGEABLE;
}

static bool on_device(enum ws_space space)
{
    return space == WS_SPACE_DEVICE || space == WS_SPACE_PEER || space == WS_SPACE_ARRAY;
}

void copy_between(struct call *call, unsigned from, unsigned to, uint64_t source, uint64_t target, uint64_t bytes,
                  ws_CUstream stream, unsigned flags)
{
    enum ws_space source_space = from == NOTE_FIND ? space_of(source) : (enum ws_space)from;
    enum ws_space target_space = to == NOTE_FIND ? space_of(target) : (enum ws_space)to;
    /* Copies between device memories do not wait for their end, synchronous form or not (API synchronization
     * behavior, in the driver API's documentation). */
    if (on_device(source_space) && on_device(target_space))
        flags &= ~(unsigned)WS_OP_BLOCKING;
    plain_work(call, WS_OP_COPY, source_space, target_space, bytes, stream, flags);
}

static unsigned space_of_type(ws_CUenum type)
{
    return type == WS_CU_MEMORYTYPE_DEVICE  ? WS_SPACE_DEVICE
           : type == WS_CU_MEMORYTYPE_ARRAY ? WS_SPACE_ARRAY
                                            : NOTE_FIND;
}

/* The address that counts for its kind of memory. */
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

/* A batch is one operation: the driver may run its copies in any order. */
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

/* Extents are in elements whose size depends on the arrays, so how many bytes that is stays unknown. */
void copy_batch_3d(struct call *call, ws_CUstream stream)
{
    plain_work(call, WS_OP_COPY, WS_SPACE_UNKNOWN, WS_SPACE_UNKNOWN, 0, stream, 0);
}

void memset_(struct call *call, uint64_t target, uint64_t bytes, ws_CUstream stream)
{
    enum ws_space space = memory_space(target);
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

/* --- other calls ------------------------------------------------------------------------------- */

void host_call(struct call *call, ws_CUstream stream, const void *object, uint64_t address, uint64_t bytes)
{
    /* A call that fails before anything was recorded is no reason to start. */
    if (!call->thread && call->result != WS_CUDA_SUCCESS)
        return;
    struct shim_thread *thread = call->thread ? call->thread : thread_get();
    if (!thread || !shim_recording())
        return;
    uint32_t handles = atomic_load(&shim_page->handles);
    struct shim_context *context = op_context(thread, handles);
    /* The handle of a call that failed may be no stream at all. */
    bool about_stream = stream != NO_STREAM && call->result == WS_CUDA_SUCCESS;
    struct shim_stream *found = about_stream ? stream_find(stream, call->per_thread, context) : NULL;
    struct ws_ring_call *record = ws_ring_reserve(&thread->ring, 1);
    thread->correlation++;
    if (!record)
        return;
    *record = (struct ws_ring_call){
        .header = { .kind = WS_RING_CALL,
                    .slots = 1,
                    .detail = (uint16_t)call->id,
                    .shape = context ? context->id : 0 },
        .ticks_begin = call->ticks_begin,
        .ticks_end = call->ticks_end,
        .correlation = thread->correlation,
        .object = AT(object),
        .address = address,
        .bytes = bytes,
        .stream = found ? found->id : 0,
        .result = call->result,
    };
    ws_ring_commit(&thread->ring, 1);
}

static void raise_order(struct call *call, ws_CUstream stream);

void allocated_at(struct call *call, const void *address, uint64_t bytes, enum ws_space space, ws_CUstream stream,
                  const void *object)
{
    uint64_t where = 0;
    if (call->result == WS_CUDA_SUCCESS && address) {
        where = *(const uint64_t *)address;
        if (shim_started())
            memory_added(where, bytes, space);
    }
    /* Memory taken from a pool in stream order may make the stream wait for whoever had it before. */
    if (stream != NO_STREAM)
        raise_order(call, stream);
    host_call(call, stream, object, where, bytes);
}

/* Before the call: afterwards the address may already be somebody else's. */
void freeing(struct call *call, uint64_t address)
{
    (void)call;
    if (shim_started())
        memory_removed(address);
}

void freed(struct call *call, uint64_t address, ws_CUstream stream)
{
    host_call(call, stream, NULL, address, 0);
}

void waiting(struct call *call, ws_CUstream stream)
{
    if (!(shim_phase() & SHIM_TIMING) || !call->thread)
        return;
    struct shim_stream *found = stream_known(stream, call->per_thread, call->thread->context);
    if (found)
        op_end_held(call->thread, found);
}

void waiting_all(struct call *call)
{
    if (!(shim_phase() & SHIM_TIMING) || !call->thread)
        return;
    for (uint32_t id = 1; atomic_load(&streams_held) && id <= stream_count(); id++)
        op_end_held(call->thread, stream_at(id));
}

/* A query that finds nothing ready is asked again and again: only answers are worth a row. */
void queried(struct call *call, ws_CUstream stream, const void *object)
{
    if (call->result != WS_CUDA_ERROR_NOT_READY)
        host_call(call, stream, object, 0, 0);
}

/* Another thread may be between a mark and its launch: raised before the wait goes into the stream and
 * after it, the order shows that thread that something came in. */
static void raise_order(struct call *call, ws_CUstream stream)
{
    struct shim_stream *found = call->thread ? stream_known(stream, call->per_thread, call->thread->context) : NULL;
    if (found) {
        atomic_store_explicit(&found->fresh, 1, memory_order_release);
        atomic_fetch_add_explicit(&found->order, (uint64_t)1 << 16, memory_order_acq_rel);
    }
}

void wait_coming(struct call *call, ws_CUstream stream)
{
    waiting(call, stream);
    raise_order(call, stream);
}

void wait_ordered(struct call *call, ws_CUstream stream, ws_CUevent event)
{
    raise_order(call, stream);
    host_call(call, stream, event, 0, 0);
}

/* Counted from before the call, so that no mark slips into the capture while it begins. */
void capture_beginning(struct call *call, ws_CUstream stream)
{
    waiting(call, stream);
    atomic_fetch_add(&shim_page->captures, 1);
}

void capture_begun(struct call *call, ws_CUstream stream)
{
    struct shim_stream *found = NULL;
    if (call->result == WS_CUDA_SUCCESS && call->thread)
        found = stream_find(stream, call->per_thread, call->thread->context);
    /* One that is not known could never be seen to end. */
    if (!found || atomic_exchange(&found->capturing, 1))
        atomic_fetch_sub(&shim_page->captures, 1);
    host_call(call, stream, NULL, 0, 0);
}

/* --- names and lifetimes ----------------------------------------------------------------------- */

void resolved(struct call *call, const char *symbol, void **pfn, int version, uint64_t flags)
{
    if (call->result == WS_CUDA_SUCCESS && symbol && pfn && *pfn)
        *pfn = resolve_proc(symbol, version, flags, *pfn);
}

void export_table(struct call *call, const ws_CUuuid *id)
{
    (void)call;
    if (id)
        ws_debug("export table %02x%02x%02x%02x… asked for: what goes through it is not seen", id->bytes[0] & 255u,
                 id->bytes[1] & 255u, id->bytes[2] & 255u, id->bytes[3] & 255u);
}

void initialised(struct call *call)
{
    if (call->result == WS_CUDA_SUCCESS)
        shim_initialised();
}

void function_found_in(struct call *call, const void *function, const void *module, const char *name)
{
    if (function) {
        if (thread_get())
            function_named(function, call->id == WS_ID_cuLibraryGetKernel, module, name);
        host_call(call, NO_STREAM, function, 0, 0);
    }
}

void kernel_function_found(struct call *call, ws_CUfunction *function, ws_CUkernel kernel)
{
    if (call->result == WS_CUDA_SUCCESS && function && thread_get())
        function_same_as(*function, kernel);
}

/* Before the call: the handles are still the old kernels' now, and nobody may launch them any more. */
void unloading(struct call *call, const void *module)
{
    (void)call;
    if (shim_started())
        functions_forget_module(module);
}

void context_made(struct call *call, ws_CUcontext *context)
{
    if (call->result != WS_CUDA_SUCCESS)
        return;
    struct shim_thread *thread = thread_get();
    if (thread)
        thread->context = NULL; /* it is current now */
    host_call(call, NO_STREAM, context ? *context : NULL, 0, 0);
}

/* Called for every switch, so it asks the driver nothing: what is not known is found at the next use. */
void context_switched(struct call *call, ws_CUcontext context)
{
    struct shim_thread *thread = call->thread;
    if (call->result != WS_CUDA_SUCCESS || !thread)
        return;
    thread->context = context ? context_find(context) : NULL;
    thread->handles = atomic_load(&shim_page->handles);
}

void context_ending(struct call *call, ws_CUcontext context)
{
    (void)call;
    struct shim_context *found = shim_started() ? context_find(context) : NULL;
    if (found)
        context_end(found);
}

void context_ended(struct call *call, ws_CUcontext context)
{
    struct shim_context *found = shim_started() ? context_find(context) : NULL;
    if (found)
        context_gone(found);
    host_call(call, NO_STREAM, context, 0, 0);
}

enum { MOST_DEVICES = 64 };
static ws_CUcontext _Atomic primaries[MOST_DEVICES];
static _Atomic int retained[MOST_DEVICES]; /* times; the last release is the end */

static struct shim_context *primary_of(ws_CUdevice device)
{
    ws_CUcontext handle = device >= 0 && device < MOST_DEVICES ? atomic_load(&primaries[device]) : NULL;
    return handle ? context_find(handle) : NULL;
}

void primary_retained(struct call *call, ws_CUcontext *context, ws_CUdevice device)
{
    if (call->result == WS_CUDA_SUCCESS && context && device >= 0 && device < MOST_DEVICES) {
        atomic_store(&primaries[device], *context);
        atomic_fetch_add(&retained[device], 1);
    }
    host_call(call, NO_STREAM, call->result == WS_CUDA_SUCCESS && context ? *context : NULL, 0, 0);
}

static bool is_reset(const struct call *call)
{
    return call->id == WS_ID_cuDevicePrimaryCtxReset || call->id == WS_ID_cuDevicePrimaryCtxReset_v2;
}

/* The last release we know of, or a reset. What is running is read out first: afterwards it is too late. */
void primary_ending(struct call *call, ws_CUdevice device)
{
    struct shim_context *context = shim_started() ? primary_of(device) : NULL;
    if (context && (is_reset(call) || atomic_load(&retained[device]) <= 1))
        context_end(context);
}

void primary_ended(struct call *call, ws_CUdevice device)
{
    unsigned flags;
    int active = 0;
    struct shim_context *context = shim_started() ? primary_of(device) : NULL;
    if (context && !is_reset(call)) {
        if (call->result == WS_CUDA_SUCCESS && atomic_load(&retained[device]) > 0)
            atomic_fetch_sub(&retained[device], 1);
        if (driver.primary_state)
            driver.primary_state(device, &flags, &active);
    }
    if (context && active)
        atomic_store(&context->life, CONTEXT_ALIVE);
    else if (context)
        context_gone(context);
    host_call(call, NO_STREAM, NULL, 0, 0);
}

void stream_made(struct call *call, ws_CUstream *stream, unsigned flags, int priority)
{
    (void)flags;
    (void)priority;
    if (call->result == WS_CUDA_SUCCESS && stream)
        host_call(call, *stream, NULL, 0, 0);
}

void stream_ending(struct call *call, ws_CUstream stream)
{
    if (!shim_started() || (uintptr_t)stream <= 2)
        return;
    waiting(call, stream);
    stream_forget(stream);
}

/* Streams of a green context go with it, and which they are is not known here: all are found anew. */
void green_ending(struct call *call, ws_CUgreenCtx context)
{
    (void)call;
    (void)context;
    if (shim_started())
        streams_forget_created();
}

void profiler_range(struct call *call, bool inside)
{
    if (call->result == WS_CUDA_SUCCESS)
        shim_set_range(inside);
    host_call(call, NO_STREAM, NULL, 0, 0);
}
