/* The functions that are named in the rows of the wrapper tables (shim/hook/driver_table.h …). A wrapper calls these
 * functions before and after the real call, to note what the call does.
 *
 * Functions for operations (launches, copies, memsets …), except kernel_multi, are called before the real call. They
 * fill in the operation's record in the ring. The drain thread, which reads the rings, can read this record only
 * after the wrapper has committed it, when the call returns. Functions that are called after the real call look at
 * call->result first: failed calls have no effect. */
#ifndef WALLSHIM_SHIM_CALLS_NOTES_H
#define WALLSHIM_SHIM_CALLS_NOTES_H

#include "shim/calls/ops.h"

#define NOTHING ((void)0)
#define AT(pointer) ((uint64_t)(uintptr_t)(pointer))
#define OBJECT(handle) ((const void *)(uintptr_t)(handle))
/* The handle that a call stored in its output parameter; NULL if the call failed. */
#define OUT(pointer) (call.result == WS_CUDA_SUCCESS && (pointer) ? (const void *)(uintptr_t) * (pointer) : NULL)
/* Passed as the stream of a call that takes no stream. No stream has this handle. */
#define NO_STREAM ((ws_CUstream)(uintptr_t)-1)
/* Passed instead of an enum ws_space if the kind of memory of a copy's source or target must be looked up by its
 * address. */
enum { NOTE_FIND = WS_SPACE_COUNT };

/* Functions for launches. */
struct shape_entry *kernel_new(struct shim_thread *thread, const struct shape_key *key);
void kernel_params(struct shim_thread *thread, struct shape_entry *shape, void **params, void **extra);
void kernel_ex(struct call *call, const ws_CUlaunchConfig *config, ws_CUfunction f, void **params, void **extra);
void kernel_multi_coming(struct call *call);
void kernel_multi(struct call *call, const ws_CUDA_LAUNCH_PARAMS *launches, unsigned count);
void graph(struct call *call, ws_CUgraphExec exec, ws_CUstream stream);
void work(struct call *call, enum ws_op_kind kind, uint64_t bytes, ws_CUstream stream);

/* Functions for copies and memsets. */
void copy_between(struct call *call, unsigned from, unsigned to, uint64_t source, uint64_t target, uint64_t bytes,
                  ws_CUstream stream, unsigned flags);
void copy_2d(struct call *call, const ws_CUDA_MEMCPY2D *copy, ws_CUstream stream, unsigned flags);
void copy_3d(struct call *call, const ws_CUDA_MEMCPY3D *copy, ws_CUstream stream, unsigned flags);
void copy_batch(struct call *call, const ws_CUdeviceptr *to, const ws_CUdeviceptr *from, const size_t *sizes,
                size_t count, ws_CUstream stream);
void copy_batch_3d(struct call *call, ws_CUstream stream);
void memset_(struct call *call, uint64_t target, uint64_t bytes, ws_CUstream stream);
uint64_t total(const size_t *sizes, size_t count);

#define copy(call, from, to, source, target, bytes, stream, flags) \
    copy_between(call, NOTE_SPACE_##from, NOTE_SPACE_##to, source, target, bytes, stream, flags)
#define NOTE_SPACE_FIND NOTE_FIND
#define NOTE_SPACE_DEVICE WS_SPACE_DEVICE
#define NOTE_SPACE_ARRAY WS_SPACE_ARRAY
#define NOTE_SPACE_PEER WS_SPACE_PEER

/* Records a call that is not an operation. The arguments go into its record: stream (NO_STREAM: none), object,
 * address and number of bytes. */
void host_call(struct call *call, ws_CUstream stream, const void *object, uint64_t address, uint64_t bytes);

/* Functions for calls that allocate or free memory. */
void allocated_at(struct call *call, const void *address, uint64_t bytes, enum ws_space space, ws_CUstream stream,
                  const void *object);
#define allocated(call, address, bytes, space, stream, object) \
    allocated_at(call, address, bytes, WS_SPACE_##space, stream, object)
void freeing(struct call *call, uint64_t address);
void freed(struct call *call, uint64_t address, ws_CUstream stream);
static inline uint64_t pitched(const size_t *pitch, size_t height)
{
    return pitch ? *pitch * height : 0;
}

/* Functions for calls that wait, that make a stream wait, or that capture a stream. */
void waiting(struct call *call, ws_CUstream stream);
void waiting_all(struct call *call);
void wait_begins(struct call *call, ws_CUstream stream, const void *object);
void wait_begins_all(struct call *call, const void *object);
void wait_ended(struct call *call, ws_CUstream stream, const void *object);
void queried(struct call *call, ws_CUstream stream, const void *object);
void wait_coming(struct call *call, ws_CUstream stream);
void wait_ordered(struct call *call, ws_CUstream stream, ws_CUevent event);
void wait_coming_all(struct call *call);
void wait_ordered_all(struct call *call, ws_CUevent event);
void capture_beginning(struct call *call, ws_CUstream stream);
void capture_begun(struct call *call, ws_CUstream stream);
void capture_ending(struct call *call, ws_CUstream stream);
void capture_ended(struct call *call, ws_CUstream stream, ws_CUgraph *graph);

/* Functions for calls that look something up, create it or destroy it. */
void resolved(struct call *call, const char *symbol, void **pfn, int version, uint64_t flags);
void export_table(struct call *call, const ws_CUuuid *id);
void initialised(struct call *call);
void function_found_in(struct call *call, const void *function, const void *module, const char *name);
#define function_found(call, function, module, name) \
    function_found_in(call, (call)->result == WS_CUDA_SUCCESS && (function) ? *(function) : NULL, module, name)
void kernels_found(struct call *call, ws_CUkernel *kernels, unsigned room, ws_CUlibrary library);
void kernel_function_found(struct call *call, ws_CUfunction *function, ws_CUkernel kernel);
void unloading(struct call *call, const void *module);
void context_made(struct call *call, ws_CUcontext *context);
void context_switched(struct call *call, ws_CUcontext context);
void context_ending(struct call *call, ws_CUcontext context);
void context_ended(struct call *call, ws_CUcontext context);
void primary_retained(struct call *call, ws_CUcontext *context, ws_CUdevice device);
void primary_ending(struct call *call, ws_CUdevice device);
void primary_ended(struct call *call, ws_CUdevice device);
void stream_made(struct call *call, ws_CUstream *stream);
void stream_ending(struct call *call, ws_CUstream stream);
void green_ending(struct call *call, ws_CUgreenCtx context);
void profiler_range(struct call *call, bool inside);

/* Functions for executable graphs. */
void graph_instantiated(struct call *call, ws_CUgraphExec *exec, ws_CUgraph graph);
void graph_updated(struct call *call, ws_CUgraphExec exec);
void graph_exec_ending(struct call *call, ws_CUgraphExec exec);

/* Makes the key by which the shape of a launch is found. Does not set the key's field `which` (the called function,
 * and the context). */
#define LAUNCH(f, grid_x_, grid_y_, grid_z_, block_x_, block_y_, block_z_, shared_, stream_) \
    ((struct shape_key){ .object = AT(f),                                                    \
                         .stream = AT(stream_),                                              \
                         .grid_x = (unsigned)(grid_x_),                                      \
                         .grid_y = (unsigned)(grid_y_),                                      \
                         .grid_z = (unsigned)(grid_z_),                                      \
                         .block_x = (unsigned)(block_x_),                                    \
                         .block_y = (unsigned)(block_y_),                                    \
                         .block_z = (unsigned)(block_z_),                                    \
                         .shared = (unsigned)(shared_) })

HOT void kernel(struct call *call, struct shape_key key, void **params, void **extra, unsigned flags)
{
    struct shim_thread *thread = call->thread;
    uint32_t handles = atomic_load_explicit(&shim_page.handles, memory_order_relaxed);
    key.which = shape_which(call, (ws_CUstream)(uintptr_t)key.stream, 0, handles);
    struct shape_entry *shape = shape_find(thread, &key, shape_stamp(thread, handles));
    if (__builtin_expect(!shape, 0)) {
        /* kernel_new gets the address of a copy, so that the compiler can keep `key` in registers */
        const struct shape_key kept = key;
        shape = kernel_new(thread, &kept);
        if (!shape)
            return;
    }
    if (__builtin_expect(!--shape->params_wait, 0))
        kernel_params(thread, shape, params, extra);
    op_ready(call, shape, 0, flags);
}

#endif
