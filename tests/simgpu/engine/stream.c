#include "engine/engine.h"

#include <stdlib.h>
#include <string.h>

static struct sim_stream *free_streams, *buried_streams;
static uint64_t stream_ids;

/* The calling thread's own default streams: one for each context in which the thread has used its own default
 * stream. */
struct thread_stream {
    uint64_t context_id;
    struct sim_stream *stream;
};
enum { THREAD_STREAMS = 16 };
static __thread struct thread_stream thread_streams[THREAD_STREAMS];
static __thread unsigned thread_stream_next;

ws_CUresult sim_alive(const struct sim_stream *stream)
{
    bool alive = stream->magic == SIM_STREAM && !stream->destroyed && !stream->context->destroyed;
    return alive ? WS_CUDA_SUCCESS : WS_CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

/* Returns a new stream. Called with sim_lock held. May reuse the structure of a destroyed stream. The numbers of the
 * new stream's operations then continue those of the destroyed stream. */
struct sim_stream *sim_stream_new(struct sim_context *context, unsigned flags, int priority)
{
    struct sim_stream *stream = free_streams;
    uint64_t issued = 0;
    if (stream) {
        free_streams = stream->next_free;
        issued = stream->issued;
    } else {
        stream = malloc(sizeof(*stream));
        if (!stream)
            return NULL;
    }
    memset(stream, 0, sizeof(*stream));
    stream->magic = SIM_STREAM;
    stream->context = context;
    stream->flags = flags;
    stream->priority = priority;
    stream->issued = stream->done = issued;
    stream->id = ++stream_ids;
    stream->handle = (ws_CUstream)stream;
    stream->next_in_context = context->streams;
    context->streams = stream;
    return stream;
}

/* Called with sim_lock held. */
ws_CUresult sim_stream_create(struct sim_context *context, unsigned flags, int priority, struct sim_stream **stream)
{
    *stream = NULL;
    if (context->destroyed)
        return WS_CUDA_ERROR_CONTEXT_IS_DESTROYED;
    *stream = sim_stream_new(context, flags, priority);
    return *stream ? WS_CUDA_SUCCESS : WS_CUDA_ERROR_OUT_OF_MEMORY;
}

/* Adds the structure of a destroyed stream to a list for reuse. Called with sim_lock held, when the stream is empty.
 * If the context is destroyed, the structure is never reused: another thread may have looked the stream up and be
 * about to queue work in it. */
void sim_stream_forget(struct sim_stream *stream)
{
    struct sim_stream **link = &stream->context->streams;
    while (*link && *link != stream)
        link = &(*link)->next_in_context;
    if (*link)
        *link = stream->next_in_context;
    stream->magic = 0;
    struct sim_stream **list = stream->context->destroyed ? &buried_streams : &free_streams;
    stream->next_free = *list;
    *list = stream;
}

static ws_CUresult per_thread_stream(struct sim_context *context, struct sim_stream **stream)
{
    for (unsigned i = 0; i < THREAD_STREAMS; i++)
        if (thread_streams[i].context_id == context->id) {
            *stream = thread_streams[i].stream;
            return WS_CUDA_SUCCESS;
        }
    pthread_mutex_lock(&sim_lock);
    uint64_t id = context->id;
    ws_CUresult result = sim_stream_create(context, 0, 0, stream);
    if (*stream)
        (*stream)->handle = WS_CU_STREAM_PER_THREAD;
    pthread_mutex_unlock(&sim_lock);
    if (*stream)
        thread_streams[thread_stream_next++ % THREAD_STREAMS] = (struct thread_stream){ id, *stream };
    return result;
}

ws_CUresult sim_stream_get(ws_CUstream handle, struct sim_stream **stream)
{
    if ((uintptr_t)handle > 2) {
        struct sim_stream *named = (struct sim_stream *)handle;
        if (named->magic != SIM_STREAM || named->destroyed) {
            sim_misused("a stream that is gone");
            return WS_CUDA_ERROR_INVALID_HANDLE;
        }
        *stream = named;
        return sim_context_check(named->context);
    }
    struct sim_context *context;
    ws_CUresult result = sim_current(&context);
    if (result != WS_CUDA_SUCCESS)
        return result;
    bool per_thread = handle == WS_CU_STREAM_PER_THREAD || (!handle && sim_per_thread);
    if (per_thread)
        return per_thread_stream(context, stream);
    *stream = context->legacy;
    return *stream ? WS_CUDA_SUCCESS : WS_CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

/* With sim_lock held: returns the stream if it still has work, else NULL. For the legacy stream, returns any blocking
 * stream of its context that still has work, since the legacy stream waits for all of these. */
static struct sim_stream *busy_one(struct sim_stream *stream, int64_t now)
{
    const struct sim_context *context = stream->context;
    if (stream != context->legacy)
        return stream->tail && !(stream->tail->state == SIM_TIMED && stream->tail->end <= now) ? stream : NULL;
    for (struct sim_stream *other = sim_busy; other; other = other->next_busy)
        if (other->context == context && !(other->flags & WS_CU_STREAM_NON_BLOCKING) &&
            !(other->tail->state == SIM_TIMED && other->tail->end <= now))
            return other;
    return NULL;
}

/* With sim_lock held: returns a blocking stream of the legacy stream's context that still has work with a correlation
 * up to `last`, or NULL. The legacy stream has to wait for that work. */
static struct sim_stream *blocking_one(const struct sim_stream *legacy, uint64_t last)
{
    struct sim_stream *other = sim_busy;
    while (other && (other->context != legacy->context || other->flags & WS_CU_STREAM_NON_BLOCKING ||
                     other->head->correlation > last))
        other = other->next_busy;
    return other;
}

/* Waits for the work that is queued at the call, not for work that other threads queue later. */
ws_CUresult sim_stream_wait(struct sim_stream *stream)
{
    pthread_mutex_lock(&sim_lock);
    uint64_t number = stream->issued, last = sim_last_queued();
    struct sim_stream *busy;
    while (stream == stream->context->legacy && (busy = blocking_one(stream, last)))
        sim_finish_queued(busy, last);
    pthread_mutex_unlock(&sim_lock);
    sim_drain();
    return sim_finish_through(stream, number);
}

bool sim_stream_idle(struct sim_stream *stream, int64_t now)
{
    pthread_mutex_lock(&sim_lock);
    bool idle = !busy_one(stream, now);
    pthread_mutex_unlock(&sim_lock);
    return idle;
}
