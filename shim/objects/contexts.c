#include "shim/objects/contexts.h"

#include <string.h>

#include "base/chunks.h"
#include "base/device_facts.h"
#include "base/log.h"
#include "base/map.h"
#include "base/uuid.h"
#include "shim/hook/driver_calls.h"
#include "shim/objects/thread.h"
#include "shim/state/life.h"
#include "shim/state/phase.h"
#include "shim/state/registry.h"
#include "shim/state/wake.h"

/* Number of events that a thread makes in a context when it registers the context. With `--event-placement sampled`,
 * few events are needed. More events would cost the program time: on an H200, launches took four times as long as
 * usual for the first 25 to 35 ms, in which the shim made 4,096 events. It is only inferred that the events were the
 * cause. */
enum { FIRST_EVENTS = 4096, FIRST_EVENTS_SAMPLED = 256 };

static struct ws_map context_ids; /* handle of a context → its dictionary id */
static struct ws_chunks contexts = { .row_size = sizeof(struct shim_context) };

struct shim_context *context_at(uint32_t id)
{
    return id ? ws_chunks_row(&contexts, id - 1) : NULL;
}

uint32_t context_count(void)
{
    return atomic_load_explicit(&registry.context.count, memory_order_acquire);
}

struct shim_context *context_find(ws_CUcontext handle)
{
    if (!registry_lock())
        return NULL;
    uint64_t *known = ws_map_get(&context_ids, (uintptr_t)handle);
    uint32_t id = known ? (uint32_t)*known : 0;
    registry_unlock();
    return context_at(id);
}

static uint32_t attribute(ws_CUdevice device, ws_CUenum which)
{
    int value = 0;
    if (!driver.device_attribute || driver.device_attribute(&value, which, device) != WS_CUDA_SUCCESS)
        return 0;
    return (uint32_t)value;
}

/* Registers all devices up to this ordinal, so that a device's id is its ordinal plus one. */
static void register_devices(ws_CUdevice last)
{
    for (ws_CUdevice device = 0; device <= last; device++) {
        char name[256] = "", pci[32] = "", uuid_text[WS_UUID_SIZE] = "";
        ws_CUuuid uuid;
        size_t memory = 0;
        if ((uint32_t)device < atomic_load_explicit(&registry.device.count, memory_order_acquire))
            continue;
        if (driver.device_name)
            driver.device_name(name, sizeof(name), device);
        if (driver.device_pci)
            driver.device_pci(pci, sizeof(pci), device);
        if (driver.device_memory)
            driver.device_memory(&memory, device);
        ws_CUresult (*get_uuid)(ws_CUuuid *, ws_CUdevice) =
            driver.device_uuid ? driver.device_uuid : driver.device_uuid_v1;
        if (get_uuid && get_uuid(&uuid, device) == WS_CUDA_SUCCESS)
            ws_format_uuid(uuid_text, &uuid);
#define FACT(field, which) .field = attribute(device, WS_CU_DEVICE_ATTRIBUTE_##which),
        struct ws_device row = { .l2_bytes = attribute(device, WS_CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE),
                                 .memory_bytes = memory,
                                 WS_DEVICE_FACTS(FACT) };
#undef FACT
        if (!registry_lock())
            return;
        if (atomic_load_explicit(&registry.device.count, memory_order_relaxed) == (uint32_t)device) {
            row.name = registry_text(name);
            row.uuid = registry_text(uuid_text);
            row.pci = registry_text(pci);
            registry_add(&registry.device, &row);
        }
        registry_unlock();
    }
}

static bool has_events(void)
{
    return shim_options.backend == WS_BACKEND_EVENTS && driver.event_create && driver.event_record &&
           driver.event_elapsed && driver.event_query && driver.context_set && driver.stream_create;
}

/* Called before other threads can see the context's entry. Does not call the driver, because the caller holds the
 * registry's lock. */
static void prepare_events(struct shim_context *context)
{
    context->one_queue = shim_one_queue;
    if (has_events() && !context->green)
        event_pool_init(&context->pool, (uint32_t)shim_options.events);
}

/* Makes the first events of the context, which must be current on the calling thread. */
void context_make_events(struct shim_context *context)
{
    if (!has_events())
        return;
    uint32_t first = shim_options.event_placement == WS_EVENTS_SAMPLED ? FIRST_EVENTS_SAMPLED : FIRST_EVENTS;
    ws_CUresult result = context->pool.events ? event_pool_grow(&context->pool, first) : WS_CUDA_ERROR_OUT_OF_MEMORY;
    if (result != WS_CUDA_SUCCESS) {
        /* The shim prints no warning in two cases. A context that was destroyed can still be current: nothing runs in
         * it, so no device time will be missing. In a child that a signal handler has just forked (!shim_started),
         * the driver does not work. */
        if (shim_started() && result != WS_CUDA_ERROR_CONTEXT_IS_DESTROYED && result != WS_CUDA_ERROR_DEINITIALIZED)
            ws_warn("the driver gave no events in a context: no device times there");
        return;
    }
    context->timed = true;
    wake_drain_soon(); /* the drain thread makes more events in advance */
}

/* Adds an entry for the context, unless it has one. The context must be current on the calling thread. */
static struct shim_context *register_context(ws_CUcontext handle)
{
    ws_CUdevice device = 0;
    unsigned flags = 0;
    /* A context that was destroyed may still be current. The driver then returns an error, and the context gets no
     * entry. */
    if ((driver.context_device && driver.context_device(&device) != WS_CUDA_SUCCESS) ||
        (driver.context_flags && driver.context_flags(&flags) != WS_CUDA_SUCCESS))
        return NULL;
    register_devices(device);
    ws_CUgreenCtx green = NULL;
    if (driver.stream_green && driver.stream_green(WS_CU_STREAM_LEGACY, &green) != WS_CUDA_SUCCESS)
        green = NULL;
    struct ws_context row = { .device = (uint32_t)device + 1, .flags = flags, .handle = (uintptr_t)handle };
    struct shim_context *context = NULL;
    bool is_new = false;
    if (!registry_lock())
        return NULL;
    uint64_t *id = ws_map_put(&context_ids, (uintptr_t)handle);
    if (id && !*id) {
        uint32_t next = atomic_load_explicit(&registry.context.count, memory_order_relaxed);
        struct shim_context *entry = next < registry.context.limit ? ws_chunks_make(&contexts, next) : NULL;
        if (entry) {
            /* The entry is complete before its id becomes visible to other threads. */
            *entry = (struct shim_context){ .handle = handle, .green = green, .id = next + 1, .device = row.device };
            prepare_events(entry);
            *id = registry_add(&registry.context, &row);
            is_new = true;
        }
    }
    if (id && *id)
        context = context_at((uint32_t)*id);
    else
        ws_map_remove(&context_ids, (uintptr_t)handle);
    registry_unlock();
    if (!context || !is_new)
        return context;
    shim_life.has_context();
    /* If the process records no trace now (shim_asleep), or the shim was loaded late, the drain thread makes the
     * events: this call must not delay the program. */
    if (!green && (shim_asleep || shim_late)) {
        atomic_store(&context->lacks_events, true);
        wake_drain_soon();
    } else if (!green) {
        context_make_events(context);
    }
    return context;
}

/* Called when a call of the program uses this context again, or uses a new context with the same handle. The two
 * cases need no distinction: if the former context is gone, forget_events has dropped all events and streams that the
 * shim had in it. */
static struct shim_context *seen_again(struct shim_context *context)
{
    uint32_t unseen = CONTEXT_UNSEEN;
    if (atomic_compare_exchange_strong(&context->life, &unseen, CONTEXT_ALIVE))
        wake_drain_soon(); /* the drain thread makes the context's events */
    return context;
}

struct shim_context *context_current(void)
{
    ws_CUcontext handle = NULL;
    if (!driver.context_current || driver.context_current(&handle) != WS_CUDA_SUCCESS || !handle)
        return NULL;
    struct shim_context *context = context_find(handle);
    if (context)
        return seen_again(context);
    struct driver_ask asking;
    driver_ask_begin(&asking);
    context = register_context(handle);
    driver_ask_end(&asking);
    return context;
}

static void find_primary(ws_CUdevice device)
{
    ws_CUcontext handle = NULL;
    unsigned flags;
    int active = 0;
    if (driver.primary_state(device, &flags, &active) != WS_CUDA_SUCCESS || !active ||
        driver.primary_retain(&handle, device) != WS_CUDA_SUCCESS)
        return;
    if (driver.context_set(handle) == WS_CUDA_SUCCESS)
        context_current();
    driver.context_set(NULL);
    driver.primary_release(device);
}

void contexts_find_primaries(void)
{
    int count = 0;
    if (!driver.primary_state || !driver.primary_retain || !driver.primary_release || !driver.context_set ||
        !driver.device_count || driver.device_count(&count) != WS_CUDA_SUCCESS)
        return;
    for (ws_CUdevice device = 0; device < count; device++)
        find_primary(device);
}

static void destroy_events(struct shim_context *context)
{
    for (uint32_t event = 1; event <= context->pool.made; event++)
        driver.event_destroy(event_at(&context->pool, event)->handle);
    for (int i = 0; i < 2; i++) {
        if (context->base[i].handle && !context->base[i].event)
            driver.event_destroy(context->base[i].handle);
        if (context->dispatch.events[i])
            driver.event_destroy(context->dispatch.events[i]);
    }
    if (context->clock_stream)
        driver.stream_destroy(context->clock_stream);
}

/* Forgets the events and streams that the shim has made in the context. The other fields of the context hold
 * measurements. A later recording session replaces them by new ones. */
static void forget_events(struct shim_context *context)
{
    atomic_store(&context->timed, false);
    event_pool_empty(&context->pool);
    memset(context->base, 0, sizeof(context->base));
    memset(context->dispatch.events, 0, sizeof(context->dispatch.events));
    context->clock_stream = NULL;
    atomic_store(&context->lacks_events, context->pool.events != NULL);
}

void contexts_release(bool quiet)
{
    for (uint32_t id = 1; id <= context_count(); id++) {
        struct shim_context *context = context_at(id);
        uint32_t alive = CONTEXT_ALIVE;
        if (!atomic_compare_exchange_strong(&context->life, &alive, CONTEXT_UNSEEN))
            continue;
        if (quiet && driver.event_destroy && driver.stream_destroy && driver.context_set &&
            driver.context_set(context->handle) == WS_CUDA_SUCCESS)
            destroy_events(context);
        forget_events(context);
    }
    if (driver.context_set)
        driver.context_set(NULL);
}

/* If the stream's context has no entry yet, the shim makes this context current for a moment, because cuCtxGetDevice
 * tells the device of the current context only. */
struct shim_context *context_of_stream(ws_CUstream handle, struct shim_context *current)
{
    ws_CUcontext owner = NULL;
    ws_CUgreenCtx green = NULL;
    bool known = driver.stream_whole_context
                     ? driver.stream_whole_context(handle, &owner, &green) == WS_CUDA_SUCCESS
                     : driver.stream_context && driver.stream_context(handle, &owner) == WS_CUDA_SUCCESS;
    if (!known || !owner)
        return current ? current : context_current();
    struct shim_context *context = context_find(owner);
    if (context)
        return seen_again(context);
    ws_CUcontext saved = NULL;
    if (driver.context_current(&saved) != WS_CUDA_SUCCESS || driver.context_set(owner) != WS_CUDA_SUCCESS)
        return NULL;
    context = register_context(owner);
    driver.context_set(saved);
    return context;
}

void context_forget(const struct shim_context *context)
{
    ws_map_remove(&context_ids, (uintptr_t)context->handle);
}

void context_set_of_thread(struct shim_thread *thread, struct shim_context *context, uint32_t handles)
{
    thread->context = context;
    thread->context_bits = context ? context->id << SHAPE_CONTEXT_BIT : 0;
    thread->handles = context ? handles : handles - 1;
}

struct shim_context *context_of_thread(struct shim_thread *thread, uint32_t handles)
{
    if (thread->handles != handles)
        context_set_of_thread(thread, context_current(), handles);
    return thread->context;
}
