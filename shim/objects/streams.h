/* Streams as the shim knows them. A stream's entry is also where its operations are put in order: its index is its
 * dictionary id. */
#ifndef WALLSHIM_SHIM_OBJECTS_STREAMS_H
#define WALLSHIM_SHIM_OBJECTS_STREAMS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "abi/cuda.h"
#include "shim/objects/contexts.h"

#define STREAM_SHARED UINT32_MAX

struct shim_stream {
    struct shim_context *context;
    ws_CUstream handle; /* WS_CU_STREAM_LEGACY or _PER_THREAD for the default streams, never NULL */
    uint32_t id, kind;
    bool blocking;  /* waits for the legacy stream and the other way round */
    uint32_t owner; /* number of the thread whose default stream it is; 0: anybody's */
    _Atomic uint32_t capturing;
    _Atomic uint32_t turn;       /* the thread that may put in one operation and its events; see calls/turns.c */
    _Atomic uint64_t order;      /* operations begun << 16 | those without the turn, and waits, under way */
    _Atomic uint32_t last_event; /* the event after the last operation; the stream is one of its users */
    _Atomic uint32_t fresh;      /* the last event says nothing of when the next operation may begin */
    _Atomic uint32_t other_work; /* legacy_work or blocking_work when last looked at */
    _Atomic uint32_t holding; /* > 0: dependent launches were seen lately, so end events wait for the next launch */
    _Atomic uint32_t held;    /* operations without an end event */
    _Atomic uint32_t user;    /* number of the only thread that launched into it; STREAM_SHARED: there are more */
    _Atomic uint64_t anchor_due;              /* ticks at which its line is to be measured again */
    _Atomic uint32_t copies[COPY_DIRECTIONS]; /* ever given to this stream */
    _Atomic uint32_t copies_done[COPY_DIRECTIONS];
    struct shim_stream *next_own; /* of the thread's */
    struct shim_stream *next;     /* of those that are over; with the registry's lock until the drain has it */
    bool over;                    /* it is among these */
    /* The drain's own: operations whose events are not read yet, in order. */
    struct pending *first, *last;
    uint32_t waiting; /* of them */
    bool unsorted;    /* by launch: several threads put them in */
    bool closing;     /* it is destroyed, and no ring holds anything of it */
    bool line_known;  /* the line of computed times: timing/reconstruct.h */
    int8_t line_apart;
    float line_var, line_seen;
    int64_t line_free;
};

struct shim_thread;

/* The stream's entry, made if need be. handle is the application's: NULL means the legacy stream or, with per_thread,
 * the thread's own. `context` is the current one, for the default streams; NULL: ask for it. Returns NULL where there
 * is no room or no context. Slow: callers keep the result. */
struct shim_stream *stream_find(ws_CUstream handle, bool per_thread, struct shim_context *context);

/* The same, but only if it is known. Does not call the driver, so the handle may be anything. */
struct shim_stream *stream_known(ws_CUstream handle, bool per_thread, const struct shim_context *context);

/* A counted copy is done, or was lost. */
void stream_copy_done(struct shim_stream *stream, enum copy_direction direction);

/* The same of a copy that may be counted with the context alone. */
void stream_copy_left(struct shim_stream *stream, enum copy_direction direction, bool of_stream);

/* Has the other side had work since the last question? No call shows the order between the legacy default stream and
 * the streams that wait for it: the last event does not tell then when this side may go on. */
bool stream_other_side_moved(struct shim_stream *stream);

/* By dictionary id. */
struct shim_stream *stream_at(uint32_t id);
uint32_t stream_count(void);

/* How many streams have operations held without an event. */
extern _Atomic uint32_t streams_held;

/* A capture that began in the stream is over, or the stream is. */
void stream_capture_over(struct shim_stream *stream);

/* Forgets every stream but the default ones: they are looked up again. */
void streams_forget_created(void);

/* The stream is about to be destroyed. */
void stream_forget(ws_CUstream handle);

/* Gives back the event behind the stream's last operation. */
void stream_let_go(struct shim_stream *stream);

/* For the drain: the thread is gone, and its default streams with it. */
void streams_of_gone_thread(struct shim_thread *thread);

/* For the drain, before and after it reads all rings and events: entries of destroyed streams are used again, so that
 * programs may make any number of streams. */
void streams_over_begin(void);
void streams_over_end(void);

/* The context is gone, and its streams with it. */
void context_gone(struct shim_context *context);

/* The same of green contexts, of which we have nothing to read. */
void contexts_forget_green(ws_CUgreenCtx green);

#endif
