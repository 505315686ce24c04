/* The shim's life: idle until the program's first context, then recording (always, in bursts, or in a
 * range), then ended. Every wrapper looks at its phase first and does nothing else when it
 * has nothing to do. */
#ifndef WALLSHIM_SHIM_SHIM_H
#define WALLSHIM_SHIM_SHIM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "record/record.h"
#include "wire/options.h"

enum shim_phase {
    SHIM_STARTED = 1,         /* the drain thread runs, registries are there */
    SHIM_RECORDING = 2,       /* operations and waits are recorded now */
    SHIM_TIMING = 4,          /* and their device times taken */
    SHIM_ENDED = 8,           /* no more: at exit, or after a failure of our own */
    SHIM_NO_COUNTER = 16,     /* no counter to be trusted here: see ticks.h */
    SHIM_COUNTING = 32,       /* and hardware counters around some: see counters.h */
    SHIM_OUT_OF_RANGE = 64,   /* outside of the range that the program marks */
    SHIM_NO_MORE_TIMES = 128, /* the driver is about to end: no times and no counters from here on */
    SHIM_PLAIN = SHIM_STARTED | SHIM_RECORDING, /* an operation is recorded, and that is all */
    SHIM_CAPTURE = 256,                         /* times the streams being captured now, as far as we saw */
};

enum {
#if defined(__aarch64__)
    SHIM_PAGE_SIZE = 65536, /* the largest page its kernels are built with */
#else
    SHIM_PAGE_SIZE = 4096,
#endif
};

/* A page of its own that reads as zero in any child process, however it was made, so that a child
 * never touches what belongs to its parent. */
struct shim_page {
    _Alignas(SHIM_PAGE_SIZE) _Atomic uint32_t phase; /* enum shim_phase, or-ed */
    int32_t pid;                 /* of the process that recorded last; a child made by vfork finds its parent's */
    _Atomic uint32_t generation; /* of the process's recording, 0 in a child: tells that its parent had started */
    _Atomic uint32_t handles;    /* raised when a handle may have come to mean something else */
};

extern __attribute__((visibility("hidden"))) struct shim_page shim_page;
extern struct ws_options shim_options;
extern bool shim_one_queue; /* CUDA_DEVICE_MAX_CONNECTIONS=1 */

static inline uint32_t shim_phase(void)
{
    return atomic_load_explicit(&shim_page.phase, memory_order_relaxed);
}

static inline uint32_t shim_captures(void)
{
    return shim_phase() / SHIM_CAPTURE;
}

static inline void shim_capture_begins(void)
{
    atomic_fetch_add(&shim_page.phase, SHIM_CAPTURE);
}

static inline void shim_capture_ends(void)
{
    atomic_fetch_sub(&shim_page.phase, SHIM_CAPTURE);
}

/* Is there anything of ours to keep in step? False before the start, and in a forked child, whose copies of
 * our locks may be held by threads that it does not have. */
static inline bool shim_started(void)
{
    return (shim_phase() & SHIM_STARTED) != 0;
}

static inline bool shim_recording(void)
{
    return __builtin_expect((shim_phase() & SHIM_RECORDING) != 0, 1);
}

/* Starts once per process; false in a child of a process that had started, after a failure, and at
 * the end. Call it only when a context exists: a program without one leaves no trace. */
bool shim_start(void);

/* The recording ends now. True when it had ended before. */
bool shim_ends(void);

/* After cuInit succeeded, and after a context was made: our exit handler goes in front of the driver's. */
void shim_initialised(void);
void shim_has_context(void);

/* cuProfilerStart and cuProfilerStop, for --capture-range=profiler. */
void shim_set_range(bool inside);

/* Gives up for good, says why on stderr (NULL: it has been said), and leaves the program alone from here on. */
void shim_step_aside(const char *why);

/* Moves between recording and not, as bursts, delay, duration, range and size limit say. The drain
 * calls it at every round. */
void shim_update_phase(int64_t now);

/* ns until the clock may move it; INT64_MAX: never. */
int64_t shim_next_edge(int64_t now);

/* Why recording is off, or was last: what to count unrecorded calls under. */
enum ws_loss_reason shim_off_reason(void);

/* Is this a child of a process that had started, and never starts itself? */
bool shim_parent_recorded(void);

/* CUDA calls made by forked children of this process, which go unrecorded. */
uint64_t shim_children(void);

/* Every thread cache of handles is void from now on. */
static inline void shim_forget_handles(void)
{
    atomic_fetch_add_explicit(&shim_page.handles, 1, memory_order_release);
}

#endif
