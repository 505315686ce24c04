/* The shim's phase: idle until the program's first context, then recording (always, in bursts, or in a range), then
 * ended. Every wrapper looks at the phase first, and does nothing more when nothing is recorded. The phase is set by
 * the life cycle (shim.c) and by what decides when recording is on (drain/recording.h). */
#ifndef WALLSHIM_SHIM_STATE_PHASE_H
#define WALLSHIM_SHIM_STATE_PHASE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "wire/options.h"

enum shim_phase {
    SHIM_STARTED = 1,         /* the drain thread runs, registries are there */
    SHIM_RECORDING = 2,       /* operations and waits are recorded now */
    SHIM_TIMING = 4,          /* device times of operations are taken now */
    SHIM_ENDED = 8,           /* nothing is recorded any more: at exit, or after a failure of our own */
    SHIM_NO_COUNTER = 16,     /* no counter to be trusted here: see timing/ticks.h */
    SHIM_COUNTING = 32,       /* some launches have their hardware counters read: see counters/counters.h */
    SHIM_OUT_OF_RANGE = 64,   /* outside of the range that the program marks */
    SHIM_NO_MORE_TIMES = 128, /* the driver is about to end: no times and no counters from here on */
    SHIM_PLAIN = SHIM_STARTED | SHIM_RECORDING, /* operations are recorded, and nothing else is done about them */
    SHIM_CAPTURE = 256,                         /* times the number of streams being captured, as far as we saw */
};

enum {
#if defined(__aarch64__)
    SHIM_PAGE_SIZE = 65536, /* the largest page size of Linux on this architecture */
#else
    SHIM_PAGE_SIZE = 4096,
#endif
};

/* A page of its own that reads as zero in any child process, however that was made. So a child never
 * touches what belongs to its parent. */
struct shim_page {
    _Alignas(SHIM_PAGE_SIZE) _Atomic uint32_t phase; /* enum shim_phase, or-ed */
    int32_t pid;                 /* of the process that records; a child made by vfork shares it with its parent */
    _Atomic uint32_t generation; /* number of the recording; 0 in a child, which has recorded nothing itself */
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

/* Makes what all threads' caches hold by handle invalid from now on. */
static inline void shim_forget_handles(void)
{
    atomic_fetch_add_explicit(&shim_page.handles, 1, memory_order_release);
}

/* Asks the kernel to zero the page in forked children. Called once, before there is any other thread. */
void shim_page_init(void);

/* Zeroes the page in a forked child, for kernels that cannot. */
void shim_page_reset(void);

/* The recording begins: shim_parent_recorded is false from now on. */
void shim_generation_begins(void);

/* Has a recording ever begun, in this process or in its parent? */
bool shim_ever_started(void);

/* Is this a child of a process that was recording? Such a child never records. */
bool shim_parent_recorded(void);

/* CUDA calls of forked children of this process, which are not recorded: counts one more; and returns how many. */
void shim_count_child(void);
uint64_t shim_children(void);

/* Ends the recording. True: it had ended before. */
bool shim_ends(void);

/* Gives up for good, says why on stderr (NULL: it has been said), and leaves the program alone from here on. */
void shim_step_aside(const char *why);
bool shim_is_aside(void);

#endif
