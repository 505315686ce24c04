/* Contexts and streams as the shim knows them. A stream's entry is also where its operations are put
 * in order: its index is its dictionary id. */
#ifndef WALLSHIM_SHIM_STREAMS_H
#define WALLSHIM_SHIM_STREAMS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "abi/cuda.h"
#include "marks.h"
#include "registry.h"

/* Directions in which copies queue for an engine of their own. */
enum copy_direction { COPY_TO_DEVICE, COPY_TO_HOST, COPY_DIRECTIONS };

/* COPY_DIRECTIONS for what is no such copy. */
static inline enum copy_direction copy_direction(const struct ws_shape *shape)
{
    if (shape->kind != WS_OP_COPY || shape->from_space == shape->to_space)
        return COPY_DIRECTIONS;
    return shape->to_space == WS_SPACE_DEVICE ? COPY_TO_DEVICE : COPY_TO_HOST;
}

enum context_life { CONTEXT_ALIVE, CONTEXT_ENDING, CONTEXT_GONE };

/* A comparison of the context's clock with the host's: host_ns = device_ns + offset ± error. */
struct clock_fit {
    int64_t device_ns;
    int64_t offset, error;
};

/* One base: an event whose time on the context's clock is known, for others to be measured from. */
struct clock_base {
    ws_CUevent event;
    int64_t time;
    bool known;
    uint32_t mark; /* whose event it is; 0: one of our own */
};

/* A green context is the program's alone: it can be current to one thread at a time, and the driver does not guard
 * what several threads do in it (cuGreenCtxCreate). So its default stream is not timed; streams that were made in it
 * count to the primary context that it is a part of, whose events can be recorded into them. */
struct shim_context {
    ws_CUcontext handle;
    ws_CUgreenCtx green; /* NULL: it is none */
    uint32_t id, device;
    _Atomic uint32_t life; /* enum context_life */
    _Atomic bool created;  /* by the program, as far as we saw: it is no primary one */
    _Atomic bool timed;    /* marks can be recorded here: set once the pool is there */
    struct mark_pool pool;
    /* Work given to the legacy default stream, and to streams that wait for it: where one side has
     * grown, the next operation of the other may have waited. */
    _Atomic uint32_t legacy_work, blocking_work;
    _Atomic uint32_t copies[COPY_DIRECTIONS]; /* ever given to any stream */
    _Atomic uint32_t copies_done[COPY_DIRECTIONS];
    unsigned failed_probes; /* before the first that passed */
    bool one_queue;         /* no stream of ours: see device_clock.h */
    /* The drain's own. */
    ws_CUstream clock_stream;
    struct clock_base base[2];
    unsigned current_base;
    struct clock_fit first_fit, last_fit;
    unsigned fits, fits_reported;
    int64_t offset_low, offset_high; /* with one queue: bounds of the host's clock minus this one */
    int64_t first_base;
    int64_t next_base, next_fit; /* host ns */
    uint32_t shortest_submit;
    uint32_t submit_ns;          /* how long work takes to reach an idle device, at most */
    struct shim_stream *used_up; /* entries that may be taken for new streams; the registry's lock */
};

struct shim_stream {
    struct shim_context *context;
    ws_CUstream handle; /* WS_CU_STREAM_LEGACY or _PER_THREAD for the default streams, never NULL */
    uint32_t id, kind;
    bool blocking;  /* waits for the legacy stream and the other way round */
    uint32_t owner; /* number of the thread whose default stream it is; 0: anybody's */
    _Atomic uint32_t capturing;
    _Atomic uint32_t turn;       /* whose it is to put in one operation and its marks; see ops.c */
    _Atomic uint64_t order;      /* operations begun << 16 | those under way without the turn, and waits */
    _Atomic uint32_t last_mark;  /* the mark after the last operation, one of whose users we are */
    _Atomic uint32_t fresh;      /* the last mark says nothing of when the next operation may begin */
    _Atomic uint32_t other_work; /* legacy_work or blocking_work when last looked at */
    _Atomic uint32_t holding;    /* > 0: dependent launches seen lately, so end marks wait for the next */
    _Atomic uint32_t held;       /* operations without an end mark */
    _Atomic uint32_t copies[COPY_DIRECTIONS]; /* ever given to this stream */
    _Atomic uint32_t copies_done[COPY_DIRECTIONS];
    struct shim_stream *next_own; /* of the thread's */
    struct shim_stream *next;     /* of those that are over; with the registry's lock until the drain has it */
    bool over;                    /* it is among these */
    /* The drain's own: operations whose marks are not read yet, in order. */
    struct pending *first, *last;
    uint32_t waiting; /* of them */
    bool closing;     /* it is over, and nothing of it is in a ring any more */
};

struct shim_thread;

/* The calling thread's current context, registered; NULL when there is none. Asks the driver. */
struct shim_context *context_current(void);

/* The entry of a context we know, or NULL. */
struct shim_context *context_find(ws_CUcontext handle);

/* By dictionary id. */
struct shim_context *context_at(uint32_t id);

/* The stream's entry, made if need be: handle is the application's, so NULL means the legacy stream or,
 * with per_thread, the thread's own. `context` is the current one, for the default streams; NULL: ask
 * for it. Returns NULL where there is no room or no context. Slow: callers keep what they get. */
struct shim_stream *stream_find(ws_CUstream handle, bool per_thread, struct shim_context *context);

/* The same, but only if it is known: asks the driver nothing, so the handle may be anything. */
struct shim_stream *stream_known(ws_CUstream handle, bool per_thread, const struct shim_context *context);

/* A copy that was counted is over, or was lost. */
void stream_copy_done(struct shim_stream *stream, enum copy_direction direction);

/* One that may be counted to the context alone. */
void stream_copy_left(struct shim_stream *stream, enum copy_direction direction, bool of_stream);

/* By dictionary id. */
struct shim_stream *stream_at(uint32_t id);
uint32_t stream_count(void);
uint32_t context_count(void);

/* How many streams have operations held without a mark. */
extern _Atomic uint32_t streams_held;

/* A capture that began in the stream is over, or the stream is. */
void stream_capture_over(struct shim_stream *stream);

/* Every stream but the default ones is to be found anew. */
void streams_forget_created(void);

/* The handle is about to mean nothing. */
void stream_forget(ws_CUstream handle);

/* The mark behind its last operation is not kept any more. */
void stream_let_go(struct shim_stream *stream);

/* For the drain: the thread is gone, and its default streams with it. */
void streams_of_gone_thread(struct shim_thread *thread);

/* For the drain, before and after it has read all rings and what can be read of the marks: entries of streams that
 * are over are used again, so that programs may make any number of them. */
void streams_over_begin(void);
void streams_over_end(void);

/* The context is about to go: what is still to be timed there is, within a deadline (drain.h). */
void context_end(struct shim_context *context);
void context_gone(struct shim_context *context);

/* The same of green contexts, of which we have nothing to read. */
void contexts_forget_green(ws_CUgreenCtx green);

#endif
