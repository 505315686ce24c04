/* The functions of notes.h for all calls that are not operations (launches, copies, memsets …). */
#include "shim/calls/notes.h"

#include "base/log.h"
#include "shim/calls/turns.h"
#include "shim/counters/counters.h"
#include "shim/drain/drain.h"
#include "shim/drain/leave.h"
#include "shim/drain/recording.h"
#include "shim/hook/driver_calls.h"
#include "shim/objects/functions.h"
#include "shim/objects/memory.h"
#include "shim/stacks/stacks.h"
#include "shim/timing/activity.h"

/* Families of functions whose calls may hold up the thread or the device. The call stacks of these calls are
 * recorded. */
enum { CALLS_WITH_STACK = CALL_FAMILY(SYNC) | CALL_FAMILY(MEMORY) | CALL_FAMILY(MODULE) };

/* Fills in what is known before the call returns. */
static void fill_record(struct ws_ring_call *record, const struct call *call, const struct shim_context *context,
                        const struct shim_stream *stream, const void *object)
{
    *record = (struct ws_ring_call){
        .header = { .kind = WS_RING_CALL,
                    .slots = 1,
                    .detail = (uint16_t)call->id,
                    .shape = context ? context->id : 0 },
        .object = AT(object),
        .stream = stream ? stream->id : 0,
    };
}

/* Completes the record, and commits it. NULL: the record did not fit into the ring. */
static void complete_record(struct shim_thread *thread, const struct call *call, struct ws_ring_call *record)
{
    enum ws_call_family family = (enum ws_call_family)resolve_table[call->id].family;
    activity_called(thread, call->ticks_begin, call->ticks_end);
    if (family == WS_CALL_SYNC)
        activity_waited(thread, call->ticks_begin, call->ticks_end);
    thread->correlation++;
    if (!record)
        return;
    record->ticks_begin = call->ticks_begin;
    record->ticks_end = call->ticks_end;
    record->correlation = thread->correlation;
    record->result = call->result;
    ws_ring_commit(&thread->ring, 1);
    if (CALLS_WITH_STACK >> family & 1)
        stack_note(thread, call->ticks_begin, call->ticks_end, 0);
}

void host_call(struct call *call, ws_CUstream stream, const void *object, uint64_t address, uint64_t bytes)
{
    /* A failed call does not start the recording. A nested call (one inside another wrapped call) is not recorded. */
    if (call->nested || (!call->thread && call->result != WS_CUDA_SUCCESS))
        return;
    struct shim_thread *thread = call->thread ? call->thread : thread_get();
    if (!thread || !shim_recording())
        return;
    if (thread->in_nccl)
        call_is_in_nccl(thread, thread->within, NULL); /* to clear in_nccl if the NCCL call was left by longjmp */
    struct shim_context *context = context_of_thread(thread, atomic_load(&shim_page.handles));
    /* The stream that was given to a failed call may be invalid. */
    bool about_stream = stream != NO_STREAM && call->result == WS_CUDA_SUCCESS;
    struct shim_stream *found = about_stream ? stream_find(stream, call->per_thread, context) : NULL;
    uintptr_t word;
    /* true: the wrapper has not marked this call as a wrapped call, so frame_guard has marked it */
    bool guarded = frame_guard(thread, &word);
    struct ws_ring_call *record = ws_ring_reserve(&thread->ring, 1);
    if (record) {
        fill_record(record, call, context, found, object);
        record->address = address;
        record->bytes = bytes;
    }
    complete_record(thread, call, record);
    if (guarded)
        thread->within = 0;
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
    /* An allocation from a memory pool may make the stream wait for the memory's previous user. */
    if (stream != NO_STREAM)
        raise_order(call, stream);
    host_call(call, stream, object, where, bytes);
}

/* Called before the real call frees the memory, because afterwards another thread may get the same address. */
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
    uint32_t left = atomic_load(&streams_held);
    for (uint32_t id = 1; left && id <= stream_count(); id++) {
        left -= atomic_load_explicit(&stream_at(id)->held, memory_order_relaxed) != 0;
        op_end_held(call->thread, stream_at(id));
    }
}

/* Prepares the record of a call that waits for the device, while the device still works. Otherwise all of this would
 * be done when the device has finished, and the program would go on later. The record is left to wait_ended if the
 * stream is not known yet, or if the ring has no room. */
static void prepare_record(struct call *call, ws_CUstream stream, const void *object)
{
    struct shim_thread *thread = call->thread;
    if (!thread || !shim_recording() || thread->in_nccl ||
        !ws_ring_has_room(&thread->ring, ws_ring_head(&thread->ring) + 1))
        return;
    struct shim_context *context = context_of_thread(thread, atomic_load(&shim_page.handles));
    struct shim_stream *found = stream != NO_STREAM ? stream_known(stream, call->per_thread, context) : NULL;
    if (stream != NO_STREAM && !found)
        return;
    call->prepared = ws_ring_reserve_one(&thread->ring);
    if (call->prepared)
        fill_record(call->prepared, call, context, found, object);
}

void wait_begins(struct call *call, ws_CUstream stream, const void *object)
{
    waiting(call, stream);
    prepare_record(call, stream, object);
}

void wait_begins_all(struct call *call, const void *object)
{
    waiting_all(call);
    prepare_record(call, NO_STREAM, object);
}

/* Is the prepared record still the ring's next one? The thread may have written other records during the wait, in a
 * signal handler whose calls were not recognised as nested (frames.c): for example, it switched to another stack. */
static bool is_still_there(const struct shim_thread *thread, const struct ws_ring_call *record)
{
    return thread->within && (const char *)record == ws_ring_slot(&thread->ring, ws_ring_head(&thread->ring));
}

void wait_ended(struct call *call, ws_CUstream stream, const void *object)
{
    struct ws_ring_call *record = call->prepared;
    if (!record || !call->thread || !shim_recording() || !is_still_there(call->thread, record)) {
        host_call(call, stream, object, 0, 0);
        return;
    }
    if (call->result != WS_CUDA_SUCCESS)
        record->stream = 0; /* the stream may be invalid */
    complete_record(call->thread, call, record);
}

/* A query that returns "not ready" gets no record: programs poll with such queries. */
void queried(struct call *call, ws_CUstream stream, const void *object)
{
    if (call->result != WS_CUDA_ERROR_NOT_READY)
        host_call(call, stream, object, 0, 0);
}

/* Called if the call puts an entry into the stream that is not an operation, such as a wait. Counts the entry in
 * stream->order. Also sets `fresh`, because the stream's last event no longer tells when the next operation may
 * begin. */
static void raise_order(struct call *call, ws_CUstream stream)
{
    struct shim_thread *thread = call_thread(call);
    struct shim_stream *found = thread ? stream_known(stream, call->per_thread, thread->context) : NULL;
    if (found) {
        atomic_store_explicit(&found->fresh, 1, memory_order_release);
        atomic_fetch_add_explicit(&found->order, (uint64_t)1 << 16, memory_order_acq_rel);
    }
}

void wait_coming(struct call *call, ws_CUstream stream)
{
    waiting(call, stream);
    struct shim_stream *found = call->thread ? stream_known(stream, call->per_thread, call->thread->context) : NULL;
    if (found)
        turn_wait_enters(call->thread, found->id, 1);
}

/* The call makes all streams of its context wait for an event. The shim treats the streams of other contexts as
 * waiting, too. This has only one effect: the times of their operations are less certain. */
void wait_coming_all(struct call *call)
{
    waiting_all(call);
    if (call->thread)
        turn_wait_enters(call->thread, 1, stream_count());
}

static void wait_entered(struct call *call)
{
    if (call->thread)
        turn_wait_entered(call->thread);
}

void wait_ordered(struct call *call, ws_CUstream stream, ws_CUevent event)
{
    wait_entered(call);
    host_call(call, stream, event, 0, 0);
}

void wait_ordered_all(struct call *call, ws_CUevent event)
{
    wait_entered(call);
    host_call(call, NO_STREAM, event, 0, 0);
}

/* --- names and lifetimes ----------------------------------------------------------------------- */

void resolved(struct call *call, const char *symbol, void **pfn, int version, uint64_t flags)
{
    if (call->result == WS_CUDA_SUCCESS && symbol && pfn && *pfn)
        *pfn = resolve_proc(call->id, symbol, version, flags, *pfn);
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
    if (call->result == WS_CUDA_SUCCESS && !call->nested)
        leave_initialised();
}

void function_found_in(struct call *call, const void *function, const void *module, const char *name)
{
    if (function) {
        if (thread_get())
            function_named(function, call->id == WS_ID_cuLibraryGetKernel, module, name);
        host_call(call, NO_STREAM, function, 0, 0);
    }
}

/* Notes which handles are of type CUkernel, because cuKernelGetName takes only such handles. No name is stored: the
 * shim asks the driver for the name at the first launch. */
void kernels_found(struct call *call, ws_CUkernel *kernels, unsigned room, ws_CUlibrary library)
{
    unsigned count = 0;
    if (call->result != WS_CUDA_SUCCESS || !kernels || !driver.library_kernels || !thread_get())
        return;
    struct driver_ask asking;
    driver_ask_begin(&asking);
    if (driver.library_kernels(&count, library) != WS_CUDA_SUCCESS)
        count = 0;
    driver_ask_end(&asking);
    for (unsigned i = 0; i < count && i < room; i++)
        function_named(kernels[i], true, library, "");
}

void kernel_function_found(struct call *call, ws_CUfunction *function, ws_CUkernel kernel)
{
    if (call->result == WS_CUDA_SUCCESS && function && thread_get())
        function_same_as(*function, kernel);
}

/* Called before the real call unloads the module, while the handles still name its kernels. A correct program
 * launches no more kernels of this module, so the shim may forget the handles this early. */
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
        context_set_of_thread(thread, NULL, atomic_load(&shim_page.handles)); /* the new context is current now */
    host_call(call, NO_STREAM, context ? *context : NULL, 0, 0);
    struct shim_context *made = thread && context && call->id != WS_ID_cuCtxAttach ? context_find(*context) : NULL;
    if (made)
        atomic_store(&made->created, true);
}

/* Runs at every switch of contexts, so it does not ask the driver about the new context. If the shim has no entry for
 * the context, the context is looked up at its next use. */
void context_switched(struct call *call, ws_CUcontext context)
{
    struct shim_thread *thread = call_thread(call);
    if (call->result != WS_CUDA_SUCCESS || !thread)
        return;
    context_set_of_thread(thread, context ? context_find(context) : NULL, atomic_load(&shim_page.handles));
}

/* Called before a context is destroyed: lets the drain thread read the events of the context's operations, within a
 * deadline (drain/drain.h). Once the context is destroyed, its events cannot be read any more. */
static void context_end(struct shim_context *context)
{
    uint32_t alive = CONTEXT_ALIVE;
    counters_end(context);
    if (atomic_compare_exchange_strong(&context->life, &alive, CONTEXT_ENDING))
        drain_finish_context(context);
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
static _Atomic int retained[MOST_DEVICES]; /* for each device: retains minus releases of its primary context */

/* The device's primary context. If the program retained the primary context through the driver's private function
 * tables, the shim did not see that call. In this case, the primary context is the one context of the device that the
 * shim did not see created (`created` is not set). */
static struct shim_context *primary_of(ws_CUdevice device)
{
    ws_CUcontext handle = device >= 0 && device < MOST_DEVICES ? atomic_load(&primaries[device]) : NULL;
    if (handle)
        return context_find(handle);
    for (uint32_t id = context_count(); id; id--) {
        struct shim_context *context = context_at(id);
        if (context->device == (uint32_t)device + 1 && !context->green && !atomic_load(&context->created) &&
            atomic_load(&context->life) != CONTEXT_GONE)
            return context;
    }
    return NULL;
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

/* Called before a reset or release of the device's primary context. Ends the shim's use of the context (context_end)
 * if the call is a reset, or the last release that we know of. */
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

void stream_made(struct call *call, ws_CUstream *stream)
{
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

/* The driver destroys a green context's streams with it. The shim does not know which streams belong to the green
 * context, so it forgets all streams, and looks each one up again at its next use. */
void green_ending(struct call *call, ws_CUgreenCtx context)
{
    (void)call;
    if (!shim_started())
        return;
    contexts_forget_green(context);
    streams_forget_created();
}

void profiler_range(struct call *call, bool inside)
{
    if (call->result == WS_CUDA_SUCCESS)
        recording_set_range(inside);
    host_call(call, NO_STREAM, NULL, 0, 0);
}
