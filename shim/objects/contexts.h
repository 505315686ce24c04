/* Contexts as the shim knows them. An entry's index is its dictionary id. */
#ifndef WALLSHIM_SHIM_OBJECTS_CONTEXTS_H
#define WALLSHIM_SHIM_OBJECTS_CONTEXTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "abi/cuda.h"
#include "record/record.h"
#include "shim/objects/events.h"

struct shim_stream;
struct shim_thread;

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

/* An event whose time on the context's clock is known: others are measured from it. */
struct clock_base {
    ws_CUevent handle;
    int64_t time;
    bool known;
    uint32_t event; /* whose event it is; 0: one of our own */
};

/* Where launches reach the device; see timing/arrival.h, whose room comes after this one. */
struct arrival {
    int64_t base;          /* subtracted from all differences, so that the numbers stay small */
    int64_t at;            /* host ns of the last probe that was taken */
    double delay, drift;   /* device minus host time, ns, and ns a ns */
    double var, cov, dvar; /* of delay, of both, of drift */
    unsigned probes;       /* taken; 0: nothing is known */
    unsigned apart;        /* in a row that were far off */
};

/* What a stream takes from one entry of its queue to the next, ns. */
struct dispatch {
    double mean, var; /* var: of the mean */
    unsigned count;   /* of measurements; 0: nothing is known */
    bool wanted;      /* something was gated since the last */
    ws_CUevent events[2];
    int64_t next; /* host ns */
};

/* A green context is the program's alone: it can be current to one thread at a time, and the driver does not guard
 * what several threads do in it (cuGreenCtxCreate). So its default stream is not timed. Streams that were made in it
 * count to its primary context, whose events can be recorded into them. */
struct shim_context {
    ws_CUcontext handle;
    ws_CUgreenCtx green; /* NULL: it is none */
    uint32_t id, device;
    _Atomic uint32_t life; /* enum context_life */
    _Atomic bool created;  /* by the program, as far as we saw: it is no primary one */
    _Atomic bool timed;    /* events can be recorded here: set once the pool is there */
    struct event_pool pool;
    /* Counts of work given to the legacy default stream, and to streams that wait for it. Where one count has grown,
     * the next operation of the other side may have waited. */
    _Atomic uint32_t legacy_work, blocking_work;
    _Atomic uint32_t copies[COPY_DIRECTIONS]; /* ever given to any stream */
    _Atomic uint32_t copies_done[COPY_DIRECTIONS];
    unsigned failed_probes;      /* before the first that passed */
    bool one_queue;              /* no stream of ours: see timing/device_clock.h */
    struct gates *_Atomic gates; /* NULL: it has none; see timing/gates.h */
    _Atomic uint32_t settle_ns;  /* after a call has returned, until its work has arrived */
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
    struct arrival arrival;
    struct dispatch dispatch;
    bool gates_tried;
    uint32_t submit_ns;          /* how long work takes to reach an idle device, at most */
    struct shim_stream *used_up; /* entries to be used again for new streams; under the registry's lock */
};

/* The calling thread's current context, registered; NULL when there is none. Asks the driver. */
struct shim_context *context_current(void);

/* The same for a thread that we know, from its cache where that holds (handles: of shim_page). */
struct shim_context *context_of_thread(struct shim_thread *thread, uint32_t handles);

/* This one is current to the thread from now on; NULL: which one is not known. */
void context_set_of_thread(struct shim_thread *thread, struct shim_context *context, uint32_t handles);

/* The context of a stream that the program made, registered; it need not be current. `current`: the one that is, or
 * NULL. */
struct shim_context *context_of_stream(ws_CUstream handle, struct shim_context *current);

/* The entry of a context we know, or NULL. */
struct shim_context *context_find(ws_CUcontext handle);

/* By dictionary id. */
struct shim_context *context_at(uint32_t id);
uint32_t context_count(void);

/* With the registry's lock: its handle may come to mean another one. */
void context_forget(const struct shim_context *context);

#endif
