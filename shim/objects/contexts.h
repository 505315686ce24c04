/* The shim's entries for CUDA contexts. A context's dictionary id is its entry's index plus one. */
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

/* The directions of copies. The device has a copy engine of its own for each direction. */
enum copy_direction { COPY_TO_DEVICE, COPY_TO_HOST, COPY_DIRECTIONS };

/* The operation's direction; COPY_DIRECTIONS: it is no copy, or a copy within the device or within the host. */
static inline enum copy_direction copy_direction(const struct ws_shape *shape)
{
    if (shape->kind != WS_OP_COPY)
        return COPY_DIRECTIONS;
    bool from_host = ws_space_is_host(shape->from_space), to_host = ws_space_is_host(shape->to_space);
    bool from_device = ws_space_is_device(shape->from_space), to_device = ws_space_is_device(shape->to_space);
    if (from_host == to_host &&
        from_device == to_device) /* both on the device, both on the host, or nothing is known */
        return COPY_DIRECTIONS;
    return from_host || to_device ? COPY_TO_DEVICE : COPY_TO_HOST; /* one side may be unknown */
}

enum context_life { CONTEXT_ALIVE, CONTEXT_ENDING, CONTEXT_GONE };

/* A comparison of the context's clock with the host's: host_ns = device_ns + offset ± error. */
struct clock_fit {
    int64_t device_ns;
    int64_t offset, error;
};

/* An event whose time on the context's clock is known. The times of other events are measured from it. */
struct clock_base {
    ws_CUevent handle;
    int64_t time;
    bool known;
    uint32_t event; /* the pool's event that serves as base; 0: `handle` was made for the clock */
};

/* The state of timing/arrival.h, which estimates when launches reach the device. It is declared here because contexts
 * contain it. */
struct arrival {
    int64_t base;          /* subtracted from all differences of device and host time, so that they stay small */
    int64_t at;            /* host ns of the last probe that was used */
    double delay, drift;   /* delay: device minus host time, ns; drift: change of `delay`, ns per ns */
    double var, cov, dvar; /* variance of delay; covariance of delay and drift; variance of drift */
    unsigned probes;       /* probes used so far; 0: nothing is known yet */
    unsigned apart;        /* successive probes that were far from the estimate */
};

/* The time that a stream takes from one entry of its queue to the next, ns. */
struct dispatch {
    double mean, var; /* var: variance of the mean */
    unsigned count;   /* measurements so far; 0: nothing is known yet */
    bool wanted;      /* a launch behind a gate (timing/gates.h) was measured since the last measurement of `mean` */
    ws_CUevent events[2];
    int64_t next; /* host time before which `mean` is not measured again, ns */
};

/* A context, or a green context. The shim's threads must not use a green context, because only one thread at a time
 * may use it, and the driver does not check that (documentation of cuGreenCtxCreate). So the default stream of a
 * green context is not timed. A stream that was created in a green context belongs to the primary context, whose
 * events can be recorded into the stream. */
struct shim_context {
    ws_CUcontext handle;
    ws_CUgreenCtx green; /* NULL: it is no green context */
    uint32_t id, device;
    _Atomic bool created; /* the shim saw the program create it, so it is not a primary context */
    /* Each launch reads the following fields, so they have a cache line that is seldom written. */
    _Alignas(64) _Atomic uint32_t life; /* enum context_life */
    _Atomic bool timed;                 /* events can be recorded in this context; set once the pool has events */
    struct legacy_order legacy_order;
    _Alignas(64) struct event_pool pool;
    _Atomic uint32_t copies[COPY_DIRECTIONS]; /* copies that were ever put into the context's streams */
    _Atomic uint32_t copies_done[COPY_DIRECTIONS];
    unsigned failed_probes;      /* clock probes that failed before the first success */
    bool one_queue;              /* the shim uses no stream of its own here: see timing/device_clock.h */
    struct gates *_Atomic gates; /* NULL: the context has no gates; see timing/gates.h */
    _Atomic uint32_t settle_ns;  /* time from a call's return until its work has reached the device */
    /* Used only by the drain thread: */
    ws_CUstream clock_stream;
    struct clock_base base[2];
    unsigned current_base;
    struct clock_fit first_fit, last_fit;
    unsigned fits, fits_reported;
    int64_t offset_low, offset_high; /* with one_queue: bounds of the host's clock minus the context's */
    int64_t first_base;
    int64_t next_base, next_fit; /* host times of the next base and the next comparison, ns */
    uint32_t shortest_submit;
    struct arrival arrival;
    struct dispatch dispatch;
    bool gates_tried;
    uint32_t submit_ns;          /* upper bound of the time that work takes to reach an idle device */
    struct shim_stream *used_up; /* entries of destroyed streams, to be reused; under the registry's lock */
};

/* The entry of the calling thread's current context, added if it is new; NULL: there is no context. Asks the
 * driver. */
struct shim_context *context_current(void);

/* Like context_current, for a thread that has a state: takes the context that the state holds, if this context is
 * still valid. handles: shim_page.handles. */
struct shim_context *context_of_thread(struct shim_thread *thread, uint32_t handles);

/* Called when this context has become the thread's current one; NULL: it is not known which context is current. */
void context_set_of_thread(struct shim_thread *thread, struct shim_context *context, uint32_t handles);

/* `handle` is a stream that the program created. Returns the entry of the stream's context, and adds the entry if it
 * is new. The context need not be current. `current`: the thread's current context, or NULL. */
struct shim_context *context_of_stream(ws_CUstream handle, struct shim_context *current);

/* The context's entry; NULL: it is not registered. */
struct shim_context *context_find(ws_CUcontext handle);

/* The entry with this dictionary id; NULL for 0. */
struct shim_context *context_at(uint32_t id);
uint32_t context_count(void);

/* Called with the registry's lock held, when the context is gone: the driver may reuse its handle for another
 * context. */
void context_forget(const struct shim_context *context);

#endif
