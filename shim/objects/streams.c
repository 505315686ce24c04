#include "shim/objects/streams.h"

#include <string.h>

#include "base/map.h"
#include "shim/hook/driver_calls.h"
#include "shim/objects/functions.h"
#include "shim/objects/thread.h"
#include "shim/state/registry.h"

enum {
    STREAMS_BEFORE_REUSE =
        1024,        /* entries of destroyed streams are reused only if there are at least this many entries in all */
    MOST_LOOKS = 64, /* at most this many entries of destroyed streams are searched for a stream of the same kind */
};

static struct ws_map stream_ids; /* value of stream_key → dictionary id of the stream */
static struct ws_chunks streams = { .row_size = sizeof(struct shim_stream) };
static struct shim_stream
    *_Atomic streams_over; /* streams destroyed since the drain thread's last round; guarded by the registry's lock */
static struct shim_stream *closing; /* used only by the drain thread: destroyed streams whose last operations it has
                                       not read */

struct shim_stream *stream_at(uint32_t id)
{
    return id ? ws_chunks_row(&streams, id - 1) : NULL;
}

uint32_t stream_count(void)
{
    return atomic_load_explicit(&registry.stream.count, memory_order_acquire);
}

/* The key of a stream. A context has one legacy default stream, and one default stream for each thread. The key of
 * any other stream is its handle: an address, in which bits 62 and 63 are 0. */
static uint64_t stream_key(ws_CUstream handle, const struct shim_context *context, uint32_t owner)
{
    if (handle == WS_CU_STREAM_LEGACY)
        return (uint64_t)1 << 63 | context->id;
    if (handle == WS_CU_STREAM_PER_THREAD)
        return (uint64_t)1 << 62 | (uint64_t)owner << 16 | context->id;
    return (uintptr_t)handle;
}

/* Returns the thread's number if the handle names the calling thread's own default stream, else 0. */
static uint32_t owner_of(ws_CUstream handle)
{
    struct shim_thread *thread = thread_if_known();
    return handle == WS_CU_STREAM_PER_THREAD && thread ? thread->number : 0;
}

static bool is_created(ws_CUstream handle)
{
    return handle != WS_CU_STREAM_LEGACY && handle != WS_CU_STREAM_PER_THREAD;
}

static ws_CUstream normal_handle(ws_CUstream handle, bool per_thread)
{
    return handle ? handle : per_thread ? WS_CU_STREAM_PER_THREAD : WS_CU_STREAM_LEGACY;
}

static struct known_stream *cache_entry(uint64_t key)
{
    struct shim_thread *thread = thread_if_known();
    return thread ? &thread->streams[key * 0x9e3779b97f4a7c15u >> 60] : NULL;
}
_Static_assert(STREAM_CACHE == 1 << (64 - 60), "cache_entry takes the 4 highest bits");

/* Returns the stream from the thread's cache, or NULL. A signal handler may fill the entry anew at any time. So the
 * entry is compared before and after its stream is read. */
static struct shim_stream *cached_stream(const struct known_stream *entry, uint64_t key, uint32_t handles)
{
    if (!entry || entry->key != key || entry->handles != handles)
        return NULL;
    atomic_signal_fence(memory_order_seq_cst);
    struct shim_stream *stream = entry->stream;
    atomic_signal_fence(memory_order_seq_cst);
    return entry->key == key && entry->handles == handles ? stream : NULL;
}

struct shim_stream *stream_known(ws_CUstream handle, bool per_thread, const struct shim_context *context)
{
    handle = normal_handle(handle, per_thread);
    if (!is_created(handle) && !context)
        return NULL;
    uint32_t handles = atomic_load_explicit(&shim_page.handles, memory_order_acquire);
    uint64_t key = stream_key(handle, context, owner_of(handle));
    struct known_stream *entry = cache_entry(key);
    struct shim_stream *stream = cached_stream(entry, key, handles);
    if (stream)
        return stream;
    if (!registry_lock()) /* this lock also blocks signals, so no signal handler uses the entry while it is filled */
        return NULL;
    uint64_t *id = ws_map_get(&stream_ids, key);
    stream = id ? stream_at((uint32_t)*id) : NULL;
    if (entry && stream)
        *entry = (struct known_stream){ key, stream, handles };
    registry_unlock();
    return stream;
}

/* Takes the entry of a destroyed stream with the same kind, flags and priority, to reuse it. Returns NULL if there is
 * no such entry, or while there are fewer than STREAMS_BEFORE_REUSE entries in all. */
static struct shim_stream *used_entry(struct shim_context *context, const struct ws_stream *row)
{
    unsigned looks = 0;
    if (atomic_load_explicit(&registry.stream.count, memory_order_relaxed) < STREAMS_BEFORE_REUSE)
        return NULL;
    for (struct shim_stream **at = &context->used_up; *at && looks < MOST_LOOKS; at = &(*at)->next, looks++) {
        struct shim_stream *found = *at;
        const struct ws_stream *was = registry_row(&registry.stream, found->id);
        if (was->kind == row->kind && was->flags == row->flags && was->priority == row->priority) {
            *at = found->next;
            return found;
        }
    }
    return NULL;
}

/* Called with the registry's lock held. Makes an entry, and returns the stream's id, or 0 if there is no room. */
static uint32_t new_entry(struct shim_context *context, ws_CUstream handle, const struct ws_stream *row)
{
    struct shim_thread *thread = thread_if_known();
    bool own = row->kind == WS_STREAM_PER_THREAD;
    struct shim_stream *stream = used_entry(context, row);
    uint32_t next = atomic_load_explicit(&registry.stream.count, memory_order_relaxed);
    if (own && !thread)
        return 0;
    if (stream) {
        stream->handle = handle;
        stream->over = false;
        atomic_store(&stream->fresh, 1);
        atomic_store(&stream->chain, 0);
    } else if (next < registry.stream.limit && (stream = ws_chunks_make(&streams, next))) {
        *stream = (struct shim_stream){
            .context = context,
            .handle = handle,
            .id = next + 1,
            .kind = row->kind,
            .blocking = own || !(row->flags & WS_CU_STREAM_NON_BLOCKING),
            .fresh = 1,
        };
        if (!registry_add(&registry.stream, row))
            return 0;
    } else {
        return 0;
    }
    stream->owner = own ? thread->number : 0;
    if (own) {
        stream->next_own = thread->own_streams;
        thread->own_streams = stream;
    }
    return stream->id;
}

/* Asks the driver whether the stream is being captured, because the capture may have begun before the shim was
 * loaded. If the stream has joined another stream's capture, no call tells the shim when this capture ends.
 * `capturing` then stays set until the session ends, and until then the shim asks the driver before each event that
 * it records (may_record in calls/ops.c). */
static void ask_for_capture(struct shim_stream *stream)
{
    ws_CUenum status = WS_CU_STREAM_CAPTURE_STATUS_NONE;
    if (stream->kind != WS_STREAM_LEGACY && driver.stream_is_capturing &&
        driver.stream_is_capturing(stream->handle, &status) == WS_CUDA_SUCCESS &&
        status != WS_CU_STREAM_CAPTURE_STATUS_NONE && !atomic_exchange(&stream->capturing, 1))
        shim_capture_begins();
}

/* Asks the driver about a stream that the program made. Returns false if the handle is not valid. If the stream is
 * being captured, the driver is asked nothing else about it: on an H200, PyTorch found that a capture was no longer
 * active after such questions, probably because of them. In this case *context is left unchanged or becomes the
 * current context, and flags and priority stay 0. */
static bool ask_about(ws_CUstream handle, struct shim_context **context, unsigned *flags, int *priority)
{
    ws_CUenum status = WS_CU_STREAM_CAPTURE_STATUS_NONE;
    struct driver_ask asking;
    driver_ask_begin(&asking);
    bool valid = !driver.stream_is_capturing || driver.stream_is_capturing(handle, &status) == WS_CUDA_SUCCESS;
    if (valid && status == WS_CU_STREAM_CAPTURE_STATUS_NONE) {
        *context = context_of_stream(handle, *context);
        if (driver.stream_flags)
            driver.stream_flags(handle, flags);
        if (driver.stream_priority)
            driver.stream_priority(handle, priority);
    } else if (valid && !*context) {
        *context = context_current();
    }
    driver_ask_end(&asking);
    return valid;
}

struct shim_stream *stream_find(ws_CUstream handle, bool per_thread, struct shim_context *context)
{
    handle = normal_handle(handle, per_thread);
    bool created = is_created(handle);
    if (!created && !context)
        context = context_current();
    if (!created && !context)
        return NULL;
    struct shim_stream *stream = stream_known(handle, per_thread, context);
    if (stream)
        return stream;
    unsigned flags = 0;
    int priority = 0;
    if (created && !ask_about(handle, &context, &flags, &priority))
        return NULL;
    if (!context)
        return NULL;
    struct ws_stream row = {
        .context = context->id,
        .kind = created                         ? WS_STREAM_CREATED
                : handle == WS_CU_STREAM_LEGACY ? WS_STREAM_LEGACY
                                                : WS_STREAM_PER_THREAD,
        .flags = flags,
        .priority = priority,
        .handle = (uintptr_t)handle,
    };
    if (!registry_lock())
        return NULL;
    uint64_t key = stream_key(handle, context, owner_of(handle));
    uint64_t *place = ws_map_put(&stream_ids, key);
    if (place && !*place)
        *place = new_entry(context, handle, &row);
    if (place && *place)
        stream = stream_at((uint32_t)*place);
    else
        ws_map_remove(&stream_ids, key);
    registry_unlock();
    if (stream && shim_late)
        ask_for_capture(stream);
    return stream;
}

_Atomic uint32_t streams_held;

void stream_copy_left(struct shim_stream *stream, enum copy_direction direction, bool of_stream)
{
    atomic_fetch_add_explicit(&stream->context->copies_done[direction], 1, memory_order_relaxed);
    if (of_stream)
        atomic_fetch_add_explicit(&stream->copies_done[direction], 1, memory_order_relaxed);
}

void stream_copy_done(struct shim_stream *stream, enum copy_direction direction)
{
    stream_copy_left(stream, direction, true);
}

void stream_capture_over(struct shim_stream *stream)
{
    struct shim_quiet quiet;
    quiet_begin(&quiet); /* blocks signals: a handler could leave by longjmp before the capture is uncounted */
    if (atomic_exchange(&stream->capturing, 0))
        shim_capture_ends();
    quiet_end(&quiet);
}

void stream_let_go(struct shim_stream *stream)
{
    event_release(&stream->context->pool, atomic_exchange(&stream->last_event, 0));
}

/* Called with the registry's lock held, when the stream is destroyed. No more operations will be put into it. */
static void stream_over(struct shim_stream *stream)
{
    stream_capture_over(stream);
    if (atomic_exchange(&stream->held, 0))
        atomic_fetch_sub(&streams_held, 1);
    stream_let_go(stream);
    if (stream->over)
        return;
    stream->over = true;
    stream->next = atomic_load(&streams_over);
    atomic_store(&streams_over, stream);
}

void streams_of_gone_thread(struct shim_thread *thread)
{
    if (!thread->own_streams || !registry_lock())
        return;
    for (struct shim_stream *stream = thread->own_streams; stream; stream = stream->next_own) {
        ws_map_remove(&stream_ids, stream_key(stream->handle, stream->context, stream->owner));
        stream_over(stream);
    }
    registry_unlock();
}

/* The streams in streams_over were destroyed before the drain thread's round (in which it reads all rings) began. So
 * in this round the drain thread reads the last records of their operations. */
void streams_over_begin(void)
{
    if (!atomic_load(&streams_over) || !registry_lock())
        return;
    struct shim_stream *stream = atomic_exchange(&streams_over, NULL);
    registry_unlock();
    while (stream) {
        struct shim_stream *next = stream->next;
        stream->closing = true;
        stream->next = closing;
        closing = stream;
        stream = next;
    }
}

void streams_over_end(void)
{
    struct shim_stream **at = &closing;
    if (!closing || !registry_lock())
        return;
    while (*at) {
        struct shim_stream *stream = *at;
        if (stream->first) {
            at = &stream->next;
            continue;
        }
        *at = stream->next;
        stream->closing = false;
        stream->next = stream->context->used_up;
        stream->context->used_up = stream;
    }
    registry_unlock();
}

/* Called with the registry's lock held. Forgets the stream's handle, unless the driver has reused it for another
 * stream. */
static void forget_created(const struct shim_stream *stream)
{
    uint64_t *known = ws_map_get(&stream_ids, (uintptr_t)stream->handle);
    if (known && *known == stream->id)
        ws_map_remove(&stream_ids, (uintptr_t)stream->handle);
}

void streams_forget_created(void)
{
    bool locked = registry_lock();
    for (uint32_t id = 1; locked && id <= stream_count(); id++) {
        if (stream_at(id)->kind == WS_STREAM_CREATED) {
            forget_created(stream_at(id));
            stream_over(stream_at(id));
        }
    }
    shim_forget_handles();
    if (locked)
        registry_unlock();
}

void stream_forget(ws_CUstream handle)
{
    bool locked = registry_lock();
    if (locked) {
        uint64_t *id = ws_map_get(&stream_ids, (uintptr_t)handle);
        struct shim_stream *stream = id ? stream_at((uint32_t)*id) : NULL;
        ws_map_remove(&stream_ids, (uintptr_t)handle);
        if (stream)
            stream_over(stream);
    }
    /* Before the unlock, which delivers signals: a handler may leave by longjmp. */
    shim_forget_handles();
    if (locked)
        registry_unlock();
}

void contexts_forget_green(ws_CUgreenCtx green)
{
    for (uint32_t id = 1; green && id <= context_count(); id++)
        if (context_at(id)->green == green && atomic_load(&context_at(id)->life) == CONTEXT_ALIVE)
            context_gone(context_at(id));
}

void context_gone(struct shim_context *context)
{
    atomic_store(&context->life, CONTEXT_GONE);
    bool locked = registry_lock();
    if (locked)
        context_forget(context);
    /* Default streams need not be forgotten: their keys contain the context's id, which no other context gets. */
    for (uint32_t id = 1; locked && id <= stream_count(); id++) {
        struct shim_stream *stream = stream_at(id);
        if (stream->context != context)
            continue;
        if (stream->kind == WS_STREAM_CREATED)
            forget_created(stream);
        stream_over(stream);
    }
    shim_forget_handles();
    if (locked)
        registry_unlock();
    functions_doubt();
}
