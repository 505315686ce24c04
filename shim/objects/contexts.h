/* The shim's entries for CUDA contexts. A context's id in the trace's dictionary (table) of contexts is its entry's
 * index plus one. */
#ifndef WALLSHIM_SHIM_OBJECTS_CONTEXTS_H
#define WALLSHIM_SHIM_OBJECTS_CONTEXTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "abi/cuda.h"
#include "record/record.h"
#include "shim/objects/events.h"
#include "shim/objects/legacy_order.h"

struct shim_stream;
struct shim_thread;

/* The directions of copies. Most devices have one copy engine for each direction. */
enum copy_direction { COPY_TO_DEVICE, COPY_TO_HOST, COPY_DIRECTIONS };

/* The operation's direction; COPY_DIRECTIONS: the operation is no copy, or a copy within the device or within the
 * host. */
static inline enum copy_direction copy_direction(const struct ws_shape *shape)
{
    if (shape->kind != WS_OP_COPY)
        return COPY_DIRECTIONS;
    bool from_host = ws_space_is_host(shape->from_space), to_host = ws_space_is_host(shape->to_space);
    bool from_device = ws_space_is_device(shape->from_space), to_device = ws_space_is_device(shape->to_space);
    if (from_host == to_host &&
        from_device == to_device) /* both spaces are on the device, or both on the host, or nothing is known */
        return COPY_DIRECTIONS;
    return from_host || to_device ? COPY_TO_DEVICE : COPY_TO_HOST; /* one of the two spaces may be unknown */
}

/* CONTEXT_UNSEEN: no call of the program has used the context since contexts_release was called, so the program may
 * have destroyed the context unseen. */
enum context_life { CONTEXT_ALIVE, CONTEXT_ENDING, CONTEXT_GONE, CONTEXT_UNSEEN };

/* A comparison of the context's clock with the host's: host_ns = device_ns + offset ± error. */
struct clock_fit {
    int64_t device_ns;
    int64_t offset, error;
};

/* A base: an event from which the driver measures the times of other events (cuEventElapsedTime). */
struct clock_base {
    ws_CUevent handle;
    int64_t time;   /* ns on the context's clock */
    bool known;     /* `time` is known: the event has completed, and its time was read */
    uint32_t event; /* number of the event in the pool; 0: the shim has made this event only as a base */
};

/* An estimate of the time from a launch's call until the launch reaches the device (timing/arrival.h). The estimate
 * comes from probes: events that the shim records into an idle stream. This structure is declared in this file
 * because struct shim_context contains it. */
struct arrival {
    int64_t base;          /* subtracted from all differences of device and host time, so that they stay small */
    int64_t at;            /* host time, ns, of the last probe that was used */
    double delay, drift;   /* delay: device minus host time, ns; drift: change of `delay`, ns per ns */
    double var, cov, dvar; /* variance of delay; covariance of delay and drift; variance of drift */
    unsigned probes;       /* number of probes used so far; 0: there is no estimate yet */
    unsigned apart;        /* how many of the latest probes, without a gap, were far from the estimate */
};

/* The time that a stream takes from one entry of its queue to the next, ns. */
struct dispatch {
    double mean, var;  /* var: variance of the mean */
    unsigned count;    /* number of measurements so far; 0: `mean` is not known yet */
    double last, step; /* last: the last measurement; step: the smallest difference between two successive
                          measurements, 0: not known */
    bool wanted;       /* a launch that waited at a gate (timing/gates.h) was timed since `mean` was last measured */
    ws_CUevent events[2];
    int64_t next; /* host time before which `mean` is not measured again, ns */
};

/* A context, or a green context. Only one thread at a time may use a green context, and the driver does not check
 * that (documentation of cuGreenCtxCreate). A thread of the shim could use a green context while a thread of the
 * program uses it. So the shim's threads use no green context, and operations in the default stream of a green
 * context are not timed. A stream that was created in a green context belongs to the primary context, whose events
 * can be recorded into the stream. */
struct shim_context {
    ws_CUcontext handle;
    ws_CUgreenCtx green; /* NULL: the context is no green context */
    uint32_t id, device;
    _Atomic bool created;      /* the shim saw the program create this context, so it is not a primary context */
    _Atomic bool lacks_events; /* the context has no events, and the drain thread is to make them */
    /* Each launch reads the following fields, so they have a cache line that is seldom written. */
    _Alignas(64) _Atomic uint32_t life; /* enum context_life */
    _Atomic bool timed;                 /* events can be recorded in this context; set once the pool has events */
    struct legacy_order legacy_order;
    _Alignas(64) struct event_pool pool;
    /* for each direction: how many copies note_copy (calls/ops.c) has counted */
    _Atomic uint32_t copies[COPY_DIRECTIONS];
    _Atomic uint32_t copies_done[COPY_DIRECTIONS];
    unsigned failed_probes; /* failed attempts to compare the clocks, before the first success */
    bool one_queue;         /* the shim uses no stream of its own in the context (timing/device_clock.h says why) */
    struct gates *_Atomic gates; /* NULL: the context has no gates; see timing/gates.h */
    _Atomic uint32_t settle_ns;  /* estimated time, ns, from a call's return until its work has reached the device */
    /* Used only by the drain thread: */
    ws_CUstream clock_stream;
    struct clock_base base[2];
    unsigned current_base;
    struct clock_fit first_fit, last_fit;
    unsigned probes, fits, fits_reported;
    /* if one_queue is set: bounds of the difference of the clocks (host minus context), ns */
    int64_t offset_low, offset_high;
    int64_t first_base;
    int64_t next_base, next_fit; /* host times of the next base event and the next comparison of clocks, ns */
    uint32_t shortest_probe;     /* ns; the shortest time of a recent probe: an event in the shim's idle stream */
    uint32_t shortest_call;      /* ns; the shortest time that the call for such an event took */
    uint32_t shortest_submit;    /* ns; from such a call's return until the event is seen to have passed, at least */
    struct arrival arrival;
    struct dispatch dispatch;
    bool gates_tried;
    uint32_t submit_ns;          /* upper bound of the time that work takes to reach an idle device */
    struct shim_stream *used_up; /* entries of destroyed streams, for reuse; guarded by the registry's lock */
};

/* Asks the driver for the calling thread's current context, and returns its entry. Adds the entry if it is new.
 * Returns NULL if no context is current. */
struct shim_context *context_current(void);

/* Like context_current, but asks the driver only if the context that the thread's state holds is no longer valid.
 * handles: the current value of shim_page.handles. */
struct shim_context *context_of_thread(struct shim_thread *thread, uint32_t handles);

/* Called when this context has become the thread's current context. context NULL: it is not known which context is
 * current. */
void context_set_of_thread(struct shim_thread *thread, struct shim_context *context, uint32_t handles);

/* `handle` is a stream that the program created. Returns the entry of the stream's context, and adds the entry if it
 * is new. The context need not be current. `current`: the thread's current context, or NULL. */
struct shim_context *context_of_stream(ws_CUstream handle, struct shim_context *current);

/* The context's entry; NULL: it is not registered. */
struct shim_context *context_find(ws_CUcontext handle);

/* The entry with this dictionary id; NULL for 0. */
struct shim_context *context_at(uint32_t id);
uint32_t context_count(void);

/* Makes the first events of a context that is current. Called by the thread that registers the context, or by the
 * drain thread if lacks_events is set. */
void context_make_events(struct shim_context *context);

/* Called by the drain thread if the shim was loaded into a running program. Registers the primary contexts that the
 * program already has. */
void contexts_find_primaries(void);

/* Called by the drain thread, only if the shim was loaded into a running program, once the shim no longer sees the
 * program's calls. From then on, the program may destroy contexts without the shim's knowledge. If `quiet` is set (no
 * thread uses the contexts), destroys the shim's events and streams in all contexts. If `quiet` is not set, only
 * forgets these events and streams. */
void contexts_release(bool quiet);

/* Called with the registry's lock held, when the context is destroyed. Forgets the context's handle, because the
 * driver may reuse it for another context. */
void context_forget(const struct shim_context *context);

#endif
