/* The shim's phase: idle until the program's first context, then recording (always, in bursts, or in a range), then
 * ended. Every wrapper looks at the phase first, and does nothing else when it has nothing to do. What moves it is
 * elsewhere: the life cycle (shim.c) and the times of recording (drain/recording.h). */
#ifndef WALLSHIM_SHIM_STATE_PHASE_H
#define WALLSHIM_SHIM_STATE_PHASE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "wire/options.h"

enum shim_phase {
    SHIM_STARTED = 1,         /* the drain thread runs, registries are there */
    SHIM_RECORDING = 2,       /* operations and waits are recorded now */
    SHIM_TIMING = 4,          /* and their device times taken */
    SHIM_ENDED = 8,           /* no more: at exit, or after a failure of our own */
    SHIM_NO_COUNTER = 16,     /* no counter to be trusted here: see timing/ticks.h */
    SHIM_COUNTING = 32,       /* and hardware counters around some: see counters/counters.h */
    SHIM_OUT_OF_RANGE = 64,   /* outside of the range that the program marks */
    SHIM_NO_MORE_TIMES = 128, /* the driver is about to end: no times and no counters from here on */
    SHIM_PLAIN = SHIM_STARTED | SHIM_RECORDING, /* an operation is recorded, and that is all */
    SHIM_CAPTURE = 256,                         /* one for each stream that is being captured, as far as we saw */
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
    _Atomic uint32_t generation; /* number of the recording; 0 in a child: tells that its parent had started */
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

/* Is there state of ours to keep up to date? False before the start, and in a forked child: threads that the child
 * does not have may hold its copies of our locks. */
static inline bool shim_started(void)
{
    return (shim_phase() & SHIM_STARTED) != 0;
}

static inline bool shim_recording(void)
{
    return __builtin_expect((shim_phase() & SHIM_RECORDING) != 0, 1);
}

/* Every thread's cache of handles is void from now on. */
static inline void shim_forget_handles(void)
{
    atomic_fetch_add_explicit(&shim_page.handles, 1, memory_order_release);
}

/* Has the page wiped in forked children. Once, before any other thread is there. */
void shim_page_init(void);

/* In a forked child, where the kernel cannot wipe it. */
void shim_page_reset(void);

/* The recording begins: this process is no longer taken for a child of one that recorded. */
void shim_generation_begins(void);

/* Has a recording ever begun, in this process or in its parent? */
bool shim_ever_started(void);

/* Is this a child of a process that had started, and never starts itself? */
bool shim_parent_recorded(void);

/* CUDA calls made by forked children of this process, which go unrecorded: one more, and how many. */
void shim_count_child(void);
uint64_t shim_children(void);

/* The recording ends now. True when it had ended before. */
bool shim_ends(void);

/* Gives up for good, says why on stderr (NULL: it has been said), and leaves the program alone from here on. */
void shim_step_aside(const char *why);
bool shim_is_aside(void);

#endif
