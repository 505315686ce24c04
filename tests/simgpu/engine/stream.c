#include "engine/engine.h"

#include <stdlib.h>
#include <string.h>

static struct sim_stream *free_streams;
static uint64_t stream_ids;

/* The per-thread default streams of the calling thread, one for each context it used them in. */
struct thread_stream {
    uint64_t context_id;
    struct sim_stream *stream;
};
enum { THREAD_STREAMS = 16 };
static __thread struct thread_stream thread_streams[THREAD_STREAMS];
static __thread unsigned thread_stream_next;

/* With sim_lock held. A stream's numbers go on where its former life ended. */
struct sim_stream *sim_stream_create(struct sim_context *context, unsigned flags, int priority)
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

/* With sim_lock held and the stream empty. */
void sim_stream_forget(struct sim_stream *stream)
{
    struct sim_stream **link = &stream->context->streams;
    while (*link && *link != stream)
        link = &(*link)->next_in_context;
    if (*link)
        *link = stream->next_in_context;
    stream->magic = 0;
    stream->next_free = free_streams;
    free_streams = stream;
}

static struct sim_stream *per_thread_stream(struct sim_context *context)
{
    for (unsigned i = 0; i < THREAD_STREAMS; i++)
        if (thread_streams[i].context_id == context->id)
            return thread_streams[i].stream;
    pthread_mutex_lock(&sim_lock);
    struct sim_stream *stream = sim_stream_create(context, 0, 0);
    pthread_mutex_unlock(&sim_lock);
    if (stream) {
        stream->handle = WS_CU_STREAM_PER_THREAD;
        thread_streams[thread_stream_next++ % THREAD_STREAMS] = (struct thread_stream){ context->id, stream };
    }
    return stream;
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
    *stream = per_thread ? per_thread_stream(context) : context->legacy;
    return *stream ? WS_CUDA_SUCCESS : WS_CUDA_ERROR_OUT_OF_MEMORY;
}

/* With sim_lock held: one that still has work, of those that waiting for this stream means. The legacy stream
 * stands for all blocking streams of its context. */
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

ws_CUresult sim_stream_wait(struct sim_stream *stream)
{
    struct sim_context *context = stream->context;
    pthread_mutex_lock(&sim_lock);
    uint64_t number = stream->issued;
    struct sim_stream *busy;
    while (stream == context->legacy && (busy = busy_one(stream, sim_now()))) {
        uint64_t last = busy->issued;
        pthread_mutex_unlock(&sim_lock);
        sim_finish_through(busy, last);
        pthread_mutex_lock(&sim_lock);
    }
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
