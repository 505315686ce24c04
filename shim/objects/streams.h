/* The shim's entries for CUDA streams. A stream's entry also queues the stream's operations until the drain thread
 * has read their events. A stream's id in the trace's dictionary (table) of streams is its entry's index plus one. */
#ifndef WALLSHIM_SHIM_OBJECTS_STREAMS_H
#define WALLSHIM_SHIM_OBJECTS_STREAMS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "abi/cuda.h"
#include "shim/objects/contexts.h"

#define STREAM_SHARED UINT32_MAX

/* What is kept of a stream's line (its computed times so far) from one window of operations to the next.
 * timing/runs.h explains the fields. */
struct stream_line {
    bool known; /* are the other fields set? They are 0 until then. */
    bool behind_event;
    int8_t apart;
    float var, seen, tail, early;
    float longest; /* how long the longest of the latest operations takes, ns; older ones count less */
    int64_t free;
};

struct shim_stream {
    struct shim_context *context;
    ws_CUstream handle; /* WS_CU_STREAM_LEGACY or _PER_THREAD for the default streams, never NULL */
    uint32_t id, kind;
    bool blocking;  /* the stream waits for the legacy stream, and the legacy stream for this stream */
    uint32_t owner; /* number of the thread whose default stream it is; 0: it is not a thread's default stream */
    _Atomic uint32_t capturing; /* 1: a capture is under way in the stream, and is counted in shim_page.phase */
    _Atomic uint32_t turn; /* number of the thread whose turn it is to put in an operation (calls/turns.h); 0: none */
    /* Upper 48 bits: how many operations, waits and other entries were put into the stream. Lower 16 bits: number
     * of waits, and of operations without the stream's turn (turns.h), that threads are just now putting in. */
    _Atomic uint64_t order;
    _Atomic uint32_t last_event; /* number of the event recorded after the last operation; 0: no event is kept */
    _Atomic uint32_t fresh;      /* 1: the next operation may begin later than last_event tells, as it may wait for
                                    other work */
    _Atomic uint32_t other_work; /* the other side's `work` (legacy_order.h) at the stream's last check */
    _Atomic uint32_t holding;    /* how many of the stream's next operations get no end event (calls/ops.c) */
    _Atomic uint32_t held;       /* number of the stream's operations that still lack an end event */
    /* Number of the only thread that has launched into the stream. 0: none has. STREAM_SHARED: several have. */
    _Atomic uint32_t user;
    _Atomic uint64_t anchor_due; /* ticks; the first launch after this time gets an end event (calls/measure.h) */
    _Atomic uint32_t chain;      /* how many of the next launches get an end event, each (calls/measure.h) */
    /* for each direction: how many copies note_copy (calls/ops.c) has counted */
    _Atomic uint32_t copies[COPY_DIRECTIONS];
    _Atomic uint32_t copies_done[COPY_DIRECTIONS];
    struct shim_stream *next_own; /* next stream in the list of its thread's own streams */
    struct shim_stream *next; /* next stream in the list of destroyed streams that contains this stream (streams.c) */
    bool over;                /* the stream was destroyed and put into the list of destroyed streams */
    /* Used only by the drain thread: operations whose events are not read yet, in order. The drain thread writes the
     * following fields for each operation, so they have a cache line that launches do not read. */
    _Alignas(64) struct pending *first, *last;
    struct pending *searched; /* no operation before this one has an end event; NULL: not known */
    uint32_t waiting;         /* number of operations from `first` to `last` */
    bool unsorted; /* the operations are not in the order of their launches, because several threads launched them */
    bool closing;  /* the stream was destroyed before the drain thread's current round, in which its last records are
                      read */
    struct stream_line line;
};

struct shim_thread;

/* Finds or adds the stream's entry. handle: as the application passed it; NULL means the legacy stream or, with
 * per_thread, the thread's own default stream. `context`: the current context, to which a default stream belongs;
 * NULL: the driver is asked for it. Returns NULL if there is no room or no context. Slow: callers keep the result. */
struct shim_stream *stream_find(ws_CUstream handle, bool per_thread, struct shim_context *context);

/* Like stream_find, but returns NULL if the stream has no entry yet. Does not call the driver, so the caller may pass
 * an invalid handle. */
struct shim_stream *stream_known(ws_CUstream handle, bool per_thread, const struct shim_context *context);

/* Called when a copy has ended or its record was lost: counts the copy in copies_done. Call it only for a copy that
 * was counted in `copies`. */
void stream_copy_done(struct shim_stream *stream, enum copy_direction direction);

/* Like stream_copy_done, for a copy whose call was left by longjmp or an exception. Call it only if the copy was
 * counted in the context's `copies`. of_stream: the copy was also counted in the stream's `copies`. */
void stream_copy_left(struct shim_stream *stream, enum copy_direction direction, bool of_stream);

/* The legacy default stream and the blocking streams of a context are two sides, which wait for each other
 * (legacy_order.h). Has the other side had work since this function was last called for the stream? If so, the
 * stream's last event does not tell when its next operation may begin. Also counts an operation on the stream's own
 * side. */
static inline bool stream_other_side_moved(struct shim_stream *stream)
{
    return stream->blocking &&
           legacy_order_moved(&stream->context->legacy_order, stream->kind == WS_STREAM_LEGACY, &stream->other_work);
}

/* The entry with this dictionary id; NULL for 0. */
struct shim_stream *stream_at(uint32_t id);
uint32_t stream_count(void);

/* How many streams have operations that still lack an end event (held). */
extern _Atomic uint32_t streams_held;

/* Called when a capture that began in the stream has ended, or the stream was destroyed. */
void stream_capture_over(struct shim_stream *stream);

/* Forgets all streams except the default streams. For a stream that still exists, a new entry is made when the
 * program next uses the stream. */
void streams_forget_created(void);

/* Called when the stream is about to be destroyed. */
void stream_forget(ws_CUstream handle);

/* Releases the event that was recorded after the stream's last operation. */
void stream_let_go(struct shim_stream *stream);

/* Called by the drain thread when the thread has ended: its own default streams have ended, too. */
void streams_of_gone_thread(struct shim_thread *thread);

/* streams_over_begin is called before the drain thread reads all rings and events, and streams_over_end afterwards.
 * In between, the drain thread reads the last operations of destroyed streams. The entries of these streams can then
 * be reused, so a program may create any number of streams. */
void streams_over_begin(void);
void streams_over_end(void);

/* Called when the context is gone, and its streams with it. */
void context_gone(struct shim_context *context);

/* Like context_gone, for the green context with this handle. */
void contexts_forget_green(ws_CUgreenCtx green);

#endif
