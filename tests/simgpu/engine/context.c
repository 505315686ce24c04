#include "engine/engine.h"

#include <stdlib.h>

enum { STACK_DEPTH = 64 };

/* The contexts a thread has pushed; the last is current. */
static __thread struct sim_context *stack[STACK_DEPTH];
static __thread int depth;

struct sim_context *sim_contexts;

static int context_count;
static uint64_t context_ids;

struct sim_context *sim_current_or_null(void)
{
    return depth ? stack[depth - 1] : NULL;
}

ws_CUresult sim_context_check(const struct sim_context *context)
{
    if (!context)
        return WS_CUDA_ERROR_INVALID_CONTEXT;
    if (context->magic != SIM_CONTEXT || context->destroyed)
        return WS_CUDA_ERROR_CONTEXT_IS_DESTROYED;
    return context->sticky;
}

ws_CUresult sim_current(struct sim_context **context)
{
    *context = sim_current_or_null();
    if (sim_in_callback)
        return WS_CUDA_ERROR_NOT_PERMITTED;
    return sim_context_check(*context);
}

bool sim_context_known(const struct sim_context *context)
{
    pthread_mutex_lock(&sim_lock);
    const struct sim_context *known = sim_contexts;
    while (known && known != context)
        known = known->next;
    pthread_mutex_unlock(&sim_lock);
    return known != NULL;
}

/* Initialises a new context, or a primary context again after a reset. With sim_lock held. `destroyed` is cleared
 * last: other threads read it without the lock, and must find the other members valid. */
static bool context_start(struct sim_context *context)
{
    struct sim_stream *legacy;
    context->sticky = WS_CUDA_SUCCESS;
    context->id = ++context_ids;
    legacy = sim_stream_new(context, 0, 0);
    if (!legacy)
        return false;
    legacy->handle = WS_CU_STREAM_LEGACY;
    context->legacy = legacy;
    context->limits[0] = 1024;    /* bytes of stack per thread */
    context->limits[1] = 1 << 20; /* bytes of the printf buffer */
    context->limits[2] = 8 << 20; /* bytes of the heap for device malloc */
    context->limits[3] = 2;
    context->limits[4] = 2048;
    context->limits[5] = 128; /* bytes that L2 fetches at once */
    context->destroyed = false;
    return true;
}

/* Called with sim_lock held. */
static struct sim_context *context_new(unsigned flags, struct sim_device *device, int api_version)
{
    struct sim_context *context = sim_keep(sizeof(*context));
    if (!context)
        return NULL;
    context->magic = SIM_CONTEXT;
    context->device = device;
    context->flags = flags;
    context->api_version = api_version;
    context->number = ++context_count;
    if (context->number == 1)
        sim_first_context();
    context->next = sim_contexts;
    sim_contexts = context;
    return context_start(context) ? context : NULL;
}

struct sim_context *sim_context_part(struct sim_context *whole, void *green)
{
    pthread_mutex_lock(&sim_lock);
    struct sim_context *context = context_new(whole->flags, whole->device, whole->api_version);
    if (context) {
        context->whole = whole;
        context->green = green;
    }
    pthread_mutex_unlock(&sim_lock);
    return context;
}

/* Called when a context other than `before` may have become current. A green context can be current to only one
 * thread at a time (cuGreenCtxCreate). The documentation does not say what happens to a second thread; here the
 * program aborts. */
static void current_changed(struct sim_context *before)
{
    struct sim_context *now = sim_current_or_null();
    int mine = sim_thread_id(), nobody = 0;
    if (before == now)
        return;
    if (before && before->whole)
        atomic_store(&before->holder, 0);
    if (now && now->whole && !atomic_compare_exchange_strong(&now->holder, &nobody, mine) && nobody != mine) {
        sim_log("a green context made current to a second thread");
        abort();
    }
}

ws_CUresult sim_context_create(struct sim_context **created, unsigned flags, struct sim_device *device,
                               int api_version)
{
    if (depth == STACK_DEPTH)
        return WS_CUDA_ERROR_OUT_OF_MEMORY;
    pthread_mutex_lock(&sim_lock);
    struct sim_context *context = context_new(flags, device, api_version);
    pthread_mutex_unlock(&sim_lock);
    if (!context)
        return WS_CUDA_ERROR_OUT_OF_MEMORY;
    struct sim_context *before = sim_current_or_null();
    stack[depth++] = context;
    current_changed(before);
    *created = context;
    return WS_CUDA_SUCCESS;
}

ws_CUresult sim_context_push(struct sim_context *context)
{
    if (!context || context->magic != SIM_CONTEXT)
        return WS_CUDA_ERROR_INVALID_CONTEXT;
    if (depth == STACK_DEPTH)
        return WS_CUDA_ERROR_OUT_OF_MEMORY;
    struct sim_context *before = sim_current_or_null();
    stack[depth++] = context;
    current_changed(before);
    return WS_CUDA_SUCCESS;
}

ws_CUresult sim_context_pop(struct sim_context **popped)
{
    if (!depth)
        return WS_CUDA_ERROR_INVALID_CONTEXT;
    depth--;
    current_changed(stack[depth]);
    if (popped)
        *popped = stack[depth];
    return WS_CUDA_SUCCESS;
}

void sim_context_set(struct sim_context *context)
{
    struct sim_context *before = sim_current_or_null();
    if (context && context->destroyed && !context->primary)
        sim_misused("a context that is gone");
    if (depth)
        depth--;
    if (context)
        stack[depth++] = context;
    current_changed(before);
}

/* Waits for the work that is queued at the call, not for work that other threads queue later. */
ws_CUresult sim_context_wait(struct sim_context *context)
{
    pthread_mutex_lock(&sim_lock);
    uint64_t last = sim_last_queued();
    for (;;) {
        struct sim_stream *stream = sim_busy;
        while (stream && (stream->context != context || stream->head->correlation > last))
            stream = stream->next_busy;
        if (!stream)
            break;
        sim_finish_queued(stream, last);
    }
    pthread_mutex_unlock(&sim_lock);
    return context->sticky;
}

/* Frees everything the context owns. The context itself stays, marked as destroyed. From then on it accepts no work.
 * Work that is already queued is done before anything is freed. */
bool sim_context_release_resources(struct sim_context *context)
{
    pthread_mutex_lock(&sim_lock);
    bool mine = !atomic_exchange(&context->destroyed, true);
    pthread_mutex_unlock(&sim_lock);
    if (!mine)
        return false;
    sim_context_wait(context);
    pthread_mutex_lock(&sim_lock);
    for (struct sim_stream *stream = context->streams; stream; stream = stream->next_in_context)
        sim_capture_abandon(stream);
    while (context->events)
        sim_event_forget(context->events);
    while (context->streams)
        sim_stream_forget(context->streams);
    context->legacy = NULL;
    struct sim_module *modules = context->modules;
    context->modules = NULL;
    pthread_mutex_unlock(&sim_lock);
    while (modules) {
        struct sim_module *next = modules->next;
        sim_module_free(modules);
        modules = next;
    }
    if (!context->whole)
        sim_memory_release_context(context);
    sim_truth_flush();
    return true;
}

ws_CUresult sim_context_destroy(struct sim_context *context)
{
    if (!context)
        return WS_CUDA_ERROR_INVALID_VALUE;
    if (context->magic != SIM_CONTEXT || context->destroyed)
        return WS_CUDA_ERROR_CONTEXT_IS_DESTROYED;
    if (context->primary || context->whole)
        return WS_CUDA_ERROR_INVALID_CONTEXT;
    if (!sim_context_release_resources(context))
        return WS_CUDA_ERROR_CONTEXT_IS_DESTROYED;
    if (depth && stack[depth - 1] == context)
        depth--;
    return WS_CUDA_SUCCESS;
}

/* With the device's primary_lock and sim_lock held: returns the device's primary context, which is created on first
 * use and initialised again after a reset. Its handle never changes. */
static struct sim_context *primary_of(struct sim_device *device)
{
    struct sim_context *context = device->primary;
    if (!context) {
        context = context_new(device->primary_flags, device, 3020);
        if (context)
            context->primary = true;
        device->primary = context;
    } else if (context->destroyed) {
        context->flags = device->primary_flags;
        if (!context_start(context))
            return NULL;
    }
    return context;
}

/* If another thread is destroying the primary context, waits until that is done. A call from a host function is
 * refused: the destruction waits for the context's host functions, so the host function and the destruction would
 * wait for each other for ever. */
ws_CUresult sim_primary_retain(struct sim_device *device, struct sim_context **context)
{
    if (sim_in_callback)
        return WS_CUDA_ERROR_NOT_PERMITTED;
    pthread_mutex_lock(&device->primary_lock);
    pthread_mutex_lock(&sim_lock);
    *context = primary_of(device);
    device->primary_references += *context != NULL;
    pthread_mutex_unlock(&sim_lock);
    pthread_mutex_unlock(&device->primary_lock);
    return *context ? WS_CUDA_SUCCESS : WS_CUDA_ERROR_OUT_OF_MEMORY;
}

ws_CUresult sim_primary_release(struct sim_device *device, bool reset)
{
    if (sim_in_callback)
        return WS_CUDA_ERROR_NOT_PERMITTED;
    pthread_mutex_lock(&device->primary_lock);
    pthread_mutex_lock(&sim_lock);
    struct sim_context *context = device->primary;
    bool ends = context != NULL;
    ws_CUresult result = WS_CUDA_SUCCESS;
    if (!reset) {
        if (!device->primary_references)
            result = WS_CUDA_ERROR_INVALID_CONTEXT;
        else if (--device->primary_references)
            ends = false;
    }
    pthread_mutex_unlock(&sim_lock);
    if (result == WS_CUDA_SUCCESS && ends)
        sim_context_release_resources(context);
    pthread_mutex_unlock(&device->primary_lock);
    return result;
}
